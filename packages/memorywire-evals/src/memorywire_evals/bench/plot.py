"""The latencies of a benchmark over the number of memories, as one SVG that needs nothing else."""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from memorywire_evals.bench.report import REFERENCE, Latency
from memorywire_evals.plots import COLOURS

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960, 520, 70, 390, 50, 60
_STYLE = "text{font:13px sans-serif;fill:#222}.grid{stroke:#ddd}polyline{fill:none;stroke-width:2}"


def chart(latencies: Sequence[Latency]) -> str:
    """Medians on two logarithmic axes: ours as a line, the reference's of the same colour, dashed."""
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
        shapes += _named(_TOP + 22 * order, measure, colour)
    title = "milliseconds, median, by number of memories (dashed: the reference design)"
    shapes.append(_text(_LEFT, 24, title, "start"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>{"".join(shapes)}</svg>\n'
    )


def _general(row: Latency) -> str:
    """The measure without what its size says already: how many memories a small user has."""
    return "recall of a small user, without embedding" if " a user with " in row.measure else row.measure


class _Scale:
    """Where a size and a time stand on the paper; whole powers of ten at the edges."""

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


def _named(y: float, measure: str, colour: str) -> Iterator[str]:
    """A measure beside its colour: words in a light colour are hard to read."""
    x = _WIDTH - _RIGHT + 16
    yield f'<rect x="{x}" y="{y - 10:.1f}" width="11" height="11" fill="{colour}"/>'
    yield _text(x + 18, y, measure, "start")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
