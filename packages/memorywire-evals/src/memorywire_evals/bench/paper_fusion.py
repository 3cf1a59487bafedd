"""The paper's experiment on fusion (section 5.2): two honest stores, and one with invented ids on top.

Every query is a recall of three stores. The register and the order by evidence, which are on by default and
would drop all invented ids, are off: the experiment is about the formula alone.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct, to_builtins

from memorywire.app import Several
from memorywire.client.memory import Memory
from memorywire.model.clock import Clock
from memorywire.model.errors import StoreUnavailable
from memorywire.model.query import Query, Scored
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.pipeline.context import Routing
from memorywire.search.embed import Embedder, open_embedder
from memorywire.stores.memory import MemoryStore
from memorywire_evals.run import CachedEmbedder

MEMORIES = 50
QUERIES = 20
GOLD = 2
INJECTED = (0, 5, 10, 25, 50)
FUSIONS = ("rrf", "max", "weighted")
SEED = 1337
K = 5
PATIENCE = 60.0
"""Seconds a store has to answer; so long that a busy machine does not change the results."""

PUBLISHED: Mapping[str, Mapping[int, tuple[float, float]]] = {
    "rrf": dict.fromkeys(INJECTED, (1.0, 0.0)),
    "max": {0: (1.0, 0.0), **dict.fromkeys(INJECTED[1:], (0.5, 0.8))},
    "weighted": dict.fromkeys(INJECTED, (1.0, 0.0)),
}
"""Table 4 of the paper: recall@5 and leak by fusion and number of injected ids."""

_SCOPE = Scope(agent="paper")
_STEP = 0.01
"""An honest store's score starts at 1 and falls by this per rank."""


class Outcome(Struct, frozen=True, kw_only=True):
    """Means over the queries with `injected` ids: recall@5, share of invented ids, share of gold lost."""

    injected: int
    recall_at_5: float
    leak: float
    gold_displacement: float


class Experiment(Struct, frozen=True, kw_only=True):
    """The outcomes of one fusion."""

    fusion: str
    seed: int
    outcomes: tuple[Outcome, ...]

    def json(self) -> dict[str, Json]:
        published = [
            {"injected": injected, "recall_at_5": recall, "leak": leak}
            for injected, (recall, leak) in PUBLISHED[self.fusion].items()
        ]
        setting = {"memories": MEMORIES, "queries": QUERIES, "gold": GOLD, "k": K, "stores": 3, "rogues": 1}
        return {**to_builtins(self), "outcomes": to_builtins(list(self.outcomes))} | {
            "setting": setting,
            "published": published,
        }


class ScriptedStore(MemoryStore):
    """A store that answers each query with a given ranking, after `delay` seconds."""

    def __init__(
        self, name: str, embedder: Embedder, rankings: Mapping[str, Sequence[str]], delay: float
    ) -> None:
        super().__init__(embedder.space)
        self.name = name
        self.injected = 0
        self._rankings = rankings
        self._delay = delay

    async def search(self, query: Query, limit: int) -> list[Scored]:
        await asyncio.sleep(self._delay)
        invented = [_build_hit(f"a{place:03}", 1.0) for place in range(self.injected)]
        ranking = self._rankings[query.text]
        known = [_build_hit(id, 1.0 - _STEP * place) for place, id in enumerate(ranking)]
        return [*invented, *known][:limit]


def _build_hit(id: str, score: float) -> Scored:
    record = Record(
        id=id,
        scope=_SCOPE,
        type=MemoryType.SEMANTIC,
        content=f"what {id} says",
        created_at=0,
        updated_at=0,
    )
    return Scored(record=record, score=score, signals={})


class Setup(Struct, frozen=True, kw_only=True):
    """The gold of each query, and how each of three stores ranks all memories for it."""

    gold: dict[str, frozenset[str]]
    rankings: tuple[dict[str, tuple[str, ...]], ...]


