"""`memorywire backends`: define other stores, and bind agents to them."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import click

from memorywire.cli.app import run_in_app
from memorywire.cli.context import Answer, CliContext, scoped
from memorywire.cli.inputs import decode_text, parse_json_object
from memorywire.cli.terminal import clean, format_table
from memorywire.model.record import PERSON

if TYPE_CHECKING:
    from memorywire.app import Backends, Container
    from memorywire.model.definition import Edition

T = TypeVar("T")


@click.group("backends")
def backends_command() -> None:
    """Define other stores, and bind agents to them.

    MEMORYWIRE_BACKEND_KEYS lists the keys that a definition may use, MEMORYWIRE_BACKEND_HOSTS the hosts of
    your own network, and MEMORYWIRE_BACKEND_PREVIEWS the preview adapters.
    """


@backends_command.command("list")
@scoped("tenant")
def list_(cli: CliContext) -> None:
    """List the definitions, with their editions and agents."""
    editions = _run(cli, lambda backends: backends.list(cli.tenant))
    cli.show({"definitions": [_document(edition) for edition in editions]}, _render_list)


@backends_command.command("create")
@click.argument("file", type=click.File("rb"), default="-")
@scoped("tenant")
def create(cli: CliContext, file: BinaryIO) -> None:
    """Create a definition from FILE, one JSON object; `-` is standard input."""
    document = parse_json_object(decode_text(file.read(), field="file"))
    _show(cli, lambda backends: backends.create(cli.tenant, document, PERSON))


@backends_command.command("show")
@click.argument("definition")
@scoped("tenant")
def show(cli: CliContext, definition: str) -> None:
    """Show a definition by digest, or the newest by name."""
    _show(cli, lambda backends: backends.get(cli.tenant, definition))


@backends_command.command("fork")
@click.argument("definition")
@click.argument("changes", type=parse_json_object)
@scoped("tenant")
def fork(cli: CliContext, definition: str, changes: Answer) -> None:
    """Copy DEFINITION with CHANGES, a JSON object."""
    _show(cli, lambda backends: backends.fork(cli.tenant, definition, changes, PERSON))


@backends_command.command("retire")
@click.argument("definition")
@scoped("tenant")
def retire(cli: CliContext, definition: str) -> None:
    """Retire a definition: no agent can be bound to it any more."""
    _show(cli, lambda backends: backends.retire(cli.tenant, definition, PERSON))


@backends_command.command("bind")
@click.argument("definition")
@scoped("agent", "tenant")
def bind(cli: CliContext, definition: str) -> None:
    """Store new memories of the agent in the backend; existing ones stay."""
    _show(cli, lambda backends: backends.bind(cli.tenant, definition, cli.settings.agent, PERSON))


@backends_command.command("unbind")
@scoped("agent", "tenant")
def unbind(cli: CliContext) -> None:
    """Store new memories of the agent here again."""
    _run(cli, lambda backends: backends.unbind(cli.tenant, cli.settings.agent, PERSON))
    line = f"{clean(cli.settings.agent)} is stored here again"
    cli.show({"agent_id": cli.settings.agent}, [line])


def _show(cli: CliContext, action: "Callable[[Backends], Awaitable[Edition]]") -> None:
    cli.show(_document(_run(cli, action)), _render_definition)


def _run(cli: CliContext, action: "Callable[[Backends], Awaitable[T]]") -> T:
    async def work(container: "Container") -> T:
        from memorywire.pipeline.context import unsupported

        if container.backends is None:
            raise unsupported("backends", "no journal is configured")
        return await action(container.backends)

    return run_in_app(cli.local_settings, work)


def _document(edition: "Edition") -> Answer:
    from memorywire.wire.codec import encode

    document: Answer = encode(edition)
    return {**document, "definition": edition.definition.masked_document()}


def _render_list(answer: Answer) -> list[str]:
    rows = []
    for one in answer["definitions"]:
        state = "retired" if "retired_at" in one else "active"
        name, agents = one["definition"]["name"], ", ".join(one["agents"])
        rows.append([name, one["number"], one["digest"][:19], state, agents])
    return format_table(["NAME", "EDITION", "DIGEST", "STATE", "AGENTS"], rows, empty="no backends")


def _render_definition(answer: Answer) -> Iterator[str]:
    yield f"{clean(answer['definition']['name'])}, edition {answer['number']}: {answer['digest']}"
    yield f"  {clean(answer['definition']['url'])}"
    if answer["agents"]:
        yield f"  serves {clean(', '.join(answer['agents']))}"
