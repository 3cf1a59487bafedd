"""Runs `memorywire bench fusion`, and reports it as lines, JSON and a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, to_builtins

from memorywire.model.clock import Clock
from memorywire.model.record import Json
from memorywire.search.embed import open_embedder
from memorywire_evals.bench.fusion_attacks import DEFENCES, Cell, make_world, sweep
from memorywire_evals.bench.fusion_stores import Overhead, Read, compare, overhead
from memorywire_evals.bench.paper_fusion import HEADERS as PAPER_HEADERS
from memorywire_evals.bench.paper_fusion import Experiment, list_rows, run_paper
from memorywire_evals.bench.report import describe, markdown_table

_SHOWN_QUALITY = 0.9
_SHOWN = ("rrf", "max", "weighted", "quorum f+1", "register", "register, rerank", "embedded, rerank")


class FusionReport(Struct, frozen=True, kw_only=True):
    """One run: the sweep, the paper's experiment, the cost of the router, and ways to read several stores."""

    at: int
    machine: Mapping[str, str | int]
    seed: int
    queries: int
    cells: tuple[Cell, ...]
    paper: tuple[Experiment, ...]
    overhead: Overhead
    reads: tuple[Read, ...]

    def json(self) -> dict[str, Json]:
        document: dict[str, Json] = to_builtins(self)
        document["overhead"]["more"] = self.overhead.more
        return document

    def sums(self) -> Iterator[Sequence[str]]:
        """Yield the worst results of each defence."""
        for defence in DEFENCES:
            mine = [cell for cell in self.cells if cell.defence == defence.name]
            few = [cell for cell in mine if cell.rogues == 1 and cell.stores > 2]
            bumps = [cell for cell in mine if cell.attack == "id bump"]
            yield (
                defence.name,
                _worst(mine, lambda cell: cell.leak),
                _worst(few, lambda cell: cell.clean - cell.recall),
                _worst([cell for cell in bumps if cell.rogues == 1], lambda cell: cell.bump),
                _worst(bumps, lambda cell: cell.bump),
            )

    def figures(self) -> Iterator[Sequence[str]]:
        """Yield the limits that the default router must keep, and the measured figures."""
        safe = [cell for cell in self.cells if cell.defence in (*DEFAULT, "quorum f+1", "register")]
        yield _figure("poison, any f < n, with quorum or register", max(cell.leak for cell in safe), 0.0)
        for defence, where in zip(DEFAULT, ("no embedded store", "with one"), strict=True):
            ours = [cell for cell in self.cells if cell.defence == defence]
            few = [cell.clean - cell.recall for cell in ours if cell.rogues == 1 and cell.stores > 2]
            half = [c.bump for c in ours if c.attack == "id bump" and 2 * c.rogues <= c.stores]
            yield _figure(f"recall@5 lost, f = 1, n >= 3, {where}", max(few), 0.02)
            yield _figure(f"share of pushed memories, f <= n / 2, {where}", max(half), 0.1)
        anchored = [cell.bump for cell in self.cells if cell.defence == EMBEDDED]
        yield _figure("share of pushed memories, any f < n, with one", max(anchored), 0.1)
        yield _figure("router over its slowest store, p50, ms", self.overhead.more, self.overhead.allowed)
        lost = max(self._list_losses())
        yield _figure("recall@5 lost by one more store, microbenchmark", lost, 0.0)

    def _list_losses(self) -> Iterator[float]:
        recall = {read.way: read.recall for read in self.reads if read.dataset == "micro"}
        for fewer, more in (("sqlite", "2 alike, rerank"), ("2 alike, rerank", "3 alike, rerank")):
            yield recall[fewer] - recall[more]
        for alone in ("meanings", "graph", "words"):
            yield recall[alone] - recall["3 apart, rerank"]

    def reading(self) -> Iterator[Sequence[str]]:
        """Yield recall@5 and latency of each way to read, on both sets of questions."""
        results = {(read.way, read.dataset): read for read in self.reads}
        for way in dict.fromkeys(read.way for read in self.reads):
            both = [results[way, dataset] for dataset in ("micro", "oblique")]
            yield (
                way,
                str(both[0].stores),
                *(f"{read.recall:.3f}" for read in both),
                *(f"{read.p50:.1f}" for read in both),
            )

    def cost(self) -> str:
        of = self.overhead
        return (
            f"asking two stores of {of.memories:,} memories and joining them: p50 {of.joined.p50:.2f} ms, "
            f"the slowest of them {of.slowest.p50:.2f} ms: {of.more:+.2f} ms (allowed {of.allowed:.2f} ms)"
        )

    def markdown(self) -> str:
        day = datetime.fromtimestamp(self.at / 1000, UTC).date()
        machine = ", ".join(f"{name} {value}" for name, value in self.machine.items())
        parts = [
            f"# Fusion under attack, {day}",
            _ABOUT.format(queries=self.queries, seed=self.seed, machine=machine),
            "## What is promised, and what was measured",
            markdown_table(FIGURE_HEADERS, list(self.figures())),
            "## Each defence at its worst",
            markdown_table(SUM_HEADERS, list(self.sums())),
            "## The paper's experiment",
            PAPER_NOTE,
            markdown_table(PAPER_HEADERS, list(list_rows(self.paper))),
            f"## Stores of quality {_SHOWN_QUALITY}",
            "Recall@5 / poison; for the id bump, recall@5 / share of pushed memories.",
            markdown_table(("attack", "n", "f", *_SHOWN), list(self._attacks())),
            "## What the router costs",
            self.cost().capitalize() + ".",
            "## Ways to read several stores",
            _READING,
            markdown_table(READ_HEADERS, list(self.reading())),
        ]
        return "\n\n".join(parts) + "\n"

    def _attacks(self) -> Iterator[Sequence[str]]:
        shown = [cell for cell in self.cells if cell.quality == _SHOWN_QUALITY]
        results = {(cell.attack, cell.stores, cell.rogues, cell.defence): cell for cell in shown}
        keys = dict.fromkeys((cell.attack, cell.stores, cell.rogues) for cell in shown)
        for attack, stores, rogues in sorted(keys):
            if rogues <= stores // 2:
                cells = [results[attack, stores, rogues, defence] for defence in _SHOWN]
                yield (attack, str(stores), str(rogues), *(_pair(cell) for cell in cells))


