"""What joining stores costs: asking through the router beside the slowest of the stores it asks."""

import time
from itertools import islice
from pathlib import Path

from msgspec import Struct

from memorywire.app import open_container
from memorywire.client.bulk import remember_each
from memorywire.model.clock import Clock
from memorywire.model.query import Query, Where
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.candidates import ask_each
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Fanned
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_evals.bench.stage import kept, store_url
from memorywire_evals.bench.timing import WARM_UP, Spread, spread

SCOPE = Scope(agent="overhead")
MEMORIES = 1_000
_POOL = 10


class Overhead(Struct, frozen=True, kw_only=True):
    """Milliseconds of asking several stores and joining their answers, and of the slowest store alone."""

    memories: int
    joined: Spread
    slowest: Spread

    @property
    def more(self) -> float:
        """By how much the median is longer."""
        return self.joined.p50 - self.slowest.p50

    @property
    def allowed(self) -> float:
        """A tenth of the slowest store's time, and a millisecond."""
        return 0.1 * self.slowest.p50 + 1.0


async def overhead(folder: Path, *, rounds: int, clock: Clock) -> Overhead:
    """Two files with the same memories, asked by themselves and through the router, in turn."""
    some = list(islice(facts(), MEMORIES))
    container = await open_container(
        stores=[f"{store_url(folder, name)}#{name}" for name in ("one", "two")],
        embedder="minilm",
        embedder_key=None,
        clock=clock,
    )
    try:
        await _fill(some, container.context)
        router = container.context.store
        if not isinstance(router, Fanned):
            raise AssertionError("two stores are a router")
        samples = [
            await _round(some[n % len(some)], router, container.context) for n in range(WARM_UP + rounds)
        ]
    finally:
        await container.close()
    joined, slowest = zip(*samples[WARM_UP:], strict=True)
    return Overhead(memories=MEMORIES, joined=spread(joined), slowest=spread(slowest))


async def _fill(some: list[Fact], context: Context) -> None:
    payloads = ({"agent_id": SCOPE.agent, "type": "semantic", "content": fact.content} for fact in some)
    async for receipts in remember_each(payloads, context, tenant=DEFAULT_TENANT):
        for receipt in receipts:
            kept(receipt)


async def _round(fact: Fact, router: Fanned, context: Context) -> tuple[float, float]:
    (vector,) = await context.embedder.embed([fact.question])
    query = Query(where=Where(scope=SCOPE, alive_at=context.clock()), text=fact.question, vector=vector)
    founds = await router.search_each(query, _POOL)
    began = time.perf_counter()
    await ask_each(query, _POOL, Recall(scope=SCOPE, query=fact.question), router, context)
    return time.perf_counter() - began, max(found.elapsed for found in founds)
