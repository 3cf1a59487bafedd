"""Names that a filter looks for in the metadata, and that are nearly the name of a field."""

import difflib
from collections.abc import Iterator

import click

from memorywire.cli.desk import Desk
from memorywire.cli.screen import safe
from memorywire.model.record import Json
from memorywire.model.where import FIELDS

_JOINTS = ("and", "or", "not")
_ALIKE = 0.7  # `user` is taken for user_id, `sorce` for source


def note_misread(desk: Desk, wanted: Json) -> None:
    """Tell a person; a filter is right as it stands, so nobody is stopped."""
    if desk.as_json:
        return
    for name, meant in dict(_doubtful(wanted)).items():
        said = f"note: the filter looks for {name} in the metadata; did you mean the field {meant}?"
        click.echo(safe(said), err=True)


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
            for meant in difflib.get_close_matches(name.lower(), FIELDS, n=1, cutoff=_ALIKE):
                yield name, meant
