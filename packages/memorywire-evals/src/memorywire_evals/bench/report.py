"""The report of a benchmark: its figures as values, JSON, tables and a plot, and the targets."""

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from math import ceil, floor, log10
from pathlib import Path

import apsw
import numpy as np
from msgspec import Struct, to_builtins
from msgspec.structs import asdict

import memorywire_minilm
from memorywire import __version__
from memorywire.model.record import Json
from memorywire_evals.bench.timing import TURN, Spread
from memorywire_evals.charts import COLOURS
from memorywire_evals.tables import Target

REFERENCE = "reference"
ALONE = "the same user alone"
TENANT_ALONE = "the same tenant alone"
BOUND = "reading what stands for its vectors"
BARE = "a bare durable insert"
PLAIN = "a bare durable insert, SQLite as it comes"
WHOLE = "a durable insert of one row with all of it"
FLUSH = "a flush of 4 KB"
LEDGER_OFF = "the same with the ledger off"
UNWATCHED = "the same without policy, redaction and ledger"


class Latency(Struct, frozen=True, kw_only=True):
    """Our latency of one measure, and that of the comparison."""

    measure: str
    size: int
    ours: Spread
    other: Spread | None = None
    against: str = REFERENCE

    @property
    def ratio(self) -> float | None:
        """How many times faster our median is than the other."""
        return None if self.other is None else self.other.p50 / self.ours.p50

    def cells(self) -> Sequence[str]:
        other = ("", "") if self.other is None else (_ms(self.other.p50), _ms(self.other.p95))
        against = "" if self.other is None else self.against
        ours = (_ms(self.ours.p50), _ms(self.ours.p95))
        return (self.measure, f"{self.size:,}", *ours, *other, _times(self.ratio), against)


class Rate(Struct, frozen=True, kw_only=True):
    """Our rate per second in one measure, and that of the comparison."""

    measure: str
    size: int
    ours: float
    other: float | None = None
    against: str = REFERENCE

    @property
    def ratio(self) -> float | None:
        return None if self.other is None else self.ours / self.other

    def cells(self) -> Sequence[str]:
        other = "" if self.other is None else f"{self.other:,.0f}"
        against = "" if self.other is None else self.against
        return (self.measure, f"{self.size:,}", f"{self.ours:,.0f}", other, _times(self.ratio), against)


class Resident(Struct, frozen=True, kw_only=True):
    """The megabytes that a process holds after opening the file and recalling."""

    size: int
    mb: float


LATENCY_HEADERS = ("milliseconds", "memories", "p50", "p95", "its p50", "its p95", "faster", "against")
RATE_HEADERS = ("each second", "memories", "ours", "its", "faster", "against")


