"""Dreaming by day: a session's log is read, its notes are taken over, its rules are handed to the next."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import in_house
from memorywire.cli.context import PERSON, Answer, Desk, shared
from memorywire.cli.terminal import safe
from memorywire.model.record import Scope

if TYPE_CHECKING:
    from memorywire.app import House
    from memorywire.pipeline.context import Tools


@click.command("rules")
@shared
def rules(desk: Desk) -> None:
    """Show what the next session should know, do, and never do."""
    from memorywire.consolidate.session import session_rules

    async def act(scope: Scope, tools: "Tools") -> Answer:
        return (await session_rules(scope, tools)).document()

    desk.show(at_memory(desk, act), _listed)


def dream_session(desk: Desk, log: Path) -> None:
    """Read the log; the extractor of the settings finds its facts."""
    from memorywire.consolidate.session import read_session

    said_there = log.read_bytes()

    async def act(scope: Scope, house: "House") -> Answer:
        tools = await house.as_caller(PERSON).serving(scope)
        said = await read_session(said_there, log.stem, scope, tools, house.reader.extractor)
        return said.document()

    desk.show(_in_house(desk, act), _read)


def dream_watch(desk: Desk, every: float) -> None:
    """Until somebody stops it."""
    from memorywire.consolidate.tending import Tending

    async def act(scope: Scope, house: "House") -> Answer:
        await Tending(house, desk.settings.sleep).keep_promoting(every)
        return None

    click.echo(f"looking every {every:g} seconds; stop with Ctrl-C")
    _in_house(desk, act)


def at_memory(desk: Desk, act: "Callable[[Scope, Tools], Awaitable[Answer]]") -> Answer:
    """The answer of `act` on the memory of the settings, in the name of this machine's user."""

    async def work(scope: Scope, house: "House") -> Answer:
        return await act(scope, await house.as_caller(PERSON).serving(scope))

    return _in_house(desk, work)


def _in_house(desk: Desk, act: "Callable[[Scope, House], Awaitable[Answer]]") -> Answer:
    settings = desk.here
    scope = Scope(tenant=desk.tenant, agent=settings.agent, user=settings.user)
    return in_house(settings, lambda house: act(scope, house))


def _read(answer: Answer) -> Iterator[str]:
    yield f"kept {len(answer['kept'])}, proposed {len(answer['proposed'])}, known already {answer['known']}"
    if "problem" in answer:
        yield f"  without the facts of the extractor: {answer['problem']}"


def _listed(answer: Answer) -> Iterator[str]:
    for name, memories in answer.items():
        yield f"{name}: {len(memories) or 'nothing'}"
        yield from (f"  {memory['id']}  {safe(str(memory['content']))}" for memory in memories)
