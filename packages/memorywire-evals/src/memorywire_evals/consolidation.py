"""Measures `memorywire dream` on labelled sets: merges, supersessions, and recall afterwards.

Each line of the set is a family of five records: a fact, a copy of it, a paraphrase, a statement on the same
topic, and a later one that contradicts it. A question asks for the current fact.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from memorywire.app import Governance, open_container
from memorywire.app.consolidators import find_consolidator
from memorywire.model.change import Base, Change, Put
from memorywire.model.clock import DAY_MS, Clock
from memorywire.model.consolidation import (
    DEFAULT_CONSOLIDATOR,
    ConsolidationSettings,
    Limits,
    Pass,
    RunResult,
)
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.model.requests import Recall
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import embed_changes
from memorywire.pipeline.recall import recall
from memorywire_evals.cases import epoch_ms
from memorywire_evals.datasets.files import find, read_json, read_lines
from memorywire_evals.datasets.halumem import DATE

SCOPE = Scope(agent="dreamer")
KINDS = ("fact", "copy", "paraphrase", "similar", "conflict")
_SAME = ("fact", "copy", "paraphrase")
_DEPTH = 5


class Figures(Struct, frozen=True, kw_only=True):
    """Figures of one run: precision and recall of merges, conflicts, and recall before and after."""

    records: int
    merged: int
    precision: float
    recall: float
    found: Mapping[str, float]
    conflicts_merged: int
    superseded: int
    superseded_right: int
    recall_before: float
    recall_after: float
    stale_before: int
    stale_after: int
    second_night: int

    @property
    def stale_fall(self) -> float:
        return 1 - self.stale_after / self.stale_before

    def document(self) -> dict[str, Json]:
        said = {name: getattr(self, name) for name in self.__struct_fields__}
        return {**said, "found": dict(self.found), "stale_fall": round(self.stale_fall, 4)}


def families(named: str = "dream") -> list[dict[str, str]]:
    """Return the set `dream`, or the smaller `dream_second`."""
    lines = (
        (files("memorywire_evals") / "datasets" / f"{named}.jsonl").read_text(encoding="utf-8").splitlines()
    )
    return [json.loads(line) for line in lines]


async def measure(*, embedder: str, clock: Clock, named: str = "dream") -> Figures:
    """Fill a store with the set, consolidate twice, and measure recall before and after the first run."""
    known = families(named)
    async with slept_in(embedder, clock) as context:
        await fill(context, known)
        before = await _ask_question(context, known)
        night = ConsolidationSettings(limits=Limits(changes=10_000, ratio=1.0))
        first = await _dream(context, night)
        after = await _ask_question(context, known)
        second = await _dream(context, night)
    return _figures(first, len(known), before, after, len(second.steps) + len(second.proposed))


async def _dream(context: Context, settings: ConsolidationSettings) -> RunResult:
    return await find_consolidator(DEFAULT_CONSOLIDATOR).dream(SCOPE, context, settings, probes=())


@asynccontextmanager
async def slept_in(embedder: str, clock: Clock) -> AsyncIterator[Context]:
    """Open an empty memory with the policy `open`."""
    container = await open_container(
        stores=("sqlite://",),
        embedder=embedder,
        embedder_key=None,
        floor=None,
        governance=Governance(policy="open"),
        clock=clock,
    )
    try:
        yield container.context
    finally:
        await container.close()


async def fill(context: Context, known: Sequence[Mapping[str, str]]) -> None:
    """Store all records in one change, as an import would; the records of a family are a day apart."""
    now = context.clock() - 60 * DAY_MS
    await keep(
        context,
        [
            record(family[kind], f"{number:02}-{kind}", now + at * DAY_MS)
            for number, family in enumerate(known)
            for at, kind in enumerate(KINDS)
        ],
    )


async def keep(context: Context, records: Sequence[Record]) -> None:
    """Store all records in one change."""
    puts = tuple(Put(record=one, base=Base.NOTHING) for one in records)
    change = Change(id=context.mint(), operation="import", scope=SCOPE, at=context.clock(), put=puts)
    (ready,) = await embed_changes([change], context)
    await context.store.write(ready)


def record(text: str, id: str, at: int) -> Record:
    return Record(id=id, scope=SCOPE, type=MemoryType.SEMANTIC, content=text, created_at=at, updated_at=at)


async def _ask_question(context: Context, known: Sequence[Mapping[str, str]]) -> tuple[float, int]:
    """Return the share of questions whose hits contain the current fact, and the count of outdated hits."""
    results = stale = 0
    for number, family in enumerate(known):
        answer = await recall(
            Recall(scope=SCOPE, query=family["question"], k=_DEPTH, min_relevance="off"), context
        )
        hits = {hit.id for hit in answer.hits}
        results += f"{number:02}-conflict" in hits
        stale += len(hits & {f"{number:02}-{kind}" for kind in _SAME})
    return results / len(known), stale


def _figures(
    first: RunResult, count: int, before: tuple[float, int], after: tuple[float, int], second: int
) -> Figures:
    merges = [
        (step.name, id, step.kept or "")
        for step in first.steps
        if step.name in (Pass.EXACT, Pass.NEAR, Pass.SEMANTIC)
        for id in step.ids
    ]
    right = [(id, kept) for _, id, kept in merges if _same(id, kept)]
    ended = [(id, step.kept or "") for step in first.steps if step.name is Pass.CONFLICT for id in step.ids]
    into = {id: kept for _, id, kept in merges}
    return Figures(
        records=count * len(KINDS),
        merged=len(merges),
        precision=round(len(right) / len(merges), 4),
        recall=round(len(right) / (2 * count), 4),
        found={kind: _join_pairs(kind, count, into) for kind in ("copy", "paraphrase")},
        conflicts_merged=sum("conflict" in id + kept for _, id, kept in merges),
        superseded=len(ended),
        superseded_right=sum(
            kept.endswith("conflict") and id.split("-")[0] == kept.split("-")[0] and id.split("-")[1] in _SAME
            for id, kept in ended
        ),
        recall_before=round(before[0], 4),
        recall_after=round(after[0], 4),
        stale_before=before[1],
        stale_after=after[1],
        second_night=second,
    )


def _same(id: str, kept: str) -> bool:
    (family, kind), (other, its) = id.split("-"), kept.split("-")
    return family == other and kind in _SAME and its in _SAME


def _join_pairs(kind: str, count: int, into: Mapping[str, str]) -> float:
    """Return the share of families in which this record and the fact became one memory."""
    ends = ((_end(f"{number:02}-{kind}", into), _end(f"{number:02}-fact", into)) for number in range(count))
    return round(sum(one == other for one, other in ends) / count, 4)


def _end(id: str, into: Mapping[str, str]) -> str:
    while id in into:
        id = into[id]
    return id


_MINUTE_MS = 60_000
_MERGES = (Pass.EXACT, Pass.NEAR, Pass.SEMANTIC)
_NIGHT = ConsolidationSettings(limits=Limits(changes=100_000, ratio=1.0))


class Updates(Struct, frozen=True, kw_only=True):
    """Counts on labelled updates: older memories that a run ended or proposed to end, and other steps."""

    records: int
    updates: int
    ended: int
    proposed: int
    others: int
    merged_others: int

    @property
    def precision(self) -> float | None:
        """The share of ended memories that are labelled; None if none ended."""
        all_ended = self.ended + self.others
        return self.ended / all_ended if all_ended else None


class Facts(Struct, frozen=True, kw_only=True):
    """Counts on distinct facts: how many were merged (wrongly) and superseded; and the share of questions
    whose answer is first, or among the first five, before and after."""

    corpus: str
    records: int
    merged: int
    superseded: int
    questions: int
    first: tuple[float, float]
    among: tuple[float, float]


async def updates(data: Path, *, embedder: str, clock: Clock) -> Updates:
    """Run consolidation on the memories of HaluMem's user."""
    [(_, user)] = read_lines(find(data, "halumem*/*.jsonl", "*halumem*.jsonl"))
    points = [point for session in user["sessions"] for point in session["memory_points"]]
    records, labelled = _tell_session(points)
    async with slept_in(embedder, clock) as context:
        await keep(context, records)
        done = await _dream(context, _NIGHT)
    ended = dict(_list_ended(done))
    right = {pair for pair in ended.items() if pair in labelled}
    proposed = {(id, step.kept or "") for _, step in done.proposed for id in step.ids}
    merged = {(id, step.kept) for step in done.steps if step.name in _MERGES for id in step.ids}
    return Updates(
        records=len(records),
        updates=len(labelled),
        ended=len(right),
        proposed=len(proposed & labelled),
        others=len(ended) - len(right),
        merged_others=len(merged - labelled),
    )


