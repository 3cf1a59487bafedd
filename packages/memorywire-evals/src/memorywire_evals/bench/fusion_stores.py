"""Reading several stores: quality of each way to read on the microbenchmark, and the cost of fusion."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from statistics import mean
from tempfile import mkdtemp

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app import Several, open_container
from memorywire.client.bulk import remember_each
from memorywire.client.memory import Memory
from memorywire.model.answers import Remembered
from memorywire.model.clock import Clock
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.candidates import search_replicas
from memorywire.pipeline.context import Context, Routing
from memorywire.search.embed import open_embedder
from memorywire.stores.contract import Store, SupportsReplicas
from memorywire.stores.memory import MemoryStore
from memorywire.stores.router import Kind, Route, by_rules, learned
from memorywire_evals.bench.corpus import Fact, facts
from memorywire_evals.bench.stage import kept, store_url
from memorywire_evals.bench.timing import WARM_UP, Spread, spread
from memorywire_evals.cases import Case, Dataset
from memorywire_evals.datasets.own import read_micro, read_oblique

K = 5
_PATIENCE = 60.0
"""Seconds; so long that a busy machine does not change the results."""


class _Words(MemoryStore):
    """A store that searches by words only."""

    name = "markdown"

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await super().search(replace(query, vector=None, nameless=None), limit)


class _Meanings(MemoryStore):
    """A store that searches by vectors only."""

    name = "vectors"

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return await super().search(replace(query, text=""), limit)


_LEGS: Mapping[str, type[MemoryStore]] = {"words": _Words, "meanings": _Meanings}


class Way(Struct, frozen=True, kw_only=True):
    """Some stores, and how to read them."""

    name: str
    stores: tuple[str, ...]
    rerank: bool = True
    route: Route | None = None


class Read(Struct, frozen=True, kw_only=True):
    """Recall on the questions of a dataset in one way, and the median latency in milliseconds."""

    dataset: str
    way: str
    stores: int
    recall: float
    p50: float


class _Answered(Struct, frozen=True, kw_only=True):
    question: str
    share: float
    place: float
    seconds: float


_TAUGHT = {"meanings": Kind.SEMANTIC, "graph": Kind.RELATIONSHIP, "words": Kind.LITERAL}
ALONE = tuple(Way(name=store, stores=(store,)) for store in (*_TAUGHT, "sqlite", "markdown"))

_TWO, _THREE, _APART = ("sqlite", "graph"), ("sqlite", "graph", "markdown"), tuple(_TAUGHT)
JOINED = (
    Way(name="2 alike, fusion", stores=_TWO, rerank=False),
    Way(name="2 alike, rerank", stores=_TWO),
    Way(name="3 alike, fusion", stores=_THREE, rerank=False),
    Way(name="3 alike, rerank", stores=_THREE),
    Way(name="3 apart, fusion", stores=_APART, rerank=False),
    Way(name="3 apart, rerank", stores=_APART),
    Way(name="3 apart, rules", stores=_APART, route=by_rules),
)


async def compare(folder: Path, *, clock: Clock, watch: Callable[[str], None]) -> list[Read]:
    """Measure every way on both sets of questions; the learned route is trained on the other set."""
    cases = {"micro": _case(read_micro), "oblique": _case(read_oblique)}
    reads: list[Read] = []
    lessons: dict[str, Route] = {}
    for name, case in cases.items():
        alone = [await _run(folder, way, case, clock, watch) for way in ALONE]
        reads += [_read(name, way, answers) for way, answers in zip(ALONE, alone, strict=True)]
        lessons[name] = await _lesson(alone[: len(_TAUGHT)])
    for (name, case), other in zip(cases.items(), reversed(cases), strict=True):
        for way in (*JOINED, Way(name="3 apart, learned", stores=_APART, route=lessons[other])):
            reads.append(_read(name, way, await _run(folder, way, case, clock, watch)))
    return reads


def _case(read: Callable[..., Dataset]) -> Case:
    dataset = read(Path(), split="all", roles="all")
    return dataset.build(dataset.case_ids[0])


async def _run(
    folder: Path, way: Way, case: Case, clock: Clock, watch: Callable[[str], None]
) -> list[_Answered]:
    watch(f"{case.id}: {way.name}")
    place = await asyncio.to_thread(mkdtemp, dir=folder)
    stores = [_store(name, place) for name in way.stores]
    several = Several(
        routing=Routing(rerank=way.rerank), deadline=_PATIENCE, writing=_PATIENCE, route=way.route
    )
    journal = f"sqlite://{place}/journal.db"
    async with Memory(
        "reading", stores, several=several, policy="open", journal=journal, clock=clock
    ) as memory:
        ids = await _fill(memory, case)
        return [
            await _ask(memory, question.text, {ids[ref] for ref in question.gold})
            for question in case.questions
            if question.gold
        ]


def _store(name: str, place: str) -> str | Store:
    return _LEGS[name](open_embedder("minilm").space) if name in _LEGS else f"{name}://{place}/{name}"


async def _fill(memory: Memory, case: Case) -> dict[str, str]:
    receipts = await memory.remember_many({"content": item.content, "type": item.type} for item in case.items)
    ids: dict[str, str] = {}
    for item, receipt in zip(case.items, receipts, strict=True):
        kept(receipt)
        if isinstance(receipt, Remembered):
            ids[item.ref] = receipt.id
    return ids


async def _ask(memory: Memory, text: str, gold: set[str]) -> _Answered:
    began = time.perf_counter()
    results = await memory.recall(text, k=K, min_relevance="off")
    seconds = time.perf_counter() - began
    places = [place for place, hit in enumerate(results.hits) if hit.id in gold]
    share = len(places) / len(gold)
    return _Answered(
        question=text, share=share, place=1 / (1 + places[0]) if places else 0.0, seconds=seconds
    )


async def _lesson(alone: Sequence[Sequence[_Answered]]) -> Route:
    """Learn a route: each question belongs to the first store that ranks its answer highest."""
    kinds = list(_TAUGHT.values())
    questions = [answered.question for answered in alone[0]]
    embedder = open_embedder("minilm")
    vectors = await embedder.embed(questions)
    await embedder.close()
    best = [_first_of_the_best([answered.place for answered in row]) for row in zip(*alone, strict=True)]
    return learned((vector, kinds[store]) for vector, store in zip(vectors, best, strict=True))


def _first_of_the_best(places: Sequence[float]) -> int:
    return places.index(max(places))


def _read(dataset: str, way: Way, answers: Sequence[_Answered]) -> Read:
    return Read(
        dataset=dataset,
        way=way.name,
        stores=len(way.stores),
        recall=mean(answer.share for answer in answers),
        p50=spread([answer.seconds for answer in answers]).p50,
    )


SCOPE = Scope(agent="overhead")
MEMORIES = 1_000
_POOL = 10


class Overhead(Struct, frozen=True, kw_only=True):
    """Milliseconds to search several stores and fuse their answers, and of the slowest store alone."""

    memories: int
    joined: Spread
    slowest: Spread

    @property
    def more(self) -> float:
        """The difference of the medians."""
        return self.joined.p50 - self.slowest.p50

    @property
    def allowed(self) -> float:
        """The limit: a tenth of the slowest store's time plus a millisecond."""
        return 0.1 * self.slowest.p50 + 1.0


