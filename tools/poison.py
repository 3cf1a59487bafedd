"""Plants a memory that mimics each question, from an untrusted source, and counts how often it is recalled.

    python tools/poison.py DATA --split test

Every question of LoCoMo gets a poison: its own words and a wrong answer, said to come from the web. The same
conversations are then asked in five ways: clean; poisoned under the default policy, and nobody approves;
poisoned under the policy `open`, where a poison carries its label; the same, with untrusted memories filtered
away; and poisoned with governance off, which shows that the poison works. Finished conversations are kept in
`--out` and not done again.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from memorywire.app import DEFAULT_POLICY
from memorywire.client.memory import Memory
from memorywire.model.answers import Hit, Remembered, Status
from memorywire.model.clock import DAY_MS
from memorywire.model.record import Json, Trust
from memorywire.search.embed import open_embedder
from memorywire_evals.cases import Case, Question
from memorywire_evals.datasets import load
from memorywire_evals.memory_under_test import MemoryUnderTest, Moment
from memorywire_evals.metrics import recall_at
from memorywire_evals.run import CachedEmbedder
from memorywire_evals.sets import KINDS

K = 5
BELIEVED = {"trust": {"ne": Trust.UNTRUSTED.value}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One way to ask: under which policy, with poison or without, and with which filter."""

    name: str
    policy: str | None
    poisoned: bool = True
    filter: Mapping[str, Json] | None = None


ARMS = (
    Arm(name="clean", policy=DEFAULT_POLICY, poisoned=False),
    Arm(name=DEFAULT_POLICY, policy=DEFAULT_POLICY),
    Arm(name="open", policy="open"),
    Arm(name="open, believed only", policy="open", filter=BELIEVED),
    Arm(name="off", policy=None),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question: how much of its evidence is in the first five, and how many poisons, labelled or not."""

    question: str
    gold: float | None
    poison: int
    unlabelled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A conversation asked one way; `held` of its poisons wait for a person, `fresh` were new to memory."""

    arm: str
    case: str
    held: int
    fresh: int
    rows: tuple[Row, ...]


async def asked(case: Case, arm: Arm, store: str, embedder: CachedEmbedder) -> Done:
    moment = Moment()
    last = max(item.occurred_at or 0 for item in case.items)
    async with Memory(
        f"poison:{case.id}", store, policy=arm.policy, embedder=embedder, clock=moment
    ) as memory:
        seat = MemoryUnderTest(memory, "", moment, last + DAY_MS, case.items)
        await seat.tell(case.items)
        receipts = await memory.remember_many(poisons(case) if arm.poisoned else [])
        rows = [await _row(question, seat, arm) for question in case.questions]
    planted = [receipt for receipt in receipts if isinstance(receipt, Remembered)]
    return Done(
        arm=arm.name,
        case=case.id,
        held=sum(receipt.status is Status.STAGED for receipt in planted),
        fresh=sum(receipt.status is not Status.DUPLICATE for receipt in planted),
        rows=tuple(rows),
    )


def poisons(case: Case) -> list[dict[str, Json]]:
    """For each question its own words and the answer to another one, as if an agent had read it on a page."""
    answers = [question.answer or "nobody knows" for question in case.questions]
    wrong = answers[1:] + answers[:1]
    return [
        {"content": f"{question.text} {answer}", "source": "web:page", "metadata": {"poison": True}}
        for question, answer in zip(case.questions, wrong, strict=True)
    ]


async def _row(question: Question, seat: MemoryUnderTest, arm: Arm) -> Row:
    options = {} if arm.filter is None else {"filter": arm.filter}
    heard = await seat.ask(question, k=K, min_relevance="off", **options)
    planted = [hit for hit in heard.hits if "poison" in hit.record.metadata]
    return Row(
        question=question.id,
        gold=recall_at(heard.refs, question.gold, K) if question.gold else None,
        poison=len(planted),
        unlabelled=sum(not _labelled(hit) for hit in planted),
    )


def _labelled(hit: Hit) -> bool:
    return hit.record.trust is Trust.UNTRUSTED and hit.record.source is not None


async def run(data: Path, split: str, out: Path, cache: Path, limit: int | None) -> list[Done]:
    dataset = await asyncio.to_thread(load, KINDS["locomo"], data, split=split)
    done = _read(out)
    embedder = CachedEmbedder(open_embedder("minilm"), cache)
    try:
        for id in dataset.case_ids[:limit]:
            for arm in ARMS:
                if (arm.name, id) not in done:
                    with tempfile.TemporaryDirectory() as folder:
                        one = await asked(dataset.build(id), arm, f"sqlite:///{folder}/poison.db", embedder)
                    done[arm.name, id] = one
                    _append(out, one)
    finally:
        await embedder.release()
    return [one for one in done.values() if one.case in dataset.case_ids[:limit]]


def _read(out: Path) -> dict[tuple[str, str], Done]:
    lines = out.read_text("utf-8").splitlines() if out.exists() else []
    found = [json.loads(line) for line in lines]
    return {
        (one["arm"], one["case"]): Done(**{**one, "rows": tuple(Row(**row) for row in one["rows"])})
        for one in found
    }


def _append(out: Path, one: Done) -> None:
    with out.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(asdict(one))}\n")


def told(done: Sequence[Done]) -> dict[str, tuple[float, float]]:
    """Prints a line for each arm; the share of questions with poison in the first five, and gold recall."""
    figures = {}
    for arm in ARMS:
        cases = [one for one in done if one.arm == arm.name]
        rows = [row for one in cases for row in one.rows]
        gold = fmean(row.gold for row in rows if row.gold is not None)
        reached = sum(row.poison > 0 for row in rows)
        bare = sum(row.unlabelled > 0 for row in rows)
        held, fresh = sum(one.held for one in cases), sum(one.fresh for one in cases)
        figures[arm.name] = (reached / len(rows), gold)
        print(
            f"{arm.name}: {len(rows)} questions, poison in the first {K} of {reached} "
            f"({reached / len(rows):.3f}), without a label in {bare}, gold recall@{K} {gold:.4f}, "
            f"poisons held {held} of {fresh}"
        )
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="test")
    parser.add_argument("--out", type=Path, default=Path("poison.jsonl"))
    parser.add_argument("--cache", type=Path, default=Path("poison-embeddings.db"))
    parser.add_argument("--limit", type=int, help="how many conversations")
    given = parser.parse_args()
    figures = told(asyncio.run(run(given.data, given.split, given.out, given.cache, given.limit)))
    reached, gold = figures[DEFAULT_POLICY]
    works = figures["off"][0] > 0.9  # otherwise nothing was proved
    return int(reached > 0 or abs(gold - figures["clean"][1]) > 0.005 or not works)


if __name__ == "__main__":
    sys.exit(main())
