"""The figures of dreaming on the labelled sets and on data nobody fitted anything to, as a page.

python tools/dreaming.py [--data FOLDER] [PAGE.md]
"""

import argparse
import asyncio
from pathlib import Path

from memorywire.model.clock import system_clock
from memorywire_evals.consolidation import Facts, Figures, Updates, facts, measure, updates

SETS = ("dream", "dream_second")
CORPORA = ("6k", "32k", "64k")


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


def unseen(found: Updates, each: list[Facts]) -> str:
    """The second table: other people's data."""
    columns = [f"HaluMem | {' | '.join(f'FactConsolidation {one.corpus}' for one in each)} |"]
    rows = [
        ("records", found.records, [one.records for one in each]),
        ("labelled updates", found.updates, [""] * len(each)),
        ("of them the older one ended", found.ended, [""] * len(each)),
        ("of them proposed to a person", found.proposed, [""] * len(each)),
        ("ended besides", found.others, [""] * len(each)),
        ("share of what ended that is labelled", _share(found), [""] * len(each)),
        ("merged, though different", found.merged_others, [one.merged for one in each]),
        ("superseded", "", [one.superseded for one in each]),
        ("answer first, before and after", "", [f"{one.first[0]:.2f}, {one.first[1]:.2f}" for one in each]),
        (
            "answer among five, before and after",
            "",
            [f"{one.among[0]:.2f}, {one.among[1]:.2f}" for one in each],
        ),
    ]
    lines = [f"| {name} | {mine} | {' | '.join(map(str, theirs))} |" for name, mine, theirs in rows]
    return "\n".join([f"| unseen | {columns[0]}", "|---|---|" + "---|" * len(each), *lines, ""])


def _share(found: Updates) -> str:
    return "" if found.precision is None else f"{found.precision:.3f}"


async def measured_unseen(data: Path) -> tuple[Updates, list[Facts]]:
    found = await updates(data, embedder="minilm", clock=system_clock)
    return found, [await facts(data, one, embedder="minilm", clock=system_clock) for one in CORPORA]


async def measured() -> list[Figures]:
    return [await measure(embedder="minilm", clock=system_clock, named=name) for name in SETS]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with HaluMem and FactConsolidation")
    parser.add_argument("page", type=Path, nargs="?", help="a page whose tables are made anew")
    given = parser.parse_args()
    told = page(asyncio.run(measured()))
    if given.data is not None:
        told += "\n" + unseen(*asyncio.run(measured_unseen(given.data)))
    print(told)
    if given.page is not None:
        head, _, _ = given.page.read_text(encoding="utf-8").partition("| figure |")
        given.page.write_text(head + told, encoding="utf-8")