async def overhead(folder: Path, *, rounds: int, clock: Clock) -> Overhead:
    """Measure two files with the same memories, separately and through the router."""
    some = list(islice(facts(), MEMORIES))
    container = await open_container(
        stores=[f"{store_url(folder, name)}#{name}" for name in ("one", "two")],
        embedder="minilm",
        embedder_key=None,
        clock=clock,
        several=Several(deadline=_PATIENCE, writing=_PATIENCE),
    )
    try:
        await _fill_stores(some, container.context)
        router = container.context.store
        if not isinstance(router, SupportsReplicas):
            raise AssertionError("two stores need a router")
        samples = [
            await _round(some[n % len(some)], router, container.context) for n in range(WARM_UP + rounds)
        ]
    finally:
        await container.close()
    joined, slowest = zip(*samples[WARM_UP:], strict=True)
    return Overhead(memories=MEMORIES, joined=spread(joined), slowest=spread(slowest))


async def _fill_stores(some: list[Fact], context: Context) -> None:
    payloads = ({"agent_id": SCOPE.agent, "type": "semantic", "content": fact.content} for fact in some)
    async for receipts in remember_each(payloads, context, tenant=DEFAULT_TENANT):
        for receipt in receipts:
            kept(receipt)


async def _round(fact: Fact, router: SupportsReplicas, context: Context) -> tuple[float, float]:
    (vector,) = await context.embedder.embed([fact.question])
    query = Query(where=Where(scope=SCOPE, alive_at=context.clock()), text=fact.question, vector=vector)
    founds = await router.search_each(query, _POOL)
    began = time.perf_counter()
    await search_replicas(query, _POOL, Recall(scope=SCOPE, query=fact.question), router, context)
    return time.perf_counter() - began, max(results.elapsed for results in founds)
