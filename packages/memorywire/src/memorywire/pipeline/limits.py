"""Bounds that no schema can express."""

from collections.abc import Mapping

from memorywire.model.errors import InvalidRequest
from memorywire.model.kv import size_of
from memorywire.model.record import Json
from memorywire.model.requests import METADATA_BYTES_MAX


def is_large(metadata: Mapping[str, Json]) -> bool:
    """Whether this is more metadata than a memory may have."""
    return bool(metadata) and size_of(metadata) > METADATA_BYTES_MAX


def refuse_large(metadata: Mapping[str, Json], field: str) -> None:
    """Stop, naming the field to blame, before a memory gets more metadata than it may have."""
    if is_large(metadata):
        raise InvalidRequest(
            f"the metadata would be {size_of(metadata)} bytes of JSON, {METADATA_BYTES_MAX} are allowed",
            field=field,
            fix="keep large things elsewhere and refer to them",
        )