async def facts(data: Path, corpus: str, *, embedder: str, clock: Clock) -> Facts:
    """Run consolidation on one corpus of FactConsolidation."""
    document = read_json(find(data, "factconsolidation*.json.xz", "factconsolidation*.json"))
    texts = document["corpora"][corpus]
    [asked] = [one for one in document["sets"] if one["corpus"] == corpus and "_sh_" in one["name"]]
    began = clock() - len(texts) * _MINUTE_MS
    records = [record(text, f"{at:05}", began + at * _MINUTE_MS) for at, text in enumerate(texts)]
    async with slept_in(embedder, clock) as context:
        await keep(context, records)
        before = await _ask_all(context, asked)
        done = await _dream(context, _NIGHT)
        after = await _ask_all(context, asked)
    merged = sum(len(step.ids) for step in done.steps if step.name in _MERGES)
    return Facts(
        corpus=corpus,
        records=len(records),
        merged=merged,
        superseded=sum(len(step.ids) for step in done.steps) - merged,
        questions=len(asked["questions"]),
        first=(before[0], after[0]),
        among=(before[1], after[1]),
    )


def _tell_session(points: Sequence[Mapping[str, Json]]) -> tuple[list[Record], set[tuple[str, str]]]:
    """Return the memories in order, each text once, and the labelled pairs (older id, newer id)."""
    known: dict[str, Record] = {}
    labelled: set[tuple[str, str]] = set()
    for point in points:
        text = point["memory_content"]
        at = epoch_ms(point["timestamp"], DATE)
        known.setdefault(text, record(text, f"{len(known):05}", at))
        older = [known[said] for said in point["original_memories"] if said in known and said != text]
        labelled |= {(one.id, known[text].id) for one in older if str(point["is_update"]) == "True"}
    return list(known.values()), labelled


def _list_ended(done: RunResult) -> Iterator[tuple[str, str]]:
    return ((id, step.kept or "") for step in done.steps for id in step.ids)


async def _ask_all(context: Context, asked: Mapping[str, Json]) -> tuple[float, float]:
    """Return the share of questions answered by the first hit, and by one of the first five."""
    first = among = 0
    for question, answers in zip(asked["questions"], asked["answers"], strict=True):
        results = await recall(Recall(scope=SCOPE, query=question, k=_DEPTH, min_relevance="off"), context)
        says = [any(answer in hit.record.words for answer in answers) for hit in results.hits]
        first += says[:1] == [True]
        among += any(says)
    count = len(asked["questions"])
    return first / count, among / count