def draw_setup(seed: int) -> Setup:
    """Draw two distinct gold ids for each query; each store has a different order of the rest."""
    dice = np.random.default_rng(seed)
    ids = [f"m{number:03}" for number in range(MEMORIES)]
    gold = {f"query {number}": dice.permutation(ids)[:GOLD].tolist() for number in range(QUERIES)}

    def rank(best: Sequence[str]) -> tuple[str, ...]:
        others = [id for id in ids if id not in best]
        return (*best, *dice.permutation(others).tolist())

    rankings = tuple({query: rank(best) for query, best in gold.items()} for _ in range(3))
    return Setup(gold={query: frozenset(best) for query, best in gold.items()}, rankings=rankings)


async def run_paper(
    folder: Path, *, seed: int = SEED, clock: Clock, delay: float = 0.0, deadline: float = PATIENCE
) -> list[Experiment]:
    """Run all numbers of injected ids with every fusion. StoreUnavailable: a store did not answer.

    Each store takes `delay` seconds to answer and has until `deadline`.
    """
    setup = draw_setup(seed)
    embedder = CachedEmbedder(open_embedder("minilm"))  # texts repeat
    names = ("honest one", "honest two", "rogue")
    stores = [
        ScriptedStore(name, embedder, rankings, delay)
        for name, rankings in zip(names, setup.rankings, strict=True)
    ]
    several = Several(
        routing=Routing(register=False, rerank=False), deadline=deadline, writing=max(deadline, PATIENCE)
    )
    with TemporaryDirectory(prefix="memorywire-paper-", dir=folder) as place:
        journal = f"sqlite://{place}/journal.db"
        async with Memory(
            _SCOPE.agent,
            list(stores),
            several=several,
            embedder=embedder,
            policy="open",
            journal=journal,
            clock=clock,
        ) as memory:
            experiments = [
                Experiment(
                    fusion=fusion,
                    seed=seed,
                    outcomes=tuple([row async for row in _sweep(memory, fusion, stores[-1], setup)]),
                )
                for fusion in FUSIONS
            ]
    await embedder.release()
    return experiments


async def _sweep(memory: Memory, fusion: str, rogue: ScriptedStore, setup: Setup) -> AsyncIterator[Outcome]:
    before: dict[str, frozenset[str]] = {}
    for injected in INJECTED:
        rogue.injected = injected
        answers = {query: await _ask(memory, query, fusion) for query in setup.gold}
        hits = {query: gold & set(answers[query]) for query, gold in setup.gold.items()}
        before = before or hits
        yield Outcome(
            injected=injected,
            recall_at_5=mean(len(hits[query]) / GOLD for query in hits),
            leak=mean(sum(id.startswith("a") for id in ids) / len(ids) for ids in answers.values()),
            gold_displacement=mean(_displaced(before[query], hits[query]) for query in hits),
        )


def _displaced(before: frozenset[str], now: frozenset[str]) -> float:
    return len(before - now) / len(before) if before else 0.0


async def _ask(memory: Memory, query: str, fusion: str) -> list[str]:
    options: dict[str, Json] = {"k": K, "fusion": fusion, "min_relevance": "off"}
    answer = await memory.recall(query, **options)
    absent = [outcome.store for outcome in answer.outcomes if outcome.error is not None]
    if absent:
        raise StoreUnavailable(f"{', '.join(absent)} did not answer {query!r}")
    return [hit.id for hit in answer.hits]


HEADERS = ("K", *(f"{figure} {fusion}" for fusion in FUSIONS for figure in ("R@5", "leak", "lost")))


def list_rows(experiments: Sequence[Experiment]) -> Iterator[list[str]]:
    """Yield a row for each number of injected ids, as in the paper's table, with the share of gold lost."""
    for rows in zip(*(one.outcomes for one in experiments), strict=True):
        figures = ((row.recall_at_5, row.leak, row.gold_displacement) for row in rows)
        yield [str(rows[0].injected), *(f"{figure:.3f}" for three in figures for figure in three)]
