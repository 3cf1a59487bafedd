"""A container for consolidation tests, on its own store, with a clock that a test sets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from memorywire.app import Container, Governance, open_container
from memorywire.model.answers import Remembered
from memorywire.model.proposal import Decide, Reach, Verb
from memorywire.model.query import Where
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.requests import Recall, Remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.decide import decide
from memorywire.pipeline.recall import recall
from memorywire.pipeline.remember import remember
from tests.engine.stage import HandClock

A = TypeVar("A")
SCOPE = Scope(agent="dreamer")


def run_story(
    story: Callable[[Context, HandClock], Awaitable[A]],
    url: str = "sqlite://",
    policy: str = "open",
    **watched: Any,
) -> A:
    """Run a story in a new container."""

    async def run() -> A:
        clock = HandClock()
        container = await open_app(url, clock, policy=policy, **watched)
        try:
            return await story(container.context, clock)
        finally:
            await container.close()

    return asyncio.run(run())


async def open_app(url: str, clock: HandClock, **watched: Any) -> Container:
    return await open_container(
        stores=(url,),
        embedder="minilm",
        embedder_key=None,
        floor=None,
        governance=Governance(**watched),
        clock=clock,
    )


async def remember_next(context: Context, clock: HandClock, text: str, **fields: Any) -> Remembered:
    """Remember a text, a day after the last one."""
    clock.pass_days(1)
    kind = fields.pop("type", MemoryType.SEMANTIC)
    return await remember(Remember(scope=SCOPE, type=kind, content=text, **fields), context)


async def decided(context: Context, proposal: str, verb: Verb) -> None:
    reach = Reach(tenant=SCOPE.tenant, agent=SCOPE.agent)
    governance = context.require_governance()
    reviewer = replace(context, governance=replace(governance, caller="person:reviewer", principal=None))
    await decide(Decide(reach=reach, proposal_ids=(proposal,), verb=verb), reviewer)


async def memories(context: Context, clock: HandClock) -> list[Record]:
    return [record async for record in context.all_matching(Where(scope=SCOPE, alive_at=clock()))]


async def contents(context: Context, clock: HandClock) -> list[object]:
    return [record.content for record in await memories(context, clock)]


async def answers(context: Context, question: str) -> list[object]:
    found = await recall(Recall(scope=SCOPE, query=question), context)
    return [hit.content for hit in found]
