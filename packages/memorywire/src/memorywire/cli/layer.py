"""`memorywire layer`: conversations go in, what they give away can be asked for."""

from collections.abc import Iterator
from typing import BinaryIO

import click

from memorywire.cli.context import Answer, CliContext, of_everybody, shared
from memorywire.cli.inputs import json_lines, lines_of
from memorywire.cli.terminal import safe
from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import Kind
from memorywire.model.record import Json
from memorywire.model.text import counted

_KINDS = tuple(kind.value for kind in Kind)


@click.group("layer")
def layer_command() -> None:
    """Take conversations in, and ask what they gave away."""


@layer_command.command("add")
@lines_of('{"role": ..., "content": ..., "name": ..., "at": ...}')
@click.option(
    "--verbatim", is_flag=True, help="Keep every message as it was said, instead of reading for facts."
)
@click.option("--session", metavar="ID", help="The session the messages belong to.")
@shared
def add(cli: CliContext, file: BinaryIO, verbatim: bool, session: str | None) -> None:
    """Take in the messages of FILE, one JSON object a line."""
    from memorywire.client.layer import event_document

    messages = [_message(number, document) for number, document in json_lines(file)]
    with cli.memory() as memory:
        event = memory.layer.add(messages, infer=not verbatim, session_id=session)
    cli.show(event_document(event), _event)


@layer_command.command("event")
@click.argument("event_id")
@shared
def event(cli: CliContext, event_id: str) -> None:
    """Show what became of messages that were added."""
    from memorywire.client.layer import event_document

    with cli.memory() as memory:
        cli.show(event_document(memory.layer.event(event_id)), _event)


@layer_command.command("recall")
@click.argument("query")
@click.option("--top-k", type=click.IntRange(1, 50), default=10, show_default=True, help="At most so many.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    type=click.Choice(_KINDS),
    help="Which kinds of memory may answer; repeatable; all when not given.",
)
@shared
def recall(cli: CliContext, query: str, top_k: int, sources: tuple[str, ...]) -> None:
    """Ask a question of what conversations gave away."""
    from memorywire.client.layer import facts_document

    with cli.reading() as memory:
        found = memory.layer.recall(query, top_k=top_k, sources=sources or _KINDS)
    cli.show(facts_document(found), _facts)


@layer_command.command("work")
@of_everybody
def work(cli: CliContext) -> None:
    """Read for facts what waits and is due, of every agent."""
    with cli.memory() as memory:
        cli.show({"waiting": memory.layer.work()}, lambda answer: [f"{answer['waiting']} left waiting"])


def _message(number: int, document: Json) -> dict[str, Json]:
    if not isinstance(document, dict):
        raise InvalidRequest(f"line {number} is no message", field="file")
    return document


def _event(answer: Answer) -> Iterator[str]:
    memories = counted(len(answer["memories"]), "memory")
    yield f"{answer['status']}: {memories}, {len(answer['held'])} held for a person"
    yield f"  event {answer['event_id']}"
    if "error" in answer:
        yield f"  {safe(answer['error'])}"


def _facts(answer: Answer) -> Iterator[str]:
    if not answer["facts"]:
        yield "nothing answers that"
    yield from (f"{fact['score']:.2f}  {safe(fact['memory'])}" for fact in answer["facts"])
