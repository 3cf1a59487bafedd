"""The `[dream]` table of a settings file: how memory is put in order."""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from memorywire.model.consolidation import OFF, PIN, ConsolidationSettings, Limits, Retention, Spending
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, MemoryType

T = TypeVar("T")

_MOMENT = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
_LONGEST = 86_400.0
_DIGITS = 9
_KINDS = ", ".join(MemoryType)

WANTED: Mapping[str, str] = {
    "keep": f"days by kind of memory, or 0 for ever, such as {{episodic = 90}}; kinds: {_KINDS}",
    "most": f"a number by kind of memory, or 0 for any, such as {{episodic = 5000}}; kinds: {_KINDS}",
    "half_life": "days, more than 0",
    "pins": 'a list of tags, such as ["pinned", "contract"]',
    "changes": "a number of memories, 1 or more",
    "ratio": "a share from 0 to 1",
    "seconds": "seconds, more than 0",
    "model": '"off", "openai+https://HOST/v1?model=NAME" or "anthropic+https://HOST/v1?model=NAME"',
    "tokens": "a number of tokens, 0 or more",
    "price": "what a million tokens cost, 0 or more",
    "cost": "what a run may cost, 0 or more",
    "promote": 'seconds, 0.1 or more, or "off"',
    "night": 'a time of day in UTC, such as "03:00", or "off"',
}
"""The keys of the table, and what each takes."""


def sleep_from(table: Mapping[str, Json], env: Mapping[str, str]) -> ConsolidationSettings:
    """What the table says; MEMORYWIRE_DREAM_MODEL and MEMORYWIRE_DREAM_KEY come from the environment."""
    unknown = sorted(set(table) - set(WANTED))
    if unknown:
        raise InvalidRequest(
            f"dream has an unknown key {unknown[0]!r}", field="dream", fix=f"known keys: {', '.join(WANTED)}"
        )
    usual = ConsolidationSettings()
    retention, limits = usual.retention, usual.limits
    return ConsolidationSettings(
        retention=Retention(
            days=by_kind(retention.days, _read(table, "keep", {}, _counts)),
            most=by_kind(retention.most, _read(table, "most", {}, _counts)),
            half_life_days=_read(table, "half_life", retention.half_life_days, _positive),
            pins=_read(table, "pins", retention.pins, _tags),
        ),
        limits=Limits(
            changes=_read(table, "changes", limits.changes, lambda value: _count(value) or None),
            ratio=_read(table, "ratio", limits.ratio, _share),
            seconds=_read(table, "seconds", limits.seconds, _positive),
        ),
        spending=Spending(
            tokens=_read(table, "tokens", usual.spending.tokens, _count),
            price=_read(table, "price", None, _amount),
            cost=_read(table, "cost", None, _amount),
        ),
        model=env.get("MEMORYWIRE_DREAM_MODEL") or _read(table, "model", usual.model, _text),
        key=env.get("MEMORYWIRE_DREAM_KEY"),
        promote=_switched(table, "promote", usual.promote, _pause),
        night=_switched(table, "night", usual.night, moment_of_day),
    )


def by_kind(usual: Mapping[MemoryType, int], said: Mapping[MemoryType, int]) -> dict[MemoryType, int]:
    """The usual numbers with those that were said; 0 takes a kind out."""
    return {kind: number for kind, number in {**usual, **said}.items() if number}


def moment_of_day(value: Json) -> int | None:
    """`03:00` as minutes after midnight."""
    found = _MOMENT.fullmatch(value) if isinstance(value, str) else None
    return None if found is None else 60 * int(found[1]) + int(found[2])


def _read(table: Mapping[str, Json], key: str, default: T, read: Callable[[Json], T | None]) -> T:
    if key not in table:
        return default
    value = read(table[key])
    if value is None:
        raise InvalidRequest(f"dream.{key} is {table[key]!r}", field="dream", fix=WANTED[key])
    return value


def _switched(
    table: Mapping[str, Json], key: str, default: T | None, read: Callable[[Json], T | None]
) -> T | None:
    return None if table.get(key) == OFF else _read(table, key, default, read)


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _amount(value: Json) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number < 10**_DIGITS else None


def _positive(value: Json) -> float | None:
    number = _number(value)
    return number if number is not None and 0 < number <= _LONGEST else None


def _pause(value: Json) -> float | None:
    number = _positive(value)
    return number if number is not None and number >= 0.1 else None


def _share(value: Json) -> float | None:
    number = _number(value)
    return number if number is not None and 0 <= number <= 1 else None


def _count(value: Json) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < 10**_DIGITS else None


def _counts(value: Json) -> dict[MemoryType, int] | None:
    sound = isinstance(value, Mapping) and set(value) <= set(MemoryType)
    if not sound or any(_count(number) is None for number in value.values()):
        return None
    return {MemoryType(kind): number for kind, number in value.items()}


def _tags(value: Json) -> frozenset[str] | None:
    """The tags, of which `pinned` is always one."""
    if not isinstance(value, list) or not all(isinstance(tag, str) and tag for tag in value):
        return None
    return frozenset({PIN, *value})


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None
