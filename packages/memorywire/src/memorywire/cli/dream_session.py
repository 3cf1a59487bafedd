"""Dreaming by day: a session's log is read, its notes are taken over, its rules are handed to the next."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import in_house
from memorywire.cli.context import PERSON, Answer, CliContext, shared
from memorywire.cli.terminal import safe
from memorywire.model.record import Scope

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.pipeline.context import Context


@click.command("rules")
@shared
def rules(cli: CliContext) -> None:
    """Show what the next session should know, do, and never do."""
    from memorywire.consolidate.session import session_rules

    async def act(scope: Scope, context: "Context") -> Answer:
        return (await session_rules(scope, context)).document()

    cli.show(at_memory(cli, act), _listed)


def dream_session(cli: CliContext, log: Path) -> None:
    """Read the log; the extractor of the settings finds its facts."""
    from memorywire.consolidate.session import read_session

    said_there = log.read_bytes()

    async def act(scope: Scope, container: "Container") -> Answer:
        context = await container.as_caller(PERSON).serving(scope)
        said = await read_session(said_there, log.stem, scope, context, container.reader.extractor)
        return said.document()

    cli.show(_in_house(cli, act), _read)


def dream_watch(cli: CliContext, every: float) -> None:
    """Until somebody stops it."""
    from memorywire.consolidate.tending import Tending

    async def act(scope: Scope, container: "Container") -> Answer:
        await Tending(container, cli.settings.sleep).keep_promoting(every)
        return None

    click.echo(f"looking every {every:g} seconds; stop with Ctrl-C")
    _in_house(cli, act)


def at_memory(cli: CliContext, act: "Callable[[Scope, Context], Awaitable[Answer]]") -> Answer:
    """The answer of `act` on the memory of the settings, in the name of this machine's user."""

    async def work(scope: Scope, container: "Container") -> Answer:
        return await act(scope, await container.as_caller(PERSON).serving(scope))

    return _in_house(cli, work)


def _in_house(cli: CliContext, act: "Callable[[Scope, Container], Awaitable[Answer]]") -> Answer:
    settings = cli.here
    scope = Scope(tenant=cli.tenant, agent=settings.agent, user=settings.user)
    return in_house(settings, lambda container: act(scope, container))


def _read(answer: Answer) -> Iterator[str]:
    yield f"kept {len(answer['kept'])}, proposed {len(answer['proposed'])}, known already {answer['known']}"
    if "problem" in answer:
        yield f"  without the facts of the extractor: {answer['problem']}"


def _listed(answer: Answer) -> Iterator[str]:
    for name, memories in answer.items():
        yield f"{name}: {len(memories) or 'nothing'}"
        yield from (f"  {memory['id']}  {safe(str(memory['content']))}" for memory in memories)
