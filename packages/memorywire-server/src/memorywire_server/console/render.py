"""Templates, and the few words every page prints: texts of memories above all, which are never trusted."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
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
"""How many characters of one text a page shows; the rest is behind a link."""

_ESCAPED = re.compile("((?:⟦U\\+[0-9A-F]{4,6}⟧)+)")  # neighbours share one element, which keeps pages small
_HIDDEN = Markup('<span class="esc">{}</span>')
_UNITS = ((DAY_MS, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


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
    templates.filters.update(
        number=number, moment=moment, day=day, duration=duration, plain=plain, brief=brief
    )
    templates.globals.update(untrusted=untrusted, static=static, root=PATH)
    return templates


def untrusted(
    text: Json, limit: int = MOST_CHARS, raw: str | None = None, *, is_visible: bool = False
) -> Markup:
    """Escape text from outside so that it stays text and stays in its place.

    Characters that hide or reorder are spelt out, unless they are already (`is_visible`). A long text is cut,
    with a link to all of it where there is one.
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
    """A JSON value as text, for people."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def brief(value: Json) -> str:
    """A value on one line: a list of texts as people write it."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return plain(value)


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def moment(value: int | None) -> Markup:
    """A time of the wire, in UTC, to the second."""
    if value is None:
        return Markup("")
    if not 0 <= value < END_OF_CALENDAR:
        return escape(str(value))
    at = datetime.fromtimestamp(value // 1000, UTC)
    return Markup('<time datetime="{}">{}</time>').format(
        at.strftime("%Y-%m-%dT%H:%M:%SZ"), at.strftime("%Y-%m-%d %H:%M:%S")
    )


def day(value: int) -> str:
    return datetime.fromtimestamp(value // 1000, UTC).strftime("%Y-%m-%d")


def day_ms(text: str, field: str) -> int:
    """The moment a day begins, as a date field gives it."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError as error:
        raise InvalidRequest(f"{field} is a day", field=field, fix="for example 2026-05-31") from error


def duration(ms: int) -> str:
    """How long, in the largest unit that fits."""
    for size, unit in _UNITS:
        if abs(ms) >= size:
            return f"{ms // size} {unit}"
    return "now"


@cache
def asset(name: str) -> bytes | None:
    """A file that pages refer to, if there is one of this name."""
    path = files(__package__) / "static" / name
    return path.read_bytes() if "/" not in name and path.is_file() else None


@cache
def static(name: str) -> str:
    """The address of such a file; another content has another address, so it may be kept for ever."""
    body = asset(name)
    if body is None:
        raise FileNotFoundError(f"no file {name} is shipped with the templates")
    return f"{PATH}/static/{name}?v={sha256(body).hexdigest()[:12]}"


def _source(name: str) -> Any:
    path = files(__package__) / "templates" / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


WIDTH, HEIGHT = 600, 120


class Column(Struct, frozen=True):
    """The bar of one day: its position, its height and its label."""

    x: float
    width: float
    y: float
    height: float
    day: int
    count: int
    label: str


class Columns(Struct, frozen=True):
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
    range_of_days = range(today - days + 1, today + 1)
    most = max((sums[day] for day in range_of_days), default=0)
    step = WIDTH / days
    bars = []
    for place, day in enumerate(range_of_days):
        high = round(HEIGHT * sums[day] / most, 1) if most else 0.0
        bars.append(
            Column(
                x=round(place * step + 1, 1),
                width=round(step - 2, 1),
                y=round(HEIGHT - high, 1),
                height=high,
                day=day,
                count=sums[day],
                label=", ".join(by_day[day]),
            )
        )
    return Columns(WIDTH, HEIGHT, most, sum(sums[day] for day in range_of_days), tuple(bars))
