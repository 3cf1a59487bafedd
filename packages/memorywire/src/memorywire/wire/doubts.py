"""What is right as it stands and was hardly meant: a filter on a name that is nearly that of a field."""

from collections.abc import Iterator

from memorywire.model.record import Json
from memorywire.model.where import FIELDS

_JOINTS = ("and", "or", "not")
_ALIKE = 0.7  # `user` is taken for user_id, `sorce` for source


def doubts(wanted: Json) -> tuple[str, ...]:
    """A sentence for each such name: it is looked for in the metadata, and nobody is stopped."""
    return tuple(
        f"the filter looks for {name} in the metadata; did you mean the field {meant}?"
        for name, meant in dict(_doubtful(wanted)).items()
    )


def _doubtful(wanted: Json) -> Iterator[tuple[str, str]]:
    if isinstance(wanted, list):
        for part in wanted:
            yield from _doubtful(part)
    if not isinstance(wanted, dict):
        return
    for name, value in wanted.items():
        if name in _JOINTS:
            yield from _doubtful(value)
        elif name not in FIELDS and "." not in name:
            from difflib import get_close_matches  # few filters name anything but fields

            for meant in get_close_matches(name.lower(), FIELDS, n=1, cutoff=_ALIKE):
                yield name, meant
