"""`memorywire get`: one memory, whole."""

from collections.abc import Iterator

import click

from memorywire.cli.desk import Answer, Desk, shared
from memorywire.cli.recall import content_words
from memorywire.cli.screen import moment, safe
from memorywire.model.record import Json

_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at", "recalled_at"})


@click.command("get")
@click.argument("id_", metavar="ID")
@shared
def command(desk: Desk, id_: str) -> None:
    """Show the memory ID and everything known about it."""
    desk.show(desk.call("get", id=id_), sentences)


def sentences(answer: Answer) -> Iterator[str]:
    for name, value in answer.items():
        if value not in (None, [], {}):
            yield f"{name:12} {safe(_words(name, value))}"


def _words(name: str, value: Json) -> str:
    return moment(value) if name in _MOMENTS else content_words(value)
