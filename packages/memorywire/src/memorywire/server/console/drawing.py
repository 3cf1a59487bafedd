"""Small charts as numbers for SVG: drawn on the server, styled by classes alone."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 600, 120


@dataclass(frozen=True, slots=True)
class Column:
    """One day: where its column stands, how high it is, and what it says to whoever cannot see it."""

    x: float
    width: float
    y: float
    height: float
    day: int
    count: int
    said: str


@dataclass(frozen=True, slots=True)
class Columns:
    width: int
    height: int
    most: int
    total: int
    columns: tuple[Column, ...]


def columns(counts: Sequence[tuple[int, str, int]], today: int, days: int) -> Columns:
    """A column for each of the last `days`, from (day, what, count)."""
    by_day: dict[int, list[str]] = defaultdict(list)
    sums: dict[int, int] = defaultdict(int)
    for day, what, count in counts:
        by_day[day].append(f"{count} {what}")
        sums[day] += count
    shown = range(today - days + 1, today + 1)
    most = max((sums[day] for day in shown), default=0)
    step = WIDTH / days
    drawn = [_column(place, day, sums[day], most, step, by_day[day]) for place, day in enumerate(shown)]
    return Columns(WIDTH, HEIGHT, most, sum(sums[day] for day in shown), tuple(drawn))


def _column(place: int, day: int, count: int, most: int, step: float, parts: Sequence[str]) -> Column:
    high = 0.0 if not most else round(HEIGHT * count / most, 1)
    return Column(
        x=round(place * step + 1, 1),
        width=round(step - 2, 1),
        y=round(HEIGHT - high, 1),
        height=high,
        day=day,
        count=count,
        said=", ".join(parts),
    )
