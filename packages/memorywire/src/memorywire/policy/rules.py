"""Rules as data: conditions and a verdict, read from TOML tables or JSON objects with the same keys."""

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from memorywire.model.clock import DAY_MS
from memorywire.model.errors import BudgetExceeded, InvalidRequest
from memorywire.model.record import Json, MemoryType, Trust
from memorywire.model.requests import Owners
from memorywire.policy.patterns import fits, fold_case, names

E = TypeVar("E", bound=StrEnum)

NAME_MAX = 64
TEXT_MAX = 1024
LIST_MAX = 256
REVIEWERS_MAX = 16

APPROVAL = "approval_required"
INTENT = "privacy_intent"
SECRETS = "secrets"
DEFAULT = "default"
RESERVED = frozenset({APPROVAL, INTENT, SECRETS, DEFAULT})
"""Names that judgements use when no rule decided, so no rule may have them."""


class Verdict(StrEnum):
    """The verdict on a request, from the least to the most strict; `redact` applies to recalled memories."""

    ALLOW = "allow"
    REDACT = "redact"
    HOLD = "hold"
    REFUSE = "refuse"

    @property
    def tightness(self) -> int:
        return list(Verdict).index(self)


class Operation(StrEnum):
    """The operations that rules can apply to: everything that changes memory, and recall."""

    REMEMBER = "remember"
    RECALL = "recall"
    FORGET = "forget"
    MERGE = "merge"
    EXPIRE = "expire"
    UNDO = "undo"
    SHARE = "share"
    UNSHARE = "unshare"


