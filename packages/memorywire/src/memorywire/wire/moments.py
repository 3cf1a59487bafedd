"""Moments are milliseconds: a number that was meant in seconds is refused, and never taken for 1970."""

from memorywire.model.clock import SECONDS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json


def check_moment(value: Json, field: str) -> None:
    """Raise InvalidRequest when this number can only be meant in seconds."""
    if isinstance(value, int | float) and SECONDS.start <= value < SECONDS.stop:
        raise in_seconds(field)


def in_seconds(field: str) -> InvalidRequest:
    return InvalidRequest(
        f"{field} is a moment in seconds, and the wire counts milliseconds",
        field=field,
        fix="multiply it by 1000",
    )
