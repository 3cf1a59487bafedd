"""Examines a case: fills a memory, asks its own and foreign questions, and ranks with the baselines."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import numpy as np
from msgspec import Struct

from memorywire.model.errors import CapabilityUnsupported
from memorywire.search.embed import Embedder
from memorywire_evals.baselines import Baselines
from memorywire_evals.cases import Case, Item, Pair, Question
from memorywire_evals.memory_under_test import MemoryUnderTest, open_memory
from memorywire_evals.metrics import Key, default_figures, ranking_figures, recency_figures
from memorywire_evals.precision import examine_beliefs
from memorywire_evals.prompts import memory_share
from memorywire_evals.results import OURS, PUBLISHED, Examined, Row
from memorywire_evals.trajectories import Trajectory

DEPTH = 200
DEFAULT_K = 5


class Bench(Struct, frozen=True, kw_only=True):
    """The setup that all cases share; `set_name` is the prefix of agent names and memory ids.

    The steps of a case are added to `trajectory`, unless it is None.
    """

    set_name: str
    stores: tuple[str, ...]
    embedder: Embedder
    baselines: bool = True
    trajectory: Trajectory | None = None

    def open_memory(
        self, case: Case, *, agent: str | None = None
    ) -> AbstractAsyncContextManager[MemoryUnderTest]:
        """Open the memory of a case, with a separate agent unless one is named."""
        return open_memory(
            self.set_name,
            case,
            stores=self.stores,
            embedder=self.embedder,
            agent=agent,
            trajectory=self.trajectory,
        )


async def compare_pairs(case: Case, bench: Bench) -> list[Row]:
    """Measure each pair in a separate, empty memory."""
    rows = []
    for pair in case.pairs:
        agent = f"eval:{bench.set_name}:{case.id}:{pair.id}"
        alone = Case(id=f"{case.id}:{pair.id}", items=(), questions=())
        async with bench.open_memory(alone, agent=agent) as seat:
            figures = await _merge_rows(pair, seat)
        rows.append(
            Row(
                case=case.id,
                question=pair.id,
                category="contradiction" if pair.contradict else "copy",
                asked="pair",
                answerable=False,
                figures={OURS: figures},
            )
        )
    return rows


async def _merge_rows(pair: Pair, seat: MemoryUnderTest) -> dict[str, float]:
    """Measure whether the second was taken for the first, on write or in a recall without duplicates."""
    told = await seat.tell([Item(ref="first", content=pair.first, type="semantic")])
    told += await seat.tell([Item(ref="second", content=pair.second, type="semantic")])
    if told:
        return {"merged": 1.0, "merged.on-write": 1.0}
    figures = {"merged": 0.0, "merged.on-write": 0.0}
    question = Question(id=pair.id, text=pair.first, category="pair")
    try:
        heard = await seat.ask(question, asked="pair", k=2, min_relevance="off", dedup={"mode": "drop"})
    except CapabilityUnsupported:
        return figures
    merged = float(len(heard.refs) < 2)
    return figures | {"merged.on-recall": merged, "merged": merged}


async def examine(
    case: Case, foreign: Sequence[Question], bench: Bench, watch: Callable[[float], None]
) -> Examined:
    """Measure one case; `foreign` questions are about another case and have no answer here.

    `watch` gets the completed share; about half is remembering.
    """
    key = Key.of(case)
    async with bench.open_memory(case) as seat:
        began = time.perf_counter()
        shortfall = await seat.tell(case.items, watch=lambda kept: watch(kept / len(case.items) / 2))
        ingest_ms = (time.perf_counter() - began) * 1000
        rivals = await _rivals(case, bench) if bench.baselines and case.items else None
        plain = [question for question in case.questions if question.expect is None]
        rows: list[Row] = []
        for question in (*plain, *foreign):
            if len(rows) < len(plain):
                rows.append(await _own(case, question, key, seat, rivals, bench.embedder))
            else:
                rows.append(await _foreign(case, question, seat))
            watch(0.5 + len(rows) / (len(plain) + len(foreign)) / 2)
        rows += await examine_beliefs(case, seat, rivals, bench.embedder)
    if bench.trajectory is not None:
        for row in rows:
            bench.trajectory.add_row(row)
    pairs = await compare_pairs(case, bench)
    merged = sum(row.figures[OURS]["merged.on-write"] for row in pairs)
    return Examined(
        case=case.id,
        rows=(*rows, *pairs),
        items=len(case.items),
        skipped=case.skipped,
        shortfall=shortfall,
        ingest_ms=ingest_ms,
        writes=seat.writes + 2 * len(pairs),
        repeated=seat.repeated + round(merged),
    )


async def _rivals(case: Case, bench: Bench) -> Baselines:
    vectors = await bench.embedder.embed([item.meaning for item in case.items])
    refs, texts = [item.ref for item in case.items], (item.text for item in case.items)
    by_user = [item.metadata.get("role") == "user" for item in case.items]
    return await asyncio.to_thread(Baselines, refs, texts, vectors, by_user)


async def _own(
    case: Case,
    question: Question,
    key: Key,
    seat: MemoryUnderTest,
    rivals: Baselines | None,
    embedder: Embedder,
) -> Row:
    ranking = await seat.ask(question, k=DEPTH, min_relevance="off")
    kept = await seat.ask(question, k=DEFAULT_K)
    vector, *others = await embedder.embed([question.text, *(key.texts[ref] for ref in kept.refs)])
    figures = {OURS: ranking_figures(question, key, ranking.refs)}
    figures[OURS] |= default_figures(question, key, kept.refs, _cosines(vector, others))
    figures[OURS] |= recency_figures(question, key, ranking.refs)
    figures[OURS]["efficiency"] = memory_share(question, [key.lines[ref] for ref in kept.refs] or None)
    if rivals is not None:
        for name, refs in rivals.rank(question.text, vector, DEPTH).items():
            figures[name] = ranking_figures(question, key, refs) | recency_figures(question, key, refs)
    return Row(
        case=case.id,
        question=question.id,
        category=question.category,
        answerable=question.answerable,
        marks=question.marks,
        gold=question.gold,
        ranks=ranking.refs[:PUBLISHED],
        kept=kept.refs,
        relevance=ranking.relevance,
        ms=kept.ms,
        figures=figures,
    )


async def _foreign(case: Case, question: Question, seat: MemoryUnderTest) -> Row:
    best = await seat.ask(question, asked="foreign", k=1, min_relevance="off")
    kept = await seat.ask(question, asked="foreign", k=DEFAULT_K)
    return Row(
        case=case.id,
        question=question.id,
        category=question.category,
        asked="foreign",
        answerable=False,
        kept=kept.refs,
        relevance=best.relevance,
        ms=kept.ms,
    )


def _cosines(asked: bytes, others: Sequence[bytes]) -> list[float]:
    query = np.frombuffer(asked, "<f4")
    return [float(np.frombuffer(other, "<f4") @ query) for other in others]
