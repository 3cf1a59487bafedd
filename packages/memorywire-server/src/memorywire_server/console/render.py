"""Templates and their filters, mainly to render texts of memories safely, as they are untrusted."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape
from msgspec import Struct

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import END_OF_CALENDAR, Json
from memorywire.policy.diff import visible
from memorywire_server.console.sessions import PATH

MOST_CHARS = 2_000
"""The most characters of a text on a page; the rest is behind a link."""

_ESCAPED = re.compile("((?:⟦U\\+[0-9A-F]{4,6}⟧)+)")  # neighbours share one element, which keeps pages small
_HIDDEN = Markup('<span class="esc">{}</span>')
_UNITS = ((DAY_MS, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


ICONS = {
    "/home": "M2 7.2 8 2l6 5.2V14h-4V9.5H6V14H2z",
    "/inbox": "M2 9l2-6h8l2 6v4.5H2zM2 9h3.5a2.5 2.5 0 0 0 5 0H14",
    "/memories": "M8 2l6 3-6 3-6-3zM2 8l6 3 6-3M2 11l6 3 6-3",
    "/map": "M1.500 3.500 6 2l4 1.500L14.500 2v10.500L10 14l-4-1.500L1.500 14zM6 2v10.500M10 3.500V14",
    "/people": "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14a5.5 5.5 0 0 1 11 0",
    "/workbench": "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.800 10.800 14.5 14.5",
    "/activity": "M1 8h3l2-5 4 10 2-5h3",
    "/dreams": "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
    "/policy": "M8 1.5l5.5 2V8c0 3-2.5 5.3-5.5 6.5C5 13.3 2.5 11 2.5 8V3.5z",
    "/health": "M8 14S2 10.5 2 6.2A3.2 3.2 0 0 1 8 4.600a3.2 3.2 0 0 1 6 1.600C14 10.5 8 14 8 14z",
    "/operations": "M2 5h7M13 5h1M2 11h1M7 11h7M11 3v4M5 9v4",
    "/agents": "M3 6h10v7H3zM8 6V3M6 9.5h.01M10 9.5h.01",
    "/operators": "M10 9a3.5 3.5 0 1 0-3.3-2.3L2 11.5V14h2.5l.5-1.5 1.5-.5 1-2.2A3.5 3.5 0 0 0 10 9z",
    "": "M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8z",
}
"""The SVG path of each section's icon, on a square of 16."""


def environment() -> Environment:
    """Build the template environment: everything is escaped, and an undefined name is an error."""
    templates = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    values = (number, moment, age, day, duration, size, plain, brief, gist, visible)
    templates.filters.update({one.__name__: one for one in values})
    templates.globals.update(untrusted=untrusted, static=static, root=PATH, icons=ICONS)
    return templates


def untrusted(
    text: Json, limit: int = MOST_CHARS, raw: str | None = None, *, is_visible: bool = False
) -> Markup:
    """Escape untrusted text so that it cannot add markup or change the text around it.

    Makes hidden and reordering characters visible, unless `is_visible`. Truncates a long text,
    with a link to all of it if `raw` is given.
    """
    whole = text if isinstance(text, str) else plain(text)
    cut = whole[:limit]
    parts = enumerate(_ESCAPED.split(cut if is_visible else visible(cut)))
    markup = Markup("").join(_HIDDEN.format(part) if at % 2 else part for at, part in parts)
    rest = Markup("")
    if len(whole) > limit:
        rest = Markup(' <span class="cut">… {} characters</span>').format(number(len(whole)))
        if raw is not None:
            rest += Markup(' <a class="cut" href="{}">all of it</a>').format(raw)
    return Markup('<bdi class="said">{}</bdi>{}').format(markup, rest)


def plain(value: Json) -> str:
    """Return a JSON value as readable text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def brief(value: Json) -> str:
    """Return a value on one line; a list of strings is joined with commas."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return plain(value)


