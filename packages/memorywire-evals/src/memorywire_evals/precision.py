"""Measures PrecisionMemBench in three tiers, each filled by filters and recall.

Pinned facts and open questions are listed by filter. The rest is recalled within the scopes of the case, with
the default floor. A case passes if every claim about every tier holds.
"""

from collections.abc import Sequence

from memorywire.model.record import Json
from memorywire.search.embed import Embedder
from memorywire_evals import metrics
from memorywire_evals.baselines import Baselines
from memorywire_evals.cases import Case, Expectation, Item, Question
from memorywire_evals.memory_under_test import MemoryUnderTest
from memorywire_evals.results import OURS, Row

# The baselines have no floor: they return their best hits.
RIVALS_RETURN = 5


async def examine_beliefs(
    case: Case, seat: MemoryUnderTest, rivals: Baselines | None, embedder: Embedder
) -> list[Row]:
    """Return a row for each question with an expectation."""
    items = {item.ref: item for item in case.items}
    return [
        await _row(case, question, question.expect, items, seat, rivals, embedder)
        for question in case.questions
        if question.expect is not None
    ]


async def _row(
    case: Case,
    question: Question,
    expect: Expectation,
    items: dict[str, Item],
    seat: MemoryUnderTest,
    rivals: Baselines | None,
    embedder: Embedder,
) -> Row:
    pinned = await _list_beliefs(
        seat, expect, {"metadata.pinned": True, "metadata.kind": {"ne": "open_question"}}
    )
    pinned = pinned[: expect.most]
    open_questions = await _list_beliefs(
        seat, expect, {"metadata.pinned": True, "metadata.kind": "open_question"}
    )
    results, ms = await _recall_beliefs(question, expect, pinned, seat)
    room = max(0, expect.most - len(pinned))
    figures = {OURS: _figures(expect, results[:room], pinned, open_questions)}
    if rivals is not None and question.text.strip():
        [vector] = await embedder.embed([question.text])
        for name, refs in rivals.rank(question.text, vector, len(items)).items():
            eligible = [ref for ref in refs if _eligible(items[ref], expect) and ref not in pinned]
            best = eligible[: min(room, RIVALS_RETURN)]
            figures[name] = _figures(expect, best, pinned, open_questions)
    return Row(
        case=case.id,
        question=question.id,
        category=question.category,
        gold=question.gold,
        kept=tuple(results[:room]),
        ms=ms,
        figures=figures,
    )


async def _list_beliefs(seat: MemoryUnderTest, expect: Expectation, wanted: dict[str, Json]) -> list[str]:
    page = await seat.memory.list(
        filter={**wanted, "metadata.resolved": False, "metadata.scope": {"in": list(expect.scopes)}},
        user_id=expect.user,
        limit=100,
    )
    return [record.id.removeprefix(seat.id("")) for record in page.items]


async def _recall_beliefs(
    question: Question,
    expect: Expectation,
    pinned: Sequence[str],
    seat: MemoryUnderTest,
) -> tuple[list[str], float | None]:
    if not question.text.strip() or not expect.most:
        return [], None
    heard = await seat.ask(
        question,
        k=expect.most,
        user_id=expect.user,
        filter={
            "metadata.kind": {"ne": "open_question"},
            "metadata.resolved": False,
            "metadata.scope": {"in": list(expect.scopes)},
        },
    )
    return [ref for ref in heard.refs if ref not in pinned], heard.ms


def _eligible(item: Item, expect: Expectation) -> bool:
    """Return whether the item passes the filters of the recall."""
    return (
        item.user == expect.user
        and item.metadata["kind"] != "open_question"
        and not item.metadata["resolved"]
        and bool(set(item.metadata["scope"]) & set(expect.scopes))
    )


def _figures(
    expect: Expectation, found: Sequence[str], pinned: Sequence[str], open_questions: Sequence[str]
) -> dict[str, float]:
    wanted = expect.only or ()
    claims = {
        "passed": float(_passes(expect, found, pinned, open_questions)),
        "precision": metrics.precision(found, wanted),
        "recall": metrics.recall(found, wanted),
    }
    return {name: value for name, value in claims.items() if value is not None}


def _passes(
    expect: Expectation, found: Sequence[str], pinned: Sequence[str], open_questions: Sequence[str]
) -> bool:
    return (
        (expect.only is None or set(found) == set(expect.only))
        and not set(expect.excluded) & {*found, *pinned}
        and set(expect.pinned) <= set(pinned)
        and not set(expect.not_pinned) & set(pinned)
        and set(expect.open) <= set(open_questions)
        and not set(expect.not_open) & set(open_questions)
    )