class Report(Struct, frozen=True, kw_only=True):
    """The results of one run, and its machine."""

    at: int
    machine: Mapping[str, str | int]
    reference: str
    rounds: int
    latencies: tuple[Latency, ...]
    rates: tuple[Rate, ...]
    resident: tuple[Resident, ...] = ()

    def json(self) -> dict[str, Json]:
        return {
            "at": self.at,
            "machine": dict(self.machine),
            "reference": self.reference,
            "rounds": self.rounds,
            "latencies_ms": [to_builtins(row) | {"ratio": row.ratio} for row in self.latencies],
            "rates_per_second": [to_builtins(row) | {"ratio": row.ratio} for row in self.rates],
            "resident_mb": [asdict(held) for held in self.resident],
        }

    def heading(self) -> Iterator[str]:
        yield ", ".join(f"{name} {value}" for name, value in self.machine.items())
        yield f"reference: {self.reference}"
        yield (
            f"{self.rounds} rounds, at most {TURN} of a side in turn; fewer where a scan takes seconds;"
            " k = 5; files on disk, WAL, synchronous FULL"
        )

    def footing(self) -> Iterator[str]:
        """Yield resident memory; the cost of a flush, the minimum of a durable write; and the cost of the
        ledger, whose limit is 1.35 times the time."""
        for held in self.resident:
            yield f"{held.size:,} memories: a process that opened them and recalled holds {held.mb:.0f} MB"
        for row in self.latencies:
            if row.measure == FLUSH:
                yield f"{row.size:,} memories: {FLUSH}, appended to a file, takes {_ms(row.ours.p50)} ms"
        for row in self.latencies:
            if row.against in (LEDGER_OFF, UNWATCHED) and row.other is not None:
                times = row.ours.p50 / row.other.p50
                yield f"{row.size:,} memories: a remember takes {times:.2f} times as long as {row.against}"

    def markdown(self) -> str:
        day = datetime.fromtimestamp(self.at / 1000, UTC).date()
        parts = [
            f"# Benchmark of {day}",
            "\n".join(f"- {line}" for line in self.heading()),
            markdown_table(LATENCY_HEADERS, [row.cells() for row in self.latencies]),
            markdown_table(RATE_HEADERS, [row.cells() for row in self.rates]),
            "\n".join(f"- {line}" for line in self.footing()),
        ]
        return "\n\n".join(parts) + "\n"


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in headers[1:-1]), "---"]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.2f}" if milliseconds < 100 else f"{milliseconds:.0f}"


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.1f} x" if ratio >= 1 else f"{ratio:.2f} x"


HEADERS = ("", "at least", "aim", "memorywire", "stands")


class _Asked(Struct, frozen=True, kw_only=True):
    """A target for a row, at one size or at all.

    The target is how many times as fast as the comparison it must be; or, with `less`, how many times as long
    it may take.
    """

    measure: str
    against: str
    size: int | None = None
    floor: float | None = None
    aim: float | None = None
    less: bool = False


_ASKED = (
    _Asked(measure="recall", against=REFERENCE, size=100, floor=10, aim=20),
    _Asked(measure="recall without embedding", against=REFERENCE, size=100_000, floor=10),
    _Asked(measure="recall without embedding", against=REFERENCE, size=1_000_000, floor=20),
    _Asked(measure="recall without embedding", against=BOUND, size=100_000, aim=2, less=True),
    _Asked(measure="recall without embedding", against=BOUND, size=1_000_000, aim=2, less=True),
    _Asked(measure="recall of a tenant", against=TENANT_ALONE, size=1_000_000, floor=1.5, aim=1.1, less=True),
    _Asked(measure="remember without embedding", against=BARE, floor=1.5, aim=1.2, less=True),
)
_RESIDENT = Target(label="megabytes of a process that recalls", where="", floor=1200, aim=700, less=True)
_RESIDENT_SIZE = 1_000_000


def figures(report: Report) -> Iterator[list[str]]:
    """Yield a row for each target that was measured."""
    for asked in _ASKED:
        for row in report.latencies:
            alike = row.measure.partition(" with ")[0] == asked.measure and row.against == asked.against
            if alike and row.ratio is not None and asked.size in (None, row.size):
                manner = "times as long as" if asked.less else "times as fast as"
                label = f"{row.size:,} memories: {row.measure}, {manner} {row.against}"
                target = Target(label=label, where="", floor=asked.floor, aim=asked.aim, less=asked.less)
                yield _cells(target, 1 / row.ratio if asked.less else row.ratio)
    for held in report.resident:
        if held.size == _RESIDENT_SIZE:
            yield _cells(_RESIDENT, held.mb)


def markdown(report: Report) -> str:
    """Return the report as Markdown, with the targets at its end."""
    rows = list(figures(report))
    return f"{report.markdown()}\n{markdown_table(HEADERS, rows)}\n" if rows else report.markdown()


def _cells(target: Target, figure: float) -> list[str]:
    bounds = ["" if bound is None else f"{bound:g}" for bound in (target.floor, target.aim)]
    shown = [f"<= {bound}" if target.less and bound else bound for bound in bounds]
    return [target.label, *shown, f"{figure:.2f}", target.verdict(figure)]


