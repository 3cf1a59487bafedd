"""The figures of dreaming on the labelled set, as a page: python tools/dreaming.py [PAGE.md]."""

import asyncio
import sys
from pathlib import Path

from memorywire.evals.dreaming import Figures, measure
from memorywire.model.clock import system_clock

SETS = ("dream", "dream_second")


def page(each: list[Figures]) -> str:
    rows = [
        ("records in the set", [str(one.records) for one in each], ""),
        ("memories merged away", [str(one.merged) for one in each], ""),
        ("duplicate precision", [f"{one.precision:.3f}" for one in each], ">= 0.98"),
        ("duplicate recall", [f"{one.recall:.3f}" for one in each], ">= 0.80"),
        ("of copies", [f"{one.found['copy']:.3f}" for one in each], ""),
        ("of paraphrases", [f"{one.found['paraphrase']:.3f}" for one in each], ""),
        ("contradictions merged", [str(one.conflicts_merged) for one in each], "0"),
        ("superseded, and rightly so", [f"{one.superseded}, {one.superseded_right}" for one in each], ""),
        (
            "recall@5 before, after",
            [f"{one.recall_before:.3f}, {one.recall_after:.3f}" for one in each],
            "not lower",
        ),
        ("stale hits before, after", [f"{one.stale_before}, {one.stale_after}" for one in each], ""),
        ("stale hits fall by", [f"{one.stale_fall:.1%}" for one in each], ">= 70 %"),
        ("steps of a second night", [str(one.second_night) for one in each], "0"),
    ]
    lines = [f"| {name} | {' | '.join(values)} | {wanted} |" for name, values, wanted in rows]
    return "\n".join([f"| figure | {' | '.join(SETS)} | wanted |", "|---|---|---|---|", *lines, ""])


async def measured() -> list[Figures]:
    return [await measure(embedder="minilm", clock=system_clock, named=name) for name in SETS]


if __name__ == "__main__":
    told = page(asyncio.run(measured()))
    print(told)
    if len(sys.argv) > 1:
        file = Path(sys.argv[1])
        head, _, _ = file.read_text(encoding="utf-8").partition("| figure |")
        file.write_text(head + told, encoding="utf-8")