PAPER_NOTE = (
    "Two honest stores, one rogue with K invented ids on top, by the formula alone: recall@5, share of "
    "invented ids in the five, share of gold lost."
)

SUM_HEADERS = (
    "defence",
    "poison, any f < n",
    "recall lost, f = 1, n >= 3",
    "pushed, f = 1",
    "pushed, any f < n",
)

FIGURE_HEADERS = ("figure", "measured", "allowed", "kept")

READ_HEADERS = ("way", "stores", "recall@5, micro", "recall@5, oblique", "p50 ms, micro", "p50 ms, oblique")

_READING = """\
The questions of the microbenchmark (`micro`) and the same facts asked in a roundabout way (`oblique`). Stores
that are alike rank by words and meaning; those apart know only meanings, only words, or are the graph.
`fusion` is by reciprocal ranks, `rerank` the default order, `rules` and `learned` ask the store of one kind.
The learned route has learned from the other set of questions."""

EMBEDDED = "embedded, rerank"
DEFAULT = ("register, rerank", EMBEDDED)
"""The default defences of a router: without an embedded store, and with one."""

_ABOUT = """\
Made by `memorywire bench fusion` on {machine}.
The 100 facts of the microbenchmark, {queries} questions a cell, seed {seed}; ten times as many draws where
a mean is promised, for one rogue among three or more and the default order: one question of 42 is 0.024.
Honest stores rank as the reference store does; of quality q they miss each memory with probability 1 - q and
misjudge the others. Rogues answer first. `n` stores, `f` of them rogue, every f < n; attacks: invented
memories (each rogue its own, or all the same, or each repeated), real but irrelevant memories on top (id
bump), real ids with other words, memories of another tenant, scores of 3. Recall lost is against the honest
stores alone, joined in the same way. With `rerank` the order is by evidence: that of the embedded store if
there is one, else what most stores say, else the memory read again here. It is the default."""


def _figure(name: str, measures: float, allowed: float) -> Sequence[str]:
    return name, f"{measures:.3f}", f"{allowed:.3f}", "yes" if measures <= allowed else "no"


def _worst(cells: Sequence[Cell], of: Callable[[Cell], float]) -> str:
    worst = max(cells, key=of)
    return f"{of(worst):.3f} ({worst.attack}, q {worst.quality}, {worst.rogues} of {worst.stores})"


def _pair(cell: Cell) -> str:
    second = cell.bump if cell.attack == "id bump" else cell.leak
    return f"{cell.recall:.2f} / {second:.2f}"


async def bench_fusion(
    *, queries: int, seed: int, rounds: int, folder: Path, clock: Clock, watch: Callable[[str], None]
) -> FusionReport:
    """Run the whole benchmark; the cost of the router is measured first, while nothing else runs."""
    with TemporaryDirectory(prefix="memorywire-fusion-", dir=folder) as place:
        watch("what the router costs")
        cost = await overhead(Path(place), rounds=rounds, clock=clock)
        reads = await compare(Path(place), clock=clock, watch=watch)
        paper = await run_paper(Path(place), clock=clock)
    embedder = open_embedder("minilm")
    world = await make_world(embedder)
    await embedder.close()
    return FusionReport(
        at=clock(),
        machine=describe(),
        seed=seed,
        queries=queries,
        cells=tuple(sweep(world, queries=queries, seed=seed, watch=watch)),
        paper=tuple(paper),
        overhead=cost,
        reads=tuple(reads),
    )
