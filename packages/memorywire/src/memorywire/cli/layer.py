"""`memorywire layer`: add conversations, and search the facts found in them."""

from collections.abc import Iterator
from typing import BinaryIO, get_args

import click

from memorywire.cli.context import Answer, CliContext, shared, shared_for_owner, without_scope
from memorywire.cli.inputs import TextCommand, file_option, option, parse_json_lines, top_k_option
from memorywire.cli.terminal import clean
from memorywire.model.errors import InvalidRequest
from memorywire.model.layer import Kind, Whose
from memorywire.model.record import Json
from memorywire.model.text import counted

_KINDS = tuple(kind.value for kind in Kind)
_SCOPES = click.Choice(get_args(Whose))


@click.group("layer")
def layer_command() -> None:
    """Add conversations, and search the facts found in them."""


@layer_command.command("add")
@file_option('{"role": ..., "content": ..., "name": ..., "at": ...}')
@option("--verbatim", "Store every message as it is, instead of extracting facts.")
@option("--session ID", "The session of the messages.")
@shared_for_owner
def add(cli: CliContext, file: BinaryIO, verbatim: bool, session: str | None) -> None:
    """Add the messages of FILE, one JSON object a line."""
    from memorywire.client.layer import event_document

    messages: list[dict[str, Json]] = []
    for number, document in parse_json_lines(file):
        if not isinstance(document, dict):
            raise InvalidRequest(f"line {number} is not a message", field="file")
        messages.append(document)
    event = cli.memory().layer.add(messages, infer=not verbatim, session_id=session)
    cli.show(event_document(event), _render_event)


@layer_command.command("event")
@click.argument("event_id")
@shared
def event(cli: CliContext, event_id: str) -> None:
    """Show the status of added messages."""
    from memorywire.client.layer import event_document

    cli.show(event_document(cli.memory().layer.event(event_id)), _render_event)


@layer_command.command("recall", cls=TextCommand)
@click.argument("query")
@top_k_option
@option(
    "--source",
    "Only this kind of memory; repeatable; default: all.",
    name="sources",
    multiple=True,
    type=click.Choice(_KINDS),
)
@option("--scope", "Whose memories; default: the user's, or all without --user.", type=_SCOPES)
@shared
def recall(cli: CliContext, query: str, top_k: int, sources: tuple[str, ...], scope: Whose | None) -> None:
    """Search the facts found in conversations."""
    from memorywire.client.layer import facts_document

    scope = scope or ("user" if "user_id" in cli.scope() else "all")
    facts = cli.readable_memory().layer.recall(query, top_k=top_k, sources=sources or _KINDS, scope=scope)
    answer = facts_document(facts)
    lines = [f"{fact['score']:.2f}  {clean(fact['memory'])}" for fact in answer["facts"]]
    cli.show(answer, lines or ["no facts found"])


@layer_command.command("work")
@without_scope
def work(cli: CliContext) -> None:
    """Extract facts from waiting conversations, for every agent."""
    waiting = cli.memory().layer.work()
    cli.show({"waiting": waiting}, [f"{waiting} still waiting"])


def _render_event(answer: Answer) -> Iterator[str]:
    memories, turns = counted(len(answer["memories"]), "memory"), counted(len(answer["turns"]), "turn")
    yield f"{answer['status']}: {turns}, {memories}, {len(answer['held'])} held for a person"
    if answer["forgotten"]:
        yield f"  forgotten: {', '.join(answer['forgotten'])}"
    yield f"  event {answer['event_id']}"
    if "error" in answer:
        yield f"  {clean(answer['error'])}"
