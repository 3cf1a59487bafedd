"""What is asked of the speed: at least, aim, what was measured, and where that stands."""

from collections.abc import Iterator

from msgspec import Struct

from memorywire_evals.bench.report import BARE, BOUND, REFERENCE, TENANT_ALONE, Report, markdown_table
from memorywire_evals.targets import Target

HEADERS = ("", "at least", "aim", "memorywire", "stands")


class _Asked(Struct, frozen=True, kw_only=True):
    """A row that something is asked of, at one size or at every one.

    How many times as fast as what it stands beside it must be; or, with `less`, how many times as long it
    may take.
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
    """A row for everything that is asked for and was measured."""
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
    """The report as a page, with what is asked for at its end."""
    rows = list(figures(report))
    return f"{report.markdown()}\n{markdown_table(HEADERS, rows)}\n" if rows else report.markdown()


def _cells(target: Target, figure: float) -> list[str]:
    bounds = ["" if bound is None else f"{bound:g}" for bound in (target.floor, target.aim)]
    shown = [f"<= {bound}" if target.less and bound else bound for bound in bounds]
    return [target.label, *shown, f"{figure:.2f}", target.verdict(figure)]
