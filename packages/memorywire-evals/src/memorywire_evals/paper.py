"""The paper's microbenchmark (section 5.1): single remembers and recalls, embedding included."""

import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from memorywire import __version__
from memorywire.client.memory import Memory
from memorywire.model.clock import Clock
from memorywire.model.record import Json
from memorywire_evals.cases import Case, Item
from memorywire_evals.datasets.files import digest
from memorywire_evals.datasets.own import MICRO_FILE, read_micro
from memorywire_evals.metrics import percentile, recall_at
from memorywire_evals.results import machine

K = 5
PUBLISHED: Mapping[str, Json] = {
    "recall@5": 1.0,
    "precision@5": 0.214,
    "ingest_ms": {"p50": 37.8, "p95": 46.0, "p99": 69.1},
    "recall_ms": {"p50": 40.6, "p95": 46.6, "p99": 55.7},
    "no_match_empty": 0,
    "no_match": 8,
    "run_seconds": 5.9,
}
"""Table 3 of the paper, measured on its authors' machine."""

_PEOPLE = frozenset("Alice Bruno Chen Dora Emil Fatima George Hana Ivan Julia".split())
_SHARES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))

T = TypeVar("T")


class _Timed(Struct, frozen=True, kw_only=True):
    """The result of each call, and its milliseconds."""

    values: list[Json]
    ms: list[float]

    def spread(self) -> dict[str, float]:
        return {name: round(percentile(self.ms, share), 2) for name, share in _SHARES}


def find_user(item: Item) -> str | None:
    """Return the person a fact is about; None for the agent."""
    word = item.content.split()[0].removesuffix("'s")
    return word if word in _PEOPLE else None


async def run_micro_paper(
    stores: Sequence[str], embedder: str, *, clock: Clock, embedder_key: str | None = None
) -> dict[str, Json]:
    """Measure the figures of the paper's table, and return them with the published ones."""
    dataset = read_micro(Path(), split="all", roles="all")
    case = dataset.build(dataset.case_ids[0])
    with tempfile.TemporaryDirectory(prefix="memorywire-paper-") as folder:
        urls = list(stores) or [f"sqlite:///{folder}/paper.db"]
        async with Memory("paper", urls, embedder=embedder, embedder_key=embedder_key, clock=clock) as memory:
            await memory.recall("warm up", scope="all")  # loads the model, as the paper does first
            began = time.perf_counter()
            figures = await _measure(case, memory)
            figures["run_seconds"] = round(time.perf_counter() - began, 2)
    run = {
        "set": "micro",
        "paper": True,
        "version": __version__,
        "data": digest(MICRO_FILE),
        "store": " and ".join(url.partition("://")[0] for url in stores) or "sqlite (temporary file)",
        "embedder": embedder.partition("?")[0],
        "memories": len(case.items),
        "users": len({user for item in case.items if (user := find_user(item))}),
        "queries": len(case.questions),
    }
    return {"run": run, "figures": figures, "published": PUBLISHED, "machine": machine()}


async def _measure(case: Case, memory: Memory) -> dict[str, Json]:
    ids: dict[str, str] = {}

    async def remember(item: Item) -> str:
        fields: dict[str, Json] = {"type": item.type, "user_id": find_user(item)}
        receipt = await memory.remember(item.content, **fields)
        ids[item.ref] = receipt.id
        return receipt.id

    async def recall(text: str) -> list[str]:
        return [hit.id for hit in (await memory.recall(text, k=K, scope="all")).hits]

    ingest = await _time_each(case.items, remember)
    recalls = await _time_each([question.text for question in case.questions], recall)
    answers = list(zip(case.questions, recalls.values, strict=True))
    labelled = [({ids[ref] for ref in question.gold}, hits) for question, hits in answers if question.gold]
    empty = [not hits for question, hits in answers if not question.gold]
    return {
        "recall@5": round(sum(recall_at(hits, gold, K) for gold, hits in labelled) / len(labelled), 4),
        "precision@5": round(sum(len(gold & set(hits)) / K for gold, hits in labelled) / len(labelled), 4),
        "ingest_ms": ingest.spread(),
        "recall_ms": recalls.spread(),
        "no_match_empty": sum(empty),
        "no_match": len(empty),
    }


async def _time_each(values: Sequence[T], call: Callable[[T], Awaitable[Json]]) -> _Timed:
    results, cost = [], []
    for value in values:
        began = time.perf_counter()
        results.append(await call(value))
        cost.append((time.perf_counter() - began) * 1000)
    return _Timed(values=results, ms=cost)


HEADERS = ("metric", "here", "published")


def list_rows(document: Mapping[str, Json]) -> Iterator[list[str]]:
    """Yield the rows of the paper's table with a column for this run."""
    columns = document["figures"], document["published"]
    yield ["recall@5, labelled queries", *(f"{one['recall@5']:.3f}" for one in columns)]
    yield ["precision@5", *(f"{one['precision@5']:.3f}" for one in columns)]
    for name, key in (("ingest", "ingest_ms"), ("recall", "recall_ms")):
        yield [
            f"{name} p50 / p95 / p99, ms",
            *(" / ".join(f"{one[key][share]:.1f}" for share, _ in _SHARES) for one in columns),
        ]
    yield [
        "no-match probes correctly empty",
        *(f"{one['no_match_empty']} / {one['no_match']}" for one in columns),
    ]
    yield ["total run time, s", *(f"{one['run_seconds']:.1f}" for one in columns)]
