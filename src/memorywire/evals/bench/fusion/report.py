"""What the sweep found, as lines, as JSON and as a page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from memorywire.evals.bench.fusion.overhead import Overhead
from memorywire.evals.bench.fusion.paper import Row
from memorywire.evals.bench.fusion.sweep import DEFENCES, Cell
from memorywire.evals.bench.report import markdown_table
from memorywire.model.record import Json

_SHOWN_QUALITY = 0.9
_SHOWN = ("rrf", "max", "weighted", "quorum f+1", "register", "register, rerank")


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionReport:
    """One run: the sweep, the paper's experiment, and what the router costs."""

    at: int
    machine: Mapping[str, str | int]
    seed: int
    queries: int
    cells: tuple[Cell, ...]
    paper: tuple[Row, ...]
    overhead: Overhead

    def json(self) -> dict[str, Json]:
        return asdict(self) | {"overhead": asdict(self.overhead) | {"more": self.overhead.more}}

    def sums(self) -> Iterator[Sequence[str]]:
        """Each defence at its worst."""
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
            "## Each defence at its worst",
            markdown_table(SUM_HEADERS, list(self.sums())),
            "## The paper's experiment",
            "Two honest stores, one rogue with K poisons on top: recall@5 / share of poison in the five.",
            markdown_table(("K", *_SHOWN), list(self._paper())),
            f"## Stores of quality {_SHOWN_QUALITY}",
            "Recall@5 / poison; for the id bump, recall@5 / share of pushed memories.",
            markdown_table(("attack", "n", "f", *_SHOWN), list(self._attacks())),
            "## What the router costs",
            self.cost().capitalize() + ".",
        ]
        return "\n\n".join(parts) + "\n"

    def _paper(self) -> Iterator[Sequence[str]]:
        found = {(row.poisons, row.defence): f"{row.recall:.2f} / {row.leak:.2f}" for row in self.paper}
        for poisons in sorted({row.poisons for row in self.paper}):
            yield (str(poisons), *(found[poisons, defence] for defence in _SHOWN))

    def _attacks(self) -> Iterator[Sequence[str]]:
        shown = [cell for cell in self.cells if cell.quality == _SHOWN_QUALITY]
        found = {(cell.attack, cell.stores, cell.rogues, cell.defence): cell for cell in shown}
        keys = dict.fromkeys((cell.attack, cell.stores, cell.rogues) for cell in shown)
        for attack, stores, rogues in sorted(keys):
            if rogues <= stores // 2:
                cells = [found[attack, stores, rogues, defence] for defence in _SHOWN]
                yield (attack, str(stores), str(rogues), *(_pair(cell) for cell in cells))


SUM_HEADERS = (
    "defence",
    "poison, any f < n",
    "recall lost, f = 1, n >= 3",
    "pushed, f = 1",
    "pushed, any f < n",
)

_ABOUT = """\
Made by `memorywire bench fusion` on {machine}.
The 100 facts of the microbenchmark, {queries} questions a cell, seed {seed}.
Honest stores rank as the reference store does; of quality q they miss each memory with probability 1 - q and
misjudge the others. Rogues answer first. `n` stores, `f` of them rogue, every f < n; attacks: invented
memories (each rogue its own, or all the same, or each repeated), real but irrelevant memories on top (id
bump), real ids with other words, memories of another tenant, scores of 3. Recall lost is against the honest
stores alone, joined in the same way."""


def _worst(cells: Sequence[Cell], of: Callable[[Cell], float]) -> str:
    worst = max(cells, key=of)
    return f"{of(worst):.3f} ({worst.attack}, q {worst.quality}, {worst.rogues} of {worst.stores})"


def _pair(cell: Cell) -> str:
    second = cell.bump if cell.attack == "id bump" else cell.leak
    return f"{cell.recall:.2f} / {second:.2f}"
