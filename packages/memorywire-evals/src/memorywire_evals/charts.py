"""Small charts as inline SVG: bars by category, lines over an axis. No script, no font, no network."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log2, log10

# Distinguishable for colour-blind people (Okabe and Ito).
COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#D55E00", "#999999", "#F0E442", "#882255"),
)

_WIDTH, _HEIGHT = 720, 376
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 28, 140
_SHORT = _HEIGHT - 70
"""The height of a chart whose labels are not slanted."""

_SLANT = -50

Points = Sequence[tuple[float, float]]


def bars(title: str, groups: Mapping[str, Mapping[str, float]], series: Sequence[str]) -> str:
    """Return a bar chart with a cluster per group and one bar per series, from 0 to 1."""
    inner = _WIDTH - _LEFT - _RIGHT
    slot = inner / max(len(groups), 1)
    width = slot * 0.8 / max(len(series), 1)
    shapes = []
    for place, (name, figures) in enumerate(groups.items()):
        start = _LEFT + place * slot + slot * 0.1
        for order, one in enumerate(series):
            if one in figures:
                top = _y(figures[one])
                shapes.append(
                    f'<rect x="{start + order * width:.1f}" y="{top:.1f}" width="{width * 0.92:.1f}" '
                    f'height="{_y(0) - top:.1f}" fill="{_colour(order)}">'
                    f"<title>{escape(f'{name}, {one}: {figures[one]:.3f}')}</title></rect>"
                )
        shapes.append(_slant_label(start + slot * 0.5, _HEIGHT - _BOTTOM + 14, name))
    return _chart(title, [*_grid(), *shapes, *_legend(series, _HEIGHT)])


def lines(title: str, curves: Mapping[str, Points], ticks: Sequence[float], axis: str, *, log: bool) -> str:
    """Return a line chart, the first curve on top; x spans the ticks, logarithmic if `log`, y from 0 to 1."""
    shapes = [_label(_x(tick, ticks, log), _HEIGHT - _BOTTOM + 16, f"{tick:g}", "middle") for tick in ticks]
    for order, (name, points) in reversed(list(enumerate(curves.items()))):
        path = " ".join(f"{_x(x, ticks, log):.1f},{_y(y):.1f}" for x, y in points)
        shapes.append(
            f'<polyline points="{path}" fill="none" stroke="{_colour(order)}" stroke-width="2">'
            f"<title>{escape(name)}</title></polyline>"
        )
    shapes.append(_label(_WIDTH / 2, _HEIGHT - _BOTTOM + 32, axis, "middle"))
    return _chart(title, [*_grid(), *shapes, *_legend(list(curves), _SHORT)], _SHORT)


def latencies(title: str, curves: Mapping[str, Points]) -> str:
    """Return a chart of milliseconds by number of memories, both axes logarithmic, a dot per measurement."""
    sizes = _powers([x for points in curves.values() for x, _ in points])
    times = _powers([y for points in curves.values() for _, y in points])

    def place(point: tuple[float, float]) -> tuple[float, float]:
        return _x(point[0], sizes, True), _y(_share(point[1], times))

    shapes = [_label(_x(size, sizes, True), _HEIGHT - _BOTTOM + 16, f"{size:,g}", "middle") for size in sizes]
    shapes += [_label(_LEFT - 6, _y(_share(time, times)) + 4, f"{time:g}", "end") for time in times]
    shapes += [_rule(_y(_share(time, times))) for time in times]
    for order, (name, points) in enumerate(curves.items()):
        places = [place(point) for point in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_colour(order)}"/>' for x, y in places
        )
        line = f'<polyline points="{path}" fill="none" stroke="{_colour(order)}" stroke-width="2"/>'
        shapes.append(f"<g><title>{escape(name)}</title>{line}{dots}</g>")
    shapes.append(_label(_WIDTH / 2, _HEIGHT - _BOTTOM + 32, "memories", "middle"))
    return _chart(title, [*shapes, *_legend(list(curves), _HEIGHT)])


def _powers(values: Sequence[float]) -> list[float]:
    """Return the powers of ten around the values, at least two."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _share(value: float, powers: Sequence[float]) -> float:
    return (log10(value) - log10(powers[0])) / (log10(powers[-1]) - log10(powers[0]))


def _rule(y: float) -> str:
    return f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'


def _chart(title: str, shapes: Sequence[str], height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
        f'<text x="{_LEFT}" y="16" class="title">{escape(title)}</text>{"".join(shapes)}</svg>'
    )


def _grid() -> list[str]:
    results = []
    for step in range(6):
        value, y = step / 5, _y(step / 5)
        results.append(_rule(y))
        results.append(_label(_LEFT - 6, y + 4, f"{value:.1f}", "end"))
    return results


def _legend(series: Sequence[str], height: int) -> list[str]:
    """Return rows of names with their colours, from the left; the last row at the bottom."""
    rows: list[list[str]] = [[]]
    x = float(_LEFT)
    for order, name in enumerate(series):
        width = 34 + 7 * len(name)
        if x + width > _WIDTH and rows[-1]:
            rows.append([])
            x = float(_LEFT)
        box = f'<rect x="{x:.0f}" y="-9" width="10" height="10" fill="{_colour(order)}"/>'
        rows[-1].append(box + _label(x + 14, 0, name, "start"))
        x += width
    bottoms = [height - 9 - 18 * above for above in range(len(rows))][::-1]
    return [
        f'<g transform="translate(0 {bottom})">{"".join(row)}</g>'
        for bottom, row in zip(bottoms, rows, strict=True)
    ]


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _slant_label(x: float, y: float, text: str) -> str:
    """Return a slanted label, which leaves room for its neighbours."""
    turned = f'transform="rotate({_SLANT} {x:.1f} {y:.1f})"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" {turned}>{escape(text)}</text>'


def _colour(order: int) -> str:
    return COLOURS[order % len(COLOURS)]


def _x(value: float, ticks: Sequence[float], log: bool) -> float:
    low, high, here = (log2(v) if log else v for v in (ticks[0], ticks[-1], value))
    return _LEFT + (here - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT - 20) + 10


def _y(value: float) -> float:
    return _TOP + (1 - value) * (_HEIGHT - _TOP - _BOTTOM)