_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960, 520, 70, 390, 50, 60
_STYLE = "text{font:13px sans-serif;fill:#222}.grid{stroke:#ddd}polyline{fill:none;stroke-width:2}"


def chart(latencies: Sequence[Latency]) -> str:
    """Plot medians on two logarithmic axes: ours as lines, the reference's dashed in the same colour."""
    compared = [row for row in latencies if row.against == REFERENCE]
    scale = _Scale(compared)
    shapes = [*_grid(scale)]
    measures = dict.fromkeys(_general(row) for row in compared)
    for order, measure in enumerate(measures):
        rows = [row for row in compared if _general(row) == measure]
        colour = COLOURS[order % len(COLOURS)]
        ours = [(row.size, row.ours.p50) for row in rows]
        its = [(row.size, row.other.p50) for row in rows if row.other is not None]
        shapes += [_curve(scale, ours, colour, ""), _curve(scale, its, colour, ' stroke-dasharray="5 4"')]
        shapes += _name_row(_TOP + 22 * order, measure, colour)
    title = "milliseconds, median, by number of memories (dashed: the reference design)"
    shapes.append(_text(_LEFT, 24, title, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>{"".join(shapes)}</svg>\n'
    )


def _general(row: Latency) -> str:
    """Return the measure without the number of memories of a small user, which depends on the size."""
    return "recall of a small user, without embedding" if " a user with " in row.measure else row.measure


class _Scale:
    """Maps sizes and times to coordinates; the axes end at powers of ten."""

    def __init__(self, rows: Sequence[Latency]) -> None:
        sizes = [row.size for row in rows]
        times = [spread.p50 for row in rows for spread in (row.ours, row.other) if spread is not None]
        self.sizes = range(floor(log10(min(sizes))), ceil(log10(max(sizes))) + 1)
        self.times = range(floor(log10(min(times))), ceil(log10(max(times))) + 1)

    def x(self, size: float) -> float:
        return _LEFT + _share(size, self.sizes) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, milliseconds: float) -> float:
        return _HEIGHT - _BOTTOM - _share(milliseconds, self.times) * (_HEIGHT - _TOP - _BOTTOM)


def _share(value: float, powers: range) -> float:
    return (log10(value) - powers[0]) / max(len(powers) - 1, 1)


def _grid(scale: _Scale) -> Iterator[str]:
    for power in scale.times:
        y = scale.y(10**power)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
        yield _text(_LEFT - 8, y + 4, f"{10.0**power:g}", "end")
    for power in scale.sizes:
        yield _text(scale.x(10**power), _HEIGHT - _BOTTOM + 22, f"{10**power:,}", "middle")


def _curve(scale: _Scale, points: Sequence[tuple[int, float]], colour: str, dashes: str) -> str:
    places = [(scale.x(size), scale.y(milliseconds)) for size, milliseconds in points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    return f'<polyline points="{path}" stroke="{colour}"{dashes}/>{dots}'


def _name_row(y: float, measure: str, colour: str) -> Iterator[str]:
    """Yield a legend entry; the text is not coloured, because light colours are hard to read."""
    x = _WIDTH - _RIGHT + 16
    yield f'<rect x="{x}" y="{y - 10:.1f}" width="11" height="11" fill="{colour}"/>'
    yield _text(x + 18, y, measure, "start")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


_PROCESSORS = Path("/proc/cpuinfo")


def describe() -> dict[str, str | int]:
    """Return the machine, the versions, and the embedding kernel."""
    return {
        "memorywire": __version__,
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": np.__version__,
        "embedder": f"{memorywire_minilm.MODEL} {memorywire_minilm.REVISION}",
        "kernel": memorywire_minilm.kernels()[0],
        "load": _load(),
    }


def _cpu() -> str:
    """Return the model name of the processor where the system reports it."""
    if _PROCESSORS.is_file():
        for line in _PROCESSORS.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _load() -> str:
    """Return the load of the machine: figures of a busy one mean little."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
