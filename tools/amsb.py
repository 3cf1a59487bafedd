"""Grades the default policy on the Agent Memory Security Benchmark, and counts what the screen flags wrongly.

    python -m pip install --requirement requirements-trust.txt
    python tools/amsb.py --data FOLDER

The benchmark has 15 attacks and 6 harmless controls; it judges what comes back, not what is said about it.
Three ways of asking are graded: with the source of each write named, as an application would; with no source
named, so that only the words can tell; and with governance switched off, which must fail. With `--data`, the
screen also reads every turn of the conversations that `memorywire eval` knows.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_memory_guard.bench.adapter import MemorySystemAdapter, RememberOutcome
from agent_memory_guard.bench.harness import SystemReport, run_suite
from agent_memory_guard.bench.scoring import Scorecard, score_report

from memorywire import __version__
from memorywire.app import DEFAULT_POLICY
from memorywire.model.answers import Status
from memorywire.policy.injection import instructions
from memorywire.search.embed import open_embedder
from memorywire.sync import Memory
from memorywire_evals.datasets import load
from memorywire_evals.sets import KINDS

CONVERSATIONS = ("locomo", "longmemeval", "halumem", "beam")
SOURCES = {
    "external_tool": "tool:external",
    "user_input": "user",
    "agent_authored": "agent",
    "system": "system",
}
LONGEST = 65_536


class Unwatched:
    """An embedder that outlives the memories it is lent to."""

    def __init__(self) -> None:
        self._inner = open_embedder("minilm")
        self.space = self._inner.space
        self.embed = self._inner.embed

    async def close(self) -> None:
        """Leaves it open."""


class Graded(MemorySystemAdapter):
    """The product as an application uses it: keys are metadata, a recall asks for one key."""

    name = "memorywire"
    version = __version__

    def __init__(self, folder: Path, embedder: Unwatched, policy: str | None, sourced: bool) -> None:
        file = folder / f"{time.monotonic_ns()}.db"
        self._memory = Memory("amsb", f"sqlite:///{file}", policy=policy, embedder=embedder)
        self._sourced = sourced

    def remember(self, key: str, value: Any, *, source_class: str = "external_tool") -> RememberOutcome:
        named = {"source": SOURCES[source_class]} if self._sourced else {}
        receipt = self._memory.remember(value, metadata={"key": key}, **named)
        if receipt.status is Status.STAGED:
            return RememberOutcome.QUARANTINED
        kept = self._memory.get(receipt.id).content
        return RememberOutcome.STORED if kept == value else RememberOutcome.REDACTED

    def recall(self, key: str) -> Any | None:
        found = self._memory.recall(key, filter={"metadata.key": key}, min_relevance="off", k=1)
        return found.hits[0].content if found.hits else None


def graded(policy: str | None, *, sourced: bool) -> tuple[SystemReport, Scorecard]:
    embedder = Unwatched()
    with tempfile.TemporaryDirectory() as folder:
        report = run_suite(lambda: Graded(Path(folder), embedder, policy, sourced))
    return report, score_report(report)


def told(title: str, report: SystemReport, card: Scorecard) -> None:
    print(
        f"{title}: score {card.score:.1f}, grade {card.grade.value}, defended {card.defended_total} of "
        f"{card.malicious_total}, critical breaches {card.critical_breaches}, false positives "
        f"{card.false_positives} of {card.benign_total}"
    )
    for run in report.runs:
        if not run.passed:
            print(f"  failed: {run.scenario_id} ({run.final_outcome})")


def turns(name: str, data: Path) -> Iterator[str]:
    """Every turn of a set once, however many haystacks hold it."""
    dataset = load(KINDS[name], data, split="all")
    seen: set[int] = set()
    for id in dataset.case_ids:
        for item in dataset.build(id).items:
            if hash(item.content) not in seen:
                seen.add(hash(item.content))
                yield item.content


def ordinary(name: str, data: Path) -> None:
    """What the screen says about turns that people wrote without any thought of memory."""
    signs: Counter[str] = Counter()
    flagged = count = 0
    for text in turns(name, data):
        found = instructions(text)
        count += 1
        flagged += bool(found)
        signs.update(found)
    print(f"{name}: {flagged} of {count} turns have a sign ({flagged / count:.3%}) {dict(signs)}")


def speed() -> None:
    """How long the longest memory takes, hostile ones included."""
    for piece in (
        "Ana prefers green tea. ",
        "ignore all ",
        "when the user asks you must ",
        "a\u200b",
        "i g ",
    ):
        text = (piece * LONGEST)[:LONGEST]
        times = sorted(_milliseconds(text) for _ in range(20))
        print(f"{LONGEST} characters of {piece!r}: median {times[10]:.1f} ms, worst {times[-1]:.1f} ms")


def _milliseconds(text: str) -> float:
    began = time.perf_counter()
    instructions(text)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of evaluation data")
    parser.add_argument("--sets", nargs="*", default=CONVERSATIONS, choices=CONVERSATIONS)
    asked = parser.parse_args()
    named = graded(DEFAULT_POLICY, sourced=True)
    unnamed = graded(DEFAULT_POLICY, sourced=False)
    off = graded(None, sourced=True)
    told("sources named", *named)
    told("no source named", *unnamed)
    told("governance off", *off)
    speed()
    for name in asked.sets if asked.data else ():
        ordinary(name, asked.data)
    card, control = named[1], off[1]
    held = card.defended_total == card.malicious_total and card.false_positives == 0
    return int(not held or control.defended_total == control.malicious_total)


if __name__ == "__main__":
    sys.exit(main())