def gist(value: Json) -> str:
    """Summarise a content on one line: for a procedure its name and its states."""
    match value:
        case {"name": str(name), "states": [*states]}:
            return f"{name}: {', '.join(brief(one) for one in states)}"
        case str():
            return value
    return json.dumps(value, ensure_ascii=False)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def moment(value: int | None, text: str | None = None) -> Markup:
    """Render a time in UTC, to the second; `text` is displayed instead, with the time as tooltip."""
    if value is None:
        return Markup("")
    if not 0 <= value < END_OF_CALENDAR:
        return escape(str(value))
    at = datetime.fromtimestamp(value // 1000, UTC)
    iso, utc = at.strftime("%Y-%m-%dT%H:%M:%SZ"), at.strftime("%Y-%m-%d %H:%M:%S")
    if text is None:
        return Markup('<time datetime="{}">{}</time>').format(iso, utc)
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(iso, utc, text)


def age(value: int, now: int) -> Markup:
    """Render how long ago a time was, with the time as tooltip."""
    since = now - value
    return moment(value, "now" if since < _UNITS[-1][0] else f"{duration(since)} ago")


def day(value: int) -> str:
    return datetime.fromtimestamp(value // 1000, UTC).strftime("%Y-%m-%d")


def day_ms(text: str, field: str) -> int:
    """Parse a day as of a date field into the time it begins."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError as error:
        raise InvalidRequest(f"{field} is a day", field=field, fix="for example 2026-05-31") from error


def size(value: int) -> str:
    """Format a size in the largest unit that fits."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if value >= 1000**power:
            return f"{value / 1000**power:,.1f} {unit}"
    return f"{value} bytes"


def duration(ms: int) -> str:
    """Format a duration in the largest unit that fits."""
    for size, unit in _UNITS:
        if abs(ms) >= size:
            return f"{ms // size} {unit}"
    return "now"


@cache
def asset(name: str) -> bytes | None:
    """Return a static file; None if there is none of this name."""
    path = files(__package__) / "static" / name
    return path.read_bytes() if "/" not in name and path.is_file() else None


@cache
def packed(name: str) -> bytes:
    """Return a static file compressed with gzip."""
    return gzip.compress(asset(name) or b"", mtime=0)


@cache
def static(name: str) -> str:
    """Return the URL of a static file with a hash of its content, so that it can be cached forever."""
    body = asset(name)
    if body is None:
        raise FileNotFoundError(f"no file {name} is shipped with the templates")
    return f"{PATH}/static/{name}?v={sha256(body).hexdigest()[:12]}"


def _source(name: str) -> Any:
    path = files(__package__) / "templates" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


_WIDTH, _HEIGHT, _LEFT, _FOOT = 720, 150, 36, 20
_MARKS = 7


class Column(Struct, frozen=True):
    """A column of a chart: position, parts from the bottom up as (y, height, series), and counts."""

    x: float
    width: float
    label: str
    title: str
    counts: tuple[int, ...]
    parts: tuple[tuple[float, float, int], ...]


class Chart(Struct, frozen=True, kw_only=True):
    """A chart of stacked columns over time, with the positions of its axes."""

    unit: str
    series: tuple[str, ...]
    columns: tuple[Column, ...]
    ticks: tuple[tuple[float, str], ...]
    marks: tuple[tuple[float, str], ...]
    total: int
    most: int
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    bottom: int = _HEIGHT - _FOOT


def chart(unit: str, labels: Sequence[str], series: Mapping[str, Sequence[int]]) -> Chart:
    """Build a chart with a column for each label; each series has its counts in the order of the labels."""
    bottom, most = _HEIGHT - _FOOT, max(map(sum, zip(*series.values(), strict=True)), default=0)
    top = _round_up(most)
    step = (_WIDTH - _LEFT) / max(1, len(labels))
    columns = []
    for place, label in enumerate(labels):
        counts = tuple(values[place] for values in series.values())
        said = ", ".join(f"{count:,} {name}" for name, count in zip(series, counts, strict=True) if count)
        parts, y = [], float(bottom)
        for kind, count in enumerate(counts):
            height = round((bottom - 8) * count / top, 1)
            y = round(y - height, 1)
            if count:
                parts.append((y, height, kind))
        x = round(_LEFT + place * step + step * 0.12, 1)
        columns.append(
            Column(x, round(step * 0.76, 1), label, f"{label}: {said or 'nothing'}", counts, tuple(parts))
        )
    every = max(1, -(-len(labels) // _MARKS))
    half = step / 2
    return Chart(
        unit=unit,
        series=tuple(series),
        columns=tuple(columns),
        ticks=tuple((round(bottom - (bottom - 8) * value / top, 1), number(value)) for value in _ticks(top)),
        marks=tuple(
            (round(_LEFT + place * step + half, 1), label)
            for place, label in enumerate(labels)
            if place % every == 0
        ),
        total=sum(map(sum, series.values())),
        most=most,
    )


def _round_up(most: int) -> int:
    """Round up to the end of an axis: the least round number not below `most`."""
    size = int(10 ** (len(str(most)) - 1))
    return next(top for top in range(2 * size, 11 * size, 2 * size) if top >= most)


def _ticks(top: int) -> tuple[int, ...]:
    return (top // 2, top)
