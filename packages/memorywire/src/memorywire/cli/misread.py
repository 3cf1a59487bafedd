"""Names that a filter looks for in the metadata, and that are nearly the name of a field."""

import click

from memorywire.cli.context import CliContext
from memorywire.cli.terminal import safe
from memorywire.model.record import Json
from memorywire.wire.doubts import doubts


def note_misread(cli: CliContext, wanted: Json) -> None:
    """Tell a person about it; the filter is valid as it stands, so nothing is stopped."""
    if not cli.as_json:
        for doubt in doubts(wanted):
            click.echo(safe(f"note: {doubt}"), err=True)
