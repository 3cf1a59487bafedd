"""Dreaming on text that nobody fitted anything to: what a night ends there, held against the labels.

HaluMem says which memory updates which; whatever else is ended has no label. The facts of FactConsolidation
are all different; so whatever is merged was merged wrongly. Its questions say whether what holds is found.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorywire.consolidate.run import ConsolidationRun, dream
from memorywire.consolidate.steps import Pass, RunResult
from memorywire.model.clock import Clock
from memorywire.model.consolidation import Limits
from memorywire.model.record import Json, Record
from memorywire.model.requests import Recall
from memorywire.pipeline.context import Context
from memorywire.pipeline.recall import recall
from memorywire_evals.cases import epoch_ms
from memorywire_evals.datasets.files import find, read_json, read_lines
from memorywire_evals.datasets.halumem import DATE
from memorywire_evals.dreaming import SCOPE, keep, record, slept_in

_MINUTE_MS = 60_000
_MERGES = (Pass.EXACT, Pass.NEAR, Pass.SEMANTIC)
_NIGHT = ConsolidationRun(limits=Limits(changes=100_000, ratio=1.0))
_DEPTH = 5


class Updates(Struct, frozen=True, kw_only=True):
    """Of labelled updates: how many older memories a night ended, or proposed to, and what else it did."""

    records: int
    updates: int
    ended: int
    proposed: int
    others: int
    merged_others: int

    @property
    def precision(self) -> float | None:
        """The share of what ended that is labelled, if anything did."""
        all_ended = self.ended + self.others
        return self.ended / all_ended if all_ended else None


class Facts(Struct, frozen=True, kw_only=True):
    """Of facts that are all different: how many were merged all the same and how many superseded; the share
    of questions whose answer is first, or among the first five, before and after."""

    corpus: str
    records: int
    merged: int
    superseded: int
    questions: int
    first: tuple[float, float]
    among: tuple[float, float]


async def updates(data: Path, *, embedder: str, clock: Clock) -> Updates:
    """A night over the memories of HaluMem's user."""
    [(_, user)] = read_lines(find(data, "halumem*/*.jsonl", "*halumem*.jsonl"))
    points = [point for session in user["sessions"] for point in session["memory_points"]]
    records, labelled = _told(points)
    async with slept_in(embedder, clock) as context:
        await keep(context, records)
        done = await dream(SCOPE, context, _NIGHT)
    ended = dict(_ended(done))
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
    """A night over one corpus of FactConsolidation."""
    document = read_json(find(data, "factconsolidation*.json.xz", "factconsolidation*.json"))
    texts = document["corpora"][corpus]
    [asked] = [one for one in document["sets"] if one["corpus"] == corpus and "_sh_" in one["name"]]
    began = clock() - len(texts) * _MINUTE_MS
    records = [record(text, f"{at:05}", began + at * _MINUTE_MS) for at, text in enumerate(texts)]
    async with slept_in(embedder, clock) as context:
        await keep(context, records)
        before = await _answered(context, asked)
        done = await dream(SCOPE, context, _NIGHT)
        after = await _answered(context, asked)
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


def _told(points: Sequence[Mapping[str, Json]]) -> tuple[list[Record], set[tuple[str, str]]]:
    """The memories in the order they were made, each text once, and which is updated by which."""
    known: dict[str, Record] = {}
    labelled: set[tuple[str, str]] = set()
    for point in points:
        text = point["memory_content"]
        at = epoch_ms(point["timestamp"], DATE)
        known.setdefault(text, record(text, f"{len(known):05}", at))
        older = [known[said] for said in point["original_memories"] if said in known and said != text]
        labelled |= {(one.id, known[text].id) for one in older if str(point["is_update"]) == "True"}
    return list(known.values()), labelled


def _ended(done: RunResult) -> Iterator[tuple[str, str]]:
    return ((id, step.kept or "") for step in done.steps for id in step.ids)


async def _answered(context: Context, asked: Mapping[str, Json]) -> tuple[float, float]:
    """The share of questions whose answer is said by the first memory, and by one of the first five."""
    first = among = 0
    for question, answers in zip(asked["questions"], asked["answers"], strict=True):
        found = await recall(Recall(scope=SCOPE, query=question, k=_DEPTH, min_relevance="off"), context)
        says = [any(answer in hit.record.words for answer in answers) for hit in found.hits]
        first += says[:1] == [True]
        among += any(says)
    count = len(asked["questions"])
    return first / count, among / count
