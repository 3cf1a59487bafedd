"""`memorywire backends`: definitions of other places for memories, and the agents that are kept there."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import click

from memorywire.cli.app import run_in_app
from memorywire.cli.context import PERSON, Answer, CliContext, scoped
from memorywire.cli.inputs import decoded, json_object
from memorywire.cli.terminal import safe, table, terminal_width

if TYPE_CHECKING:
    from memorywire.app import Backends, Container
    from memorywire.model.definition import Edition

T = TypeVar("T")


@click.group("backends")
def backends_command() -> None:
    """Define other places for memories, and bind agents to them.

    A definition may name keys that MEMORYWIRE_BACKEND_KEYS allows, hosts of your own network that
    MEMORYWIRE_BACKEND_HOSTS names, and adapters in preview that MEMORYWIRE_BACKEND_PREVIEWS names.
    """


@backends_command.command("list")
@scoped("tenant")
def list_(cli: CliContext) -> None:
    """Show every edition of every definition, and whom it serves."""
    found = _in_book(cli, lambda book: book.list(cli.tenant))
    cli.show({"definitions": [_document(edition) for edition in found]}, _rows)


@backends_command.command("create")
@click.argument("file", type=click.File("rb"), default="-")
@scoped("tenant")
def create(cli: CliContext, file: BinaryIO) -> None:
    """Keep the definition in FILE, one JSON object; `-` is stdin."""
    document = json_object(decoded(file.read(), field="file"))
    _show(cli, lambda book: book.create(cli.tenant, document, PERSON))


@backends_command.command("show")
@click.argument("definition")
@scoped("tenant")
def show(cli: CliContext, definition: str) -> None:
    """Show the definition of that digest, or the newest of that name."""
    _show(cli, lambda book: book.get(cli.tenant, definition))


@backends_command.command("fork")
@click.argument("definition")
@click.argument("changes", type=json_object)
@scoped("tenant")
def fork(cli: CliContext, definition: str, changes: Answer) -> None:
    """Make a definition like DEFINITION but for CHANGES, a JSON object."""
    _show(cli, lambda book: book.fork(cli.tenant, definition, changes, PERSON))


@backends_command.command("retire")
@click.argument("definition")
@scoped("tenant")
def retire(cli: CliContext, definition: str) -> None:
    """Let no agent be bound to DEFINITION any more."""
    _show(cli, lambda book: book.retire(cli.tenant, definition, PERSON))


@backends_command.command("bind")
@click.argument("definition")
@scoped("agent", "tenant")
def bind(cli: CliContext, definition: str) -> None:
    """Keep the agent's memories in the backend from now on; those it has stay where they are."""
    _show(cli, lambda book: book.bind(cli.tenant, definition, cli.settings.agent, PERSON))


@backends_command.command("unbind")
@scoped("agent", "tenant")
def unbind(cli: CliContext) -> None:
    """Keep the agent's memories here again."""
    _in_book(cli, lambda book: book.unbind(cli.tenant, cli.settings.agent, PERSON))
    said = f"{safe(cli.settings.agent)} is kept here again"
    cli.show({"agent_id": cli.settings.agent}, lambda _: [said])


def _show(cli: CliContext, act: "Callable[[Backends], Awaitable[Edition]]") -> None:
    cli.show(_document(_in_book(cli, act)), _sentences)


def _in_book(cli: CliContext, act: "Callable[[Backends], Awaitable[T]]") -> T:
    async def work(container: "Container") -> T:
        from memorywire.pipeline.context import unsupported

        if container.backends is None:
            raise unsupported("backends", "no journal is wired here")
        return await act(container.backends)

    return run_in_app(cli.here, work)


def _document(edition: "Edition") -> Answer:
    from memorywire.wire.codec import encode

    told: Answer = encode(edition)
    return {**told, "definition": edition.definition.masked_document()}


def _rows(answer: Answer) -> Iterator[str]:
    if not answer["definitions"]:
        yield "no backend is defined"
        return
    headers = ["NAME", "EDITION", "DIGEST", "STATE", "AGENTS"]
    rows = [
        [
            safe(one["definition"]["name"]),
            str(one["number"]),
            one["digest"][:19],
            "retired" if "retired_at" in one else "stands",
            safe(", ".join(one["agents"])),
        ]
        for one in answer["definitions"]
    ]
    yield from table(headers, rows, elastic="AGENTS", width=terminal_width())


def _sentences(answer: Answer) -> Iterator[str]:
    yield f"{safe(answer['definition']['name'])}, edition {answer['number']}: {answer['digest']}"
    yield f"  {safe(answer['definition']['url'])}"
    if answer["agents"]:
        yield f"  serves {safe(', '.join(answer['agents']))}"