class Condition(Struct, frozen=True, kw_only=True, dict=True):
    """All conditions that are set must hold; a list holds if one of its entries does.

    `unless` (written `not`) must fail. See `policy.patterns` for how texts are compared.
    """

    everything: bool | None = None
    operation: tuple[Operation, ...] = ()
    tenant: tuple[str, ...] = ()
    agent: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    caller: tuple[str, ...] = ()
    scope: tuple[Owners, ...] = ()
    type: tuple[MemoryType, ...] = ()
    source: tuple[str, ...] = ()
    trust: tuple[Trust, ...] = ()
    tags: tuple[str, ...] = ()
    content_contains: tuple[str, ...] = ()
    confidence_below: float | None = None
    contains_secret: bool | None = None
    looks_like_instruction: bool | None = None
    similar_to_existing: bool | None = None
    rejected_before: bool | None = None
    undoes_person: bool | None = None
    destructive: bool | None = None
    erases: bool | None = None
    by_filter: bool | None = None
    affects_at_least: int | None = None
    unless: "Condition | None" = None

    @cached_property
    def given(self) -> Mapping[str, Any]:
        """The conditions that are set, by name; cached, because every request needs them."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not None and value != ()}

    @cached_property
    def about_records(self) -> bool:
        """Whether any of the conditions applies to single memories."""
        inner = set() if self.unless is None else self.unless.given.keys()
        return not ABOUT_RECORDS.isdisjoint(self.given.keys() | inner)


class Rule(Struct, frozen=True, kw_only=True):
    """A verdict on cases that meet the condition. A learned rule was suggested from people's decisions.

    A request that the rule holds needs the approval of `reviewers` different people.
    """

    name: str
    verdict: Verdict
    when: Condition
    enabled: bool = True
    note: str = ""
    learned: bool = False
    reviewers: int = 1


ABOUT_RECORDS = frozenset({"type", "source", "trust", "tags", "content_contains", "confidence_below"})
"""Conditions on memories: one memory must meet all of them, not each a different one."""

_MUTATIONS = frozenset(Operation) - {Operation.RECALL}
_POSSIBLE: Mapping[str, frozenset[Operation]] = {
    **dict.fromkeys(ABOUT_RECORDS, _MUTATIONS),
    "looks_like_instruction": frozenset({Operation.REMEMBER, Operation.MERGE, Operation.UNDO}),
    "scope": frozenset({Operation.RECALL}),
    "similar_to_existing": frozenset({Operation.REMEMBER}),
    "rejected_before": frozenset({Operation.REMEMBER, Operation.MERGE}),
    "undoes_person": frozenset({Operation.UNDO}),
    "destructive": _MUTATIONS,
    "erases": frozenset({Operation.FORGET}),
    "by_filter": frozenset({Operation.FORGET, Operation.EXPIRE}),
    "affects_at_least": _MUTATIONS,
}
_COMPLETE: Mapping[str, type[StrEnum]] = {"operation": Operation, "type": MemoryType, "trust": Trust}
_NAMES = frozenset({"tenant", "agent", "user", "caller"})
_ALWAYS_THERE = _NAMES | {"source"}  # never missing, so "*" always matches
_BLANK = frozenset({"source", "user"})  # conditions in which "" means that there is none


def rule_from(data: Json) -> Rule:
    """Read a rule from a table or an object; raises InvalidRequest if it is invalid or can never match."""
    table = mapping(data, "rule")
    name = _name(table.get("name"), "rule.name")
    here = f"rule.{name}"
    keys = {"name", *_OWN, *_READERS}
    for key in table:
        if key not in keys:
            raise unknown_key(key, keys, f"{here}.{key}")
    if "verdict" not in table:
        raise InvalidRequest(f"rule {name} has no verdict", field=here, fix="write allow, hold or refuse")
    own = {key: read(table[key], f"{here}.{key}") for key, read in _OWN.items() if key in table}
    when = condition_from({key: table[key] for key in table if key not in _OWN and key != "name"}, here)
    rule = Rule(name=name, when=when, **own)
    _check_rule(rule, here)
    return rule


def rule_to(rule: Rule) -> dict[str, Json]:
    """Return the object that `rule_from` reads back as the same rule."""
    own: dict[str, Json] = {"name": rule.name, "verdict": str(rule.verdict)}
    plain = {"enabled": True, "note": "", "learned": False, "reviewers": 1}
    own |= {key: getattr(rule, key) for key, usual in plain.items() if getattr(rule, key) != usual}
    return own | condition_to(rule.when)


def condition_from(data: Json, place: str) -> Condition:
    table = mapping(data, place)
    for key in table:
        if key not in _READERS:
            raise unknown_key(key, _READERS, f"{place}.{key}")
    fields = {key: _READERS[key](value, f"{place}.{key}") for key, value in table.items()}
    return Condition(**{"unless" if key == "not" else key: value for key, value in fields.items()})


def condition_to(when: Condition) -> dict[str, Json]:
    document: dict[str, Json] = {}
    for name, value in when.given.items():
        if isinstance(value, Condition):
            document["not"] = condition_to(value)
        else:
            document[name] = [str(word) for word in value] if isinstance(value, tuple) else value
    return document


def _check_rule(rule: Rule, place: str) -> None:
    """Raise InvalidRequest for a rule that can never match, or matches everything without `everything`."""
    conditions = rule.when.given
    if rule.reviewers > 1 and rule.verdict is not Verdict.HOLD:
        detail = f"rule {rule.name} asks for reviewers, and holds nothing for them"
        raise InvalidRequest(detail, field=f"{place}.reviewers", fix='write verdict = "hold"')
    if rule.verdict is Verdict.REDACT:
        _check_redaction(rule, place)
        return
    if rule.when.everything and len(conditions) > 1:
        raise InvalidRequest(
            f"rule {rule.name} says everything and something besides",
            field=f"{place}.everything",
            fix="drop everything, or the other conditions",
        )
    if not any(_narrows(name, value) for name, value in conditions.items()):
        fix = "add a condition, or write everything = true if that is meant"
        raise InvalidRequest(f"rule {rule.name} matches everything", field=place, fix=fix)
    operations = rule.when.operation or tuple(_MUTATIONS)
    needs = [name for name, value in conditions.items() if name in _POSSIBLE and value is not False]
    if not any(all(operation in _POSSIBLE[name] for name in needs) for operation in operations):
        verbs = " or ".join(sorted(operations))
        detail = f"rule {rule.name} can never match: no {verbs} meets {' and '.join(needs)}"
        raise InvalidRequest(detail, field=place, fix="drop a condition, or name the operations it is about")
    if rule.when.unless is not None and implies(rule.when, rule.when.unless):
        detail = f"rule {rule.name} can never match: what it asks for is what its `not` rules out"
        raise InvalidRequest(detail, field=f"{place}.not", fix="drop one of the two")
    if rule.when.erases and rule.when.destructive is False:
        raise InvalidRequest(
            f"rule {rule.name} can never match: what erases is destructive", field=f"{place}.destructive"
        )


_REDACTING = ABOUT_RECORDS | {"operation", "tenant", "agent", "user", "caller", "scope", "unless"}


def _check_redaction(rule: Rule, place: str) -> None:
    """Raise InvalidRequest for a redacting rule with conditions that do not apply to recalled memories."""
    if rule.when.operation != (Operation.RECALL,):
        detail = f"rule {rule.name} redacts, and only what is recalled can be redacted"
        raise InvalidRequest(detail, field=f"{place}.operation", fix='write operation = ["recall"]')
    inner = {} if rule.when.unless is None else rule.when.unless.given
    for name in sorted((rule.when.given.keys() | inner.keys()) - _REDACTING):
        detail = f"rule {rule.name} redacts memories, which do not meet {name}"
        raise InvalidRequest(detail, field=f"{place}.{name}", fix=f"drop {name}")


def verdict_on_request(value: Json, place: str) -> Verdict:
    """Read a verdict on a request; raises InvalidRequest for `redact`, which applies only to memories."""
    verdict = one_of(Verdict, value, place)
    if verdict is Verdict.REDACT:
        raise InvalidRequest(f"{place} cannot be redact", field=place, fix="use one of: allow, hold, refuse")
    return verdict


def implies(inner: Condition, outer: Condition) -> bool:
    """Whether everything that meets `inner` also meets `outer`; False also if that is unknown."""
    if Operation.RECALL in inner.operation and Operation.RECALL not in outer.operation:
        return False
    if outer.everything:
        return True
    given = inner.given
    return all(name in given and _within(name, given[name], value) for name, value in outer.given.items())


def unknown_key(key: str, keys: Iterable[str], field: str) -> InvalidRequest:
    names = sorted(keys)
    near = get_close_matches(str(key), names, n=1, cutoff=0.7)
    fix = f"did you mean {near[0]}?" if near else f"known keys: {', '.join(names)}"
    return InvalidRequest(f"{field} is not a key here", field=field, fix=fix)


def one_of(kinds: type[E], value: Json, place: str) -> E:
    if not isinstance(value, str) or value not in list(kinds):
        raise InvalidRequest(
            f"{place} is not one of the allowed words", field=place, fix=f"use one of: {', '.join(kinds)}"
        )
    return kinds(value)


def flag(value: Json, place: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{place} is neither true nor false", field=place)
    return value


def texts(value: Json, place: str) -> tuple[str, ...]:
    """Read a list of at least one pattern; refuses blank ones where they could never match."""
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise InvalidRequest(f"{place} is not a list of texts", field=place, fix='write ["one", "two"]')
    if not value:
        raise InvalidRequest(
            f"{place} is empty, so it can never match", field=place, fix="name something, or leave it out"
        )
    if len(value) > LIST_MAX or any(len(word) > TEXT_MAX for word in value):
        raise InvalidRequest(f"{place} is too long (limit {LIST_MAX} of {TEXT_MAX} characters)", field=place)
    if place.rpartition(".")[2] not in _BLANK and not all(fold_case(word) for word in value):
        raise InvalidRequest(f"{place} has a blank entry", field=place, fix="leave it out")
    return tuple(value)


def count(value: Json, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidRequest(f"{place} is not a whole number from 1", field=place)
    return value


def _quorum(value: Json, place: str) -> int:
    if count(value, place) > REVIEWERS_MAX:
        raise InvalidRequest(f"{place} is not a whole number from 1 to {REVIEWERS_MAX}", field=place)
    return int(value)


def _narrows(name: str, value: Json) -> bool:
    if name in _COMPLETE:
        return set(value) != set(_COMPLETE[name])
    if name in _ALWAYS_THERE:
        return not any(word and not word.strip("*") for word in value)
    return True


def _within(name: str, inner: Json, outer: Json) -> bool:
    if name in ("confidence_below", "affects_at_least"):
        return bool(inner <= outer) if name == "confidence_below" else bool(inner >= outer)
    if name == "content_contains":
        return all(any(fold_case(part) in fold_case(word) for part in outer) for word in inner)
    if isinstance(inner, tuple):
        compare = names if name in _NAMES else fits
        return all(compare(outer, word) for word in inner)
    return bool(inner == outer)


def mapping(data: Json, place: str) -> Mapping[str, Json]:
    if not isinstance(data, Mapping):
        raise InvalidRequest(f"{place} is not a table of keys and values", field=place)
    return data


def _name(value: Json, place: str) -> str:
    text = note(value, place)
    if not 0 < len(text) <= NAME_MAX or text != text.strip():
        raise InvalidRequest(f"{place} is not a name of 1 to {NAME_MAX} characters", field=place)
    if text in RESERVED:
        raise InvalidRequest(f"{text} is a name that judgements use themselves", field=place, fix="rename it")
    return text


def note(value: Json, place: str) -> str:
    if not isinstance(value, str) or len(value) > TEXT_MAX or not value.isprintable():
        raise InvalidRequest(f"{place} is not a line of text", field=place)
    return value


def share(value: Json, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise InvalidRequest(f"{place} is not a number above 0 and up to 1", field=place)
    return float(value)


def _everything(value: Json, place: str) -> bool:
    if value is not True:
        raise InvalidRequest(f"{place} can only be true", field=place, fix="write true, or leave it out")
    return True


def _unless(value: Json, place: str) -> Condition:
    condition = condition_from(value, place)
    if not condition.given or condition.unless is not None or condition.everything:
        raise InvalidRequest(
            f"{place} is not a table of plain conditions", field=place, fix="one level of not, never empty"
        )
    return condition


def _several(kinds: type[E]) -> "_Reader":
    return lambda value, place: tuple(one_of(kinds, word, place) for word in texts(value, place))


_Reader: TypeAlias = Callable[[Json, str], Any]
_OWN: Mapping[str, _Reader] = {
    "verdict": lambda value, place: one_of(Verdict, value, place),
    "enabled": flag,
    "note": note,
    "learned": flag,
    "reviewers": _quorum,
}
_READERS: Mapping[str, _Reader] = {
    "everything": _everything,
    "operation": _several(Operation),
    "scope": _several(Owners),
    "type": _several(MemoryType),
    "trust": _several(Trust),
    **dict.fromkeys(("tenant", "agent", "user", "caller", "source", "tags", "content_contains"), texts),
    **dict.fromkeys(("contains_secret", "looks_like_instruction", "similar_to_existing"), flag),
    **dict.fromkeys(("destructive", "erases", "by_filter", "rejected_before", "undoes_person"), flag),
    "confidence_below": share,
    "affects_at_least": count,
    "not": _unless,
}


Slices: TypeAlias = tuple[tuple[int, int], ...]

MINUTE_MS = 60_000

# The number of slices per window. Usage expires with the end of its slice: never too early, and at most one
# slice late.
_SLICES = 60
_LIMITS = ("per_minute", "per_day")


class Budget(Struct, frozen=True, kw_only=True):
    """The most that may be spent in any minute and in any day; None means no limit."""

    per_minute: int | None = None
    per_day: int | None = None

    def __post_init__(self) -> None:
        for name in _LIMITS:
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
                raise InvalidRequest(f"{name} is not a whole number from 0", field=name)


def budget_from(data: Json, place: str) -> Budget:
    """Read a budget from a table such as `per_minute = 100`."""
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


class Usage(Struct, frozen=True, kw_only=True):
    """Recent usage as (start of a time slice, amount), oldest first."""

    minute: Slices = ()
    day: Slices = ()


def spend(budget: Budget, usage: Usage, n: int, now: int) -> Usage:
    """Return the usage after spending `n`; raises BudgetExceeded, spending nothing, if that is too much."""
    minute, day = _since(usage.minute, MINUTE_MS, now), _since(usage.day, DAY_MS, now)
    shortages = (
        _find_shortage(n, budget.per_minute, minute, MINUTE_MS, now),
        _find_shortage(n, budget.per_day, day, DAY_MS, now),
    )
    refusals = [one for one in shortages if one is not None]
    if refusals:
        raise max(refusals, key=lambda one: math.inf if one.retry_after is None else one.retry_after)
    return Usage(minute=_add_slice(minute, n, MINUTE_MS, now), day=_add_slice(day, n, DAY_MS, now))


def _since(slices: Slices, window: int, now: int) -> Slices:
    """Return the usage within the window that ends now.

    If the clock stepped back, usage in the future counts, so that no step refills a budget. Usage more than
    a window ahead was recorded with a wrong clock, and is dropped.
    """
    width = window // _SLICES
    return tuple(part for part in slices if now - window - width < part[0] <= now + window)


def _add_slice(slices: Slices, n: int, window: int, now: int) -> Slices:
    width = window // _SLICES
    start = now - now % width
    if n == 0:
        return slices
    if slices and slices[-1][0] >= start:
        return (*slices[:-1], (slices[-1][0], slices[-1][1] + n))
    return (*slices, (start, n))


def _find_shortage(n: int, limit: int | None, slices: Slices, window: int, now: int) -> BudgetExceeded | None:
    spent = sum(amount for _, amount in slices)
    if limit is None or spent + n <= limit:
        return None
    span = "minute" if window == MINUTE_MS else "day"
    if n > limit:
        return BudgetExceeded(
            f"{n} are more than the {limit} that may be recalled in a {span}",
            retry_after=None,
            fix="ask for fewer with a smaller k, or have the budget raised",
        )
    totals = accumulate(amount for _, amount in slices)
    # The first slice whose expiry frees enough; one exists, because an empty window has room for `n`.
    start = next(
        start for (start, _), freed in zip(slices, totals, strict=True) if freed >= spent + n - limit
    )
    wait = math.ceil((start + window // _SLICES + window - now) / 1000)
    return BudgetExceeded(
        f"{spent} of the {limit} that may be recalled in a {span} are spent",
        retry_after=wait,
        fix=f"try again in {wait} s, ask for fewer, or have the budget raised",
    )
