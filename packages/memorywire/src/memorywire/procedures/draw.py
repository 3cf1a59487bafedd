"""Draws a procedure as Mermaid text or as SVG."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

from memorywire.procedures.definition import Definition, Transition


def label(way: Transition) -> str:
    """Return a transition in words: its trigger and its conditions."""
    guard = f" [{way.guard}]" if way.guard else ""
    return f"{way.trigger}{guard}{' (stays)' if way.dest is None else ''}"


def mermaid(definition: Definition) -> str:
    """Return a Mermaid `stateDiagram-v2`; deterministic for a definition."""
    # States get numbered ids because a name may be a keyword of Mermaid, such as `end`.
    ids = {state: f"s{number}" for number, state in enumerate(definition.states)}
    ways = definition.transitions
    lines = [
        "stateDiagram-v2",
        *(f'    state "{state}" as {id}' for state, id in ids.items()),
        f"    [*] --> {ids[definition.initial]}",
        *(f"    {ids[way.source]} --> {ids[way.target]} : {label(way)}" for way in ways),
        "    classDef current font-weight:bold,stroke-width:3px",
        f"    class {ids[definition.current]} current",
    ]
    return "\n".join(lines) + "\n"


_LETTER = 7.5
_LINE = 14
_HEIGHT = 36
_ROW_GAP = 64
_LANE = 30
_MARGIN = 48
_LABEL_MAX = 32
_STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#1b1f24}"
    ".way{fill:none;stroke:#57606a;stroke-width:1.3;marker-end:url(#tip)}"
    ".said{font-size:11px;fill:#57606a}"
    ".state{fill:#f6f8fa;stroke:#57606a}.current{fill:#ddf4ff;stroke:#0969da;stroke-width:2.5}"
)
_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" fill="#57606a"/></marker>'
)


class _Box(Struct, frozen=True):
    """The position of a state: its column, and the top left corner and width of its rectangle."""

    column: int
    x: float
    y: float
    width: float

    @property
    def centre(self) -> tuple[float, float]:
        return self.x + self.width / 2, self.y + _HEIGHT / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + _HEIGHT


class _Way(Struct, frozen=True):
    """A curve with its labels; `x` and `y` are the position of the first label."""

    path: str
    lines: Sequence[str]
    x: float
    y: float


def svg(definition: Definition) -> str:
    """Return a self-contained SVG; deterministic for a definition."""
    labels: dict[tuple[str, str], list[str]] = {}  # one curve for each pair of states
    for transition in definition.transitions:
        labels.setdefault((transition.source, transition.target), []).append(label(transition))
    boxes = _boxes(_columns(definition), labels)
    floor = max(box.bottom for box in boxes.values())
    ways, depth = [], floor
    for (source, dest), lines in labels.items():
        if boxes[dest].column < boxes[source].column or boxes[dest].column > boxes[source].column + 1:
            depth += _LANE + _LINE * (len(lines) - 1)
        ways.append(_way(boxes[source], boxes[dest], lines, depth))
    width = max(box.right for box in boxes.values()) + 3 * _MARGIN  # room for labels right of the last column
    height, first = depth + _MARGIN, boxes[definition.initial]
    rectangles = [
        f'<rect class="state{" current" if state == definition.current else ""}" x="{box.x:.1f}" '
        f'y="{box.y:.1f}" width="{box.width:.1f}" height="{_HEIGHT}" rx="8"/>'
        f'<text x="{box.centre[0]:.1f}" y="{box.centre[1] + 4:.1f}">{escape(state)}</text>'
        for state, box in boxes.items()
    ]
    title = escape(f"{definition.name}, in state {definition.current}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        f"<title>{title}</title><style>{_STYLE}</style><defs>{_TIP}</defs>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<path class="way" d="M{first.x - 22:.1f} {first.centre[1]:.1f}H{first.x:.1f}"/>',
        f'<circle cx="{first.x - 26:.1f}" cy="{first.centre[1]:.1f}" r="5"/>',
        *(f'<path class="way" d="{way.path}"/>' for way in ways),
        *rectangles,
        *(part for way in ways for part in _words(way)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _columns(definition: Definition) -> list[list[str]]:
    """Group the states by distance from the initial one; the last column has unreachable states."""
    leads: dict[str, list[str]] = {}
    for way in definition.transitions:
        leads.setdefault(way.source, []).append(way.target)
    columns = [[definition.initial]]
    states = {definition.initial: None}
    while columns[-1]:
        following = [dest for state in columns[-1] for dest in leads.get(state, ()) if dest not in states]
        columns.append(list(dict.fromkeys(following)))
        states |= dict.fromkeys(following)
    columns[-1] = [state for state in definition.states if state not in states]
    return [column for column in columns if column]


def _boxes(
    columns: Sequence[Sequence[str]], labels: Mapping[tuple[str, str], Sequence[str]]
) -> dict[str, _Box]:
    """Place the states: columns as wide as their widest state, spaced by the longest label, and centred."""
    longest = max((_width(_short(line)) for lines in labels.values() for line in lines), default=0.0)
    loops = max((len(lines) for (source, dest), lines in labels.items() if source == dest), default=0)
    tallest = max(len(column) for column in columns)
    boxes: dict[str, _Box] = {}
    left = 2.0 * _MARGIN
    for number, column in enumerate(columns):
        width = max(len(state) for state in column) * _LETTER + 24
        top = _MARGIN + loops * _LINE + (tallest - len(column)) * (_HEIGHT + _ROW_GAP) / 2
        for row, state in enumerate(column):
            boxes[state] = _Box(number, left, top + row * (_HEIGHT + _ROW_GAP), width)
        left += width + longest + _MARGIN
    return boxes


def _way(source: _Box, dest: _Box, lines: Sequence[str], low: float) -> _Way:
    """Draw loops above, ways to the next column directly, within a column at its side, others below."""
    (ax, ay), (bx, by) = source.centre, dest.centre
    rise = _LINE * (len(lines) - 1)
    if source == dest:
        path = f"M{ax - 14:.1f} {source.y:.1f}" + _bow(ax - 26, source.y - 30, ax + 26, source.y - 30)
        return _Way(f"{path} {ax + 14:.1f} {source.y:.1f}", lines, ax, source.y - 26 - rise)
    if dest.column == source.column + 1:
        middle = (source.right + dest.x) / 2
        path = f"M{source.right:.1f} {ay:.1f}" + _bow(middle, ay, middle, by)
        return _Way(f"{path} {dest.x:.1f} {by:.1f}", lines, middle, (ay + by - rise) / 2 + 4)
    if dest.column == source.column:
        out = max(source.right, dest.right) + 40
        path = f"M{source.right:.1f} {ay:.1f}" + _bow(out, ay, out, by)
        return _Way(f"{path} {dest.right:.1f} {by:.1f}", lines, out - 10, (ay + by - rise) / 2 + 4)
    handle = (4 * low - (source.bottom + dest.bottom) / 2) / 3  # so that the middle of the curve is at `low`
    path = f"M{ax:.1f} {source.bottom:.1f}" + _bow(ax, handle, bx, handle)
    return _Way(f"{path} {bx:.1f} {dest.bottom:.1f}", lines, (ax + bx) / 2, low + 4 - rise)


def _bow(ax: float, ay: float, bx: float, by: float) -> str:
    return f"C{ax:.1f} {ay:.1f} {bx:.1f} {by:.1f}"


def _words(way: _Way) -> Iterator[str]:
    """Yield the labels of a curve, one below the other; truncated labels have the full text as title."""
    for number, line in enumerate(way.lines):
        short, y = _short(line), way.y + number * _LINE
        wide = _width(short)
        whole = f"<title>{escape(line)}</title>" if line != short else ""
        left, top = way.x - wide / 2, y - 11
        yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="14" fill="#fff"/>'
        yield f'<text class="said" x="{way.x:.1f}" y="{y:.1f}">{whole}{escape(short)}</text>'


def _width(short: str) -> float:
    """Return the approximate width of a label."""
    return len(short) * _LETTER * 0.85


def _short(line: str) -> str:
    return line if len(line) <= _LABEL_MAX else f"{line[: _LABEL_MAX - 1]}…"
