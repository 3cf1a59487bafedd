"""A server looks after every agent of every tenant, as far as it is switched on, and says how it goes."""

import asyncio
from collections.abc import Awaitable, Callable

from memorywire.app import Container
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.query import Where
from memorywire.model.record import MemoryType, Scope
from memorywire.model.requests import Remember
from memorywire.pipeline.remember import remember
from memorywire_consolidate.background import BackgroundWork, list_scopes, milliseconds_until
from memorywire_consolidate.runs import list_runs
from memorywire_consolidate.short_term import SHORT_TERM
from tests.dreaming.scope import open_app
from tests.engine.stage import HandClock

ANA, BEN = Scope(tenant="acme", agent="ana"), Scope(tenant="zeta", agent="ben")
MIDNIGHT, NIGHT = 20_000 * DAY_MS, 180
SAID = ("the parser is slow", "the slow parser again", "why is the parser slow")


def tended(story: Callable[[Container, HandClock], Awaitable[None]]) -> None:
    async def run() -> None:
        clock = HandClock(MIDNIGHT + NIGHT * 60_000 - 10)  # the night is about to begin
        container = await open_app("sqlite://", clock, policy="open")
        try:
            await story(container, clock)
        finally:
            await container.close()

    asyncio.run(run())


async def until(true: Callable[[], bool]) -> None:
    for _ in iter(true, True):
        await asyncio.sleep(0.01)


async def remember_next(container: Container, scope: Scope, text: str, **fields: object) -> None:
    await remember(Remember(scope=scope, type=MemoryType.SEMANTIC, content=text, **fields), container.context)


async def noted(container: Container, scope: Scope) -> list[str]:
    """What is still a note."""
    where = Where(scope=scope, alive_at=container.context.clock())
    return [record.id async for record in container.context.all_matching(where) if SHORT_TERM in record.tags]


def test_notes_of_every_tenant_are_taken_over() -> None:
    async def story(container: Container, clock: HandClock) -> None:
        for scope in (ANA, BEN):
            for text in SAID:
                await remember_next(container, scope, text, tags=(SHORT_TERM,), session_id="s")
        assert await list_scopes(container) == [ANA, BEN]
        tending = BackgroundWork(container, ConsolidationSettings(promote=0.01))
        assert tending.promotion.ended_at is None
        async with tending.run_in_background():
            await until(lambda: tending.promotion.ended_at is not None)
        assert (tending.promotion.agents, tending.promotion.problem) == (2, None)
        left = [len(await noted(container, scope)) for scope in (ANA, BEN)]
        assert left[0] == left[1] < len(SAID)
        assert tending.promotion.done == 2 * (len(SAID) - left[0])

    tended(story)


def test_a_night_is_dreamed_for_every_tenant_by_nobody_else_than_the_server() -> None:
    async def story(container: Container, clock: HandClock) -> None:
        for scope in (ANA, BEN):
            await remember_next(container, scope, "Eve lives in Rome")
            await remember_next(container, scope, "Eve really lives in Rome")
        tending = BackgroundWork(container, ConsolidationSettings(promote=None, night=NIGHT))
        async with tending.run_in_background():
            await until(lambda: tending.runs.ended_at is not None)
        assert (tending.runs.done, tending.runs.problem, tending.promotion.ended_at) == (2, None, None)
        for scope in (ANA, BEN):
            [run] = await list_runs(scope, container.context)
            [entry] = await container.context.require_governance().journal.find_entries(
                scope.tenant, run.change.id
            )
            assert entry["actor"] == "system:dream"

    tended(story)


def test_what_is_switched_off_is_not_done() -> None:
    async def story(container: Container, clock: HandClock) -> None:
        before = len(asyncio.all_tasks())
        for sleep, works in (
            (ConsolidationSettings(promote=None), 0),
            (ConsolidationSettings(promote=60, night=NIGHT), 2),
        ):
            async with BackgroundWork(container, sleep).run_in_background():
                assert len(asyncio.all_tasks()) == before + works

    tended(story)


def test_the_next_night_is_always_ahead() -> None:
    assert milliseconds_until(NIGHT, MIDNIGHT) == NIGHT * 60_000
    assert milliseconds_until(NIGHT, MIDNIGHT + NIGHT * 60_000) == DAY_MS
    assert milliseconds_until(0, MIDNIGHT + 1) == DAY_MS - 1
