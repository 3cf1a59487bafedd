"""`memorywire get`: one memory, whole."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.recall import content_words
from memorywire.cli.terminal import moment, safe_lines
from memorywire.model.record import Json

_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at", "recalled_at"})


@click.command("get")
@click.argument("id_", metavar="ID")
@shared
def command(cli: CliContext, id_: str) -> None:
    """Show the memory ID and everything known about it."""
    cli.show(cli.call("get", id=id_), sentences)


def sentences(answer: Answer) -> Iterator[str]:
    for name, value in answer.items():
        if value not in (None, [], {}):
            first, *more = safe_lines(_words(name, value))
            yield f"{name:12} {first}"
            yield from (f"{'':12} {line}".rstrip() for line in more)


def _words(name: str, value: Json) -> str:
    return moment(value) if name in _MOMENTS else content_words(value)
