"""`memorywire backends`: definitions of other places for memories, and the agents that are kept there."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import click

from memorywire.cli.app import in_house
from memorywire.cli.context import PERSON, Answer, Desk, scoped
from memorywire.cli.inputs import decoded, json_object
from memorywire.cli.terminal import safe, table, terminal_width

if TYPE_CHECKING:
    from memorywire.app import Backends, House
    from memorywire.model.definition import Edition

T = TypeVar("T")


@click.group("backends")
def command() -> None:
    """Define other places for memories, and bind agents to them.

    A definition may name keys that MEMORYWIRE_BACKEND_KEYS allows, hosts of your own network that
    MEMORYWIRE_BACKEND_HOSTS names, and adapters in preview that MEMORYWIRE_BACKEND_PREVIEWS names.
    """


@command.command("list")
@scoped("tenant")
def list_(desk: Desk) -> None:
    """Show every edition of every definition, and whom it serves."""
    found = _in_book(desk, lambda book: book.list(desk.tenant))
    desk.show({"definitions": [_document(edition) for edition in found]}, _rows)


@command.command("create")
@click.argument("file", type=click.File("rb"), default="-")
@scoped("tenant")
def create(desk: Desk, file: BinaryIO) -> None:
    """Keep the definition in FILE, one JSON object; `-` is stdin."""
    document = json_object(decoded(file.read(), field="file"))
    _show(desk, lambda book: book.create(desk.tenant, document, PERSON))


@command.command("show")
@click.argument("definition")
@scoped("tenant")
def show(desk: Desk, definition: str) -> None:
    """Show the definition of that digest, or the newest of that name."""
    _show(desk, lambda book: book.get(desk.tenant, definition))


@command.command("fork")
@click.argument("definition")
@click.argument("changes", type=json_object)
@scoped("tenant")
def fork(desk: Desk, definition: str, changes: Answer) -> None:
    """Make a definition like DEFINITION but for CHANGES, a JSON object."""
    _show(desk, lambda book: book.fork(desk.tenant, definition, changes, PERSON))


@command.command("retire")
@click.argument("definition")
@scoped("tenant")
def retire(desk: Desk, definition: str) -> None:
    """Let no agent be bound to DEFINITION any more."""
    _show(desk, lambda book: book.retire(desk.tenant, definition, PERSON))


@command.command("bind")
@click.argument("definition")
@scoped("agent", "tenant")
def bind(desk: Desk, definition: str) -> None:
    """Keep the agent's memories in the backend from now on; those it has stay where they are."""
    _show(desk, lambda book: book.bind(desk.tenant, definition, desk.settings.agent, PERSON))


@command.command("unbind")
@scoped("agent", "tenant")
def unbind(desk: Desk) -> None:
    """Keep the agent's memories here again."""
    _in_book(desk, lambda book: book.unbind(desk.tenant, desk.settings.agent, PERSON))
    said = f"{safe(desk.settings.agent)} is kept here again"
    desk.show({"agent_id": desk.settings.agent}, lambda _: [said])


def _show(desk: Desk, act: "Callable[[Backends], Awaitable[Edition]]") -> None:
    desk.show(_document(_in_book(desk, act)), _sentences)


def _in_book(desk: Desk, act: "Callable[[Backends], Awaitable[T]]") -> T:
    async def work(house: "House") -> T:
        from memorywire.pipeline.context import unsupported

        if house.backends is None:
            raise unsupported("backends", "no journal is wired here")
        return await act(house.backends)

    return in_house(desk.here, work)


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
