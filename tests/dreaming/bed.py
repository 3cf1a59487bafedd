"""A house to dream in, on a store of its own, with a clock that a test moves by hand."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from memorywire.app import Governance, House, open_house
from memorywire.model.answers import Remembered
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.model.requests import Recall, Remember
from memorywire.model.review import Decide, Reach, Verb
from memorywire.model.where import Where
from memorywire.pipeline.context import Tools
from memorywire.pipeline.decide import decide
from memorywire.pipeline.recall import recall
from memorywire.pipeline.remember import remember
from tests.engine.stage import HandClock

A = TypeVar("A")
SCOPE = Scope(agent="dreamer")


def asleep(
    story: Callable[[Tools, HandClock], Awaitable[A]],
    url: str = "sqlite://",
    policy: str = "open",
    **watched: Any,
) -> A:
    """Run a story in a fresh house."""

    async def run() -> A:
        clock = HandClock()
        house = await opened(url, clock, policy=policy, **watched)
        try:
            return await story(house.tools, clock)
        finally:
            await house.close()

    return asyncio.run(run())


async def opened(url: str, clock: HandClock, **watched: Any) -> House:
    return await open_house(
        stores=(url,),
        embedder="minilm",
        embedder_key=None,
        floor=None,
        governance=Governance(**watched),
        clock=clock,
    )


async def told(tools: Tools, clock: HandClock, text: str, **fields: Any) -> Remembered:
    """Remember it, a day after the last."""
    clock.pass_days(1)
    kind = fields.pop("type", MemoryType.SEMANTIC)
    return await remember(Remember(scope=SCOPE, type=kind, content=text, **fields), tools)


async def decided(tools: Tools, proposal: str, verb: Verb) -> None:
    reach = Reach(tenant=SCOPE.tenant, agent=SCOPE.agent)
    office = tools.governance
    reviewer = replace(tools, office=replace(office, caller="person:reviewer", principal=None))
    await decide(Decide(reach=reach, proposal_ids=(proposal,), verb=verb), reviewer)


async def memories(tools: Tools, clock: HandClock) -> list[Record]:
    return [record async for record in tools.all_matching(Where(scope=SCOPE, alive_at=clock()))]


async def contents(tools: Tools, clock: HandClock) -> list[object]:
    return [record.content for record in await memories(tools, clock)]


async def answers(tools: Tools, question: str) -> list[object]:
    found = await recall(Recall(scope=SCOPE, query=question), tools)
    return [hit.content for hit in found]
