"""Budgets: how much may be recalled in any minute and in any day."""

import math
from typing import TypeAlias

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import BudgetExceeded, InvalidRequest
from memorywire.model.record import Json
from memorywire.model.values import dataclass
from memorywire.policy.rules import mapping, unknown_key

Slices: TypeAlias = tuple[tuple[int, int], ...]

MINUTE_MS = 60_000

# So fine are the windows cut. What was spent leaves with the last moment of its slice: never too early,
# late by one slice at most.
_SLICES = 60
_LIMITS = ("per_minute", "per_day")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that may be spent in any minute and in any day; None is no limit."""

    per_minute: int | None = None
    per_day: int | None = None

    def __post_init__(self) -> None:
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
                raise InvalidRequest(f"{name} is not a whole number from 0", field=name)


def budget_from(data: Json, place: str) -> Budget:
    """The budget a table describes, such as `per_minute = 100`."""
    table = mapping(data, place)
    for key in table:
        if key not in _LIMITS:
            raise unknown_key(key, _LIMITS, f"{place}.{key}")
    if not table:
        raise InvalidRequest(f"{place} limits nothing", field=place, fix=f"give {' or '.join(_LIMITS)}")
    return Budget(**table)


def budget_to(budget: Budget) -> dict[str, Json]:
    limits = {name: getattr(budget, name) for name in _LIMITS}
    return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What was spent lately: (start of a slice of time, how much), oldest first."""

    minute: Slices = ()
    day: Slices = ()


def spend(budget: Budget, usage: Usage, n: int, now: int) -> Usage:
    """The usage after spending `n`; raises BudgetExceeded, having spent nothing, when that is too much."""
    recent = _recent(usage, now)
    shortages = (
        _shortage(n, budget.per_minute, recent.minute, MINUTE_MS, now),
        _shortage(n, budget.per_day, recent.day, DAY_MS, now),
    )
    refusals = [one for one in shortages if one is not None]
    if refusals:
        raise max(refusals, key=lambda one: math.inf if one.retry_after is None else one.retry_after)
    return Usage(minute=_added(recent.minute, n, MINUTE_MS, now), day=_added(recent.day, n, DAY_MS, now))


def _recent(usage: Usage, now: int) -> Usage:
    return Usage(minute=_since(usage.minute, MINUTE_MS, now), day=_since(usage.day, DAY_MS, now))


def _since(spent: Slices, window: int, now: int) -> Slices:
    """What was spent within the window that ends now.

    After the clock stepped back, what lies ahead counts, so that no step refills a budget. What lies more
    than a window ahead was written by a wrong clock, and is dropped.
    """
    width = window // _SLICES
    return tuple(part for part in spent if now - window - width < part[0] <= now + window)


def _added(spent: Slices, n: int, window: int, now: int) -> Slices:
    width = window // _SLICES
    start = now - now % width
    if n == 0:
        return spent
    if spent and spent[-1][0] >= start:
        return (*spent[:-1], (spent[-1][0], spent[-1][1] + n))
    return (*spent, (start, n))


def _shortage(n: int, limit: int | None, spent: Slices, window: int, now: int) -> BudgetExceeded | None:
    if limit is None or _sum(spent) + n <= limit:
        return None
    span = "minute" if window == MINUTE_MS else "day"
    if n > limit:
        return BudgetExceeded(
            f"{n} are more than the {limit} that may be recalled in a {span}",
            retry_after=None,
            fix="ask for fewer with a smaller k, or have the budget raised",
        )
    wait = _wait(n, limit, spent, window, now)
    return BudgetExceeded(
        f"{_sum(spent)} of the {limit} that may be recalled in a {span} are spent",
        retry_after=wait,
        fix=f"try again in {wait} s, ask for fewer, or have the budget raised",
    )


def _wait(n: int, limit: int, spent: Slices, window: int, now: int) -> int:
    """Seconds until enough of what was spent has left the window."""
    excess = _sum(spent) + n - limit
    for start, amount in spent:
        excess -= amount
        if excess <= 0:
            return math.ceil((start + window // _SLICES + window - now) / 1000)
    raise AssertionError("unreachable: an empty window has room for what fits the limit")


def _sum(spent: Slices) -> int:
    return sum(n for _, n in spent)
