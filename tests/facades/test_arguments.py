"""Every argument of every public method is checked: a bad value gives a problem that names a field."""

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from memorywire import Memory
from memorywire.client.harness import Harness, MemoryItem, Ranking
from memorywire.client.kv import KeyValue
from memorywire.client.layer import Layer
from memorywire.model.errors import ApprovalPending, MemorywireError
from memorywire.model.kv import Limits
from memorywire.sync import Memory as BlockingMemory

TEA: dict[str, Any] = {"name": "tea", "initial": "cold", "states": ["cold", "hot"]}
TEA["transitions"] = [["boil", "cold", "hot"]]

BAD: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    2**70,
    0.5,
    math.nan,
    math.inf,
    "",
    " ",
    "nothing of the kind",
    "\ud800",
    "\0",
    "x" * 70_000,
    b"bytes",
    (),
    [],
    ["nothing of the kind"],
    [None],
    [object()],
    {},
    {"nothing": "of the kind"},
    {"nothing": object()},
    {1: 2},
    object(),
    datetime(2026, 1, 1),
    datetime(2026, 1, 1, tzinfo=UTC),
    Path("/nothing/of/the/kind"),
)

GOOD: dict[str, Any] = {
    "content": "Ana likes tea",
    "items": ["Ana likes tea"],
    "query": "tea",
    "prompt": "tea",
    "canonical": "one",
    "duplicates": ["other"],
    "ids": ["one"],
    "id": "one",
    "change_id": "one",
    "borrower": "other",
    "share_id": "one",
    "policy": {"older_than_days": 1},
    "why": "because",
    "source": "web",
    "since": 0,
    "operation": "get",
    "payload": {"agent_id": "agent", "id": "one"},
    "proposal_id": "one",
    "proposal_ids": ["one"],
    "verb": "approve",
    "recall_id": "one",
    "memory_id": "one",
    "helped": "useful",
    "rules": [],
    "rule": {"name": "one", "when": {"operation": "remember"}, "then": "hold"},
    "name": "one",
    "user_id": "nobody",
    "key": "color",
    "value": "red",
    "values": {"color": "red"},
    "settings": [],
    "kind": "user",
    "prefix": "color",
    "limits": Limits(),
    "messages": [{"role": "user", "content": "I like tea"}],
    "event_id": "one",
    "item": MemoryItem(content="Ana likes tea"),
    "ranking": Ranking(),
    "hit": {"id": "one"},
    "trigger": "boil",
    "facts": {},
    "path": "/tmp/nothing/of/the/kind",
    "state": False,
}
"""A value for each argument that a method needs; those with a default are left to it."""

_FREE = frozenset({"close", "capabilities", "health"})
_OURS: Mapping[type, str] = {Memory: "memory", KeyValue: "kv", Layer: "layer", Harness: "harness"}


def find_methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, method in inspect.getmembers(kind, inspect.isfunction):
        if not name.startswith("_") and name not in _FREE:
            yield name, method


def list_arguments(method: Callable[..., Any]) -> list[str]:
    """The names of a method's arguments, with the options that its `**options` takes."""
    names: list[str] = []
    for name, parameter in list(inspect.signature(method).parameters.items())[1:]:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            options = getattr(parameter.annotation, "__args__", (None,))[0]
            names += list(get_type_hints(options)) if isinstance(options, type) else []
        else:
            names.append(name)
    return names


def needed(method: Callable[..., Any]) -> dict[str, Any]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    return {
        one.name: GOOD[one.name]
        for one in parameters
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }


_ASYNC_ONLY = frozenset({"keep_each"})

CASES = [
    pytest.param(kind, name, id=f"{_OURS[kind]}.{name}")
    for kind in _OURS
    for name, method in find_methods(kind)
    if list_arguments(method)
]


def give(method: Callable[..., Any], argument: str, value: object) -> Any:
    """The call with this value in the place of that argument."""
    given = needed(method) | {argument: value}
    by_place = [
        given.pop(one.name)
        for one in list(inspect.signature(method).parameters.values())[1:]
        if one.kind is one.POSITIONAL_ONLY and one.name in given
    ]
    return by_place, given


async def finish(answer: Any) -> None:
    """Run what the call gave to its end; an endless feed to its first step."""
    if inspect.isasyncgen(answer):
        step = asyncio.wait_for(anext(answer, None), 0.05)
        try:
            await step
        except TimeoutError:
            pass
        finally:
            await answer.aclose()
    elif inspect.isawaitable(answer):
        await answer


async def fails(call: Callable[[], Any]) -> str | None:
    """What is wrong with the way the call fails; None when it succeeds, or names the field."""

    async def run() -> None:
        await finish(call())

    (error,) = await asyncio.gather(run(), return_exceptions=True)
    if error is None or isinstance(error, ApprovalPending):
        return None
    if isinstance(error, MemorywireError):
        return None if error.field else f"{type(error).__name__} without a field: {error.detail}"
    return f"{type(error).__name__}: {error}"


async def find_faults(place: Any, method: Callable[..., Any], values: Iterable[object]) -> dict[str, str]:
    """How calls with bad arguments fail otherwise than they should, by argument and value."""
    faults = {}
    for argument in list_arguments(method):
        for value in values:
            by_place, given = give(method, argument, value)
            fault = await fails(lambda p=by_place, g=given: getattr(place, method.__name__)(*p, **g))
            if fault is not None:
                faults[f"{argument}={value!r:.60}"] = fault[:200]
    return faults


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_bad_argument_gives_a_problem_with_a_field(kind: type, name: str) -> None:
    async def run() -> dict[str, str]:
        async with Memory("agent", ["sqlite://"]) as memory:
            place = memory if kind is Memory else getattr(memory, _OURS[kind])
            return await find_faults(place, getattr(kind, name), BAD)

    assert asyncio.run(run()) == {}


@pytest.mark.parametrize(("kind", "name"), [one for one in CASES if one.values[1] not in _ASYNC_ONLY])
def test_the_blocking_client_refuses_the_same(kind: type, name: str) -> None:
    with BlockingMemory("agent", ["sqlite://"]) as memory:
        place = memory if kind is Memory else getattr(memory, _OURS[kind])
        values = (-1, "\ud800", [object()], object())
        assert asyncio.run(find_faults(place, getattr(kind, name), values)) == {}


INSIDE = [
    ("kv", "search", "rank", {"half_life_days": 0}, "rank.half_life_days"),
    ("kv", "search", "rank", {"semantic": -1}, "rank.semantic"),
    ("kv", "search", "rank", {"semantic": 0}, "rank"),
    ("kv", "search", "rank", {"weight": 1}, "rank.weight"),
    ("kv", "search", "dedup", {}, "dedup.mode"),
    ("kv", "search", "dedup", {"mode": "twice"}, "dedup.mode"),
    ("kv", "search", "dedup", {"mode": "drop", "threshold": 2}, "dedup.threshold"),
    ("kv", "search", "min_relevance", 2, "min_relevance"),
    ("kv", "search", "top_k", 51, "top_k"),
    ("kv", "list", "limit", 0, "limit"),
    ("kv", "set", "ttls", 1, "ttls"),
    ("kv", "of", "kind", "planet", "scope"),
    ("layer", "recall", "top_k", 51, "top_k"),
    ("layer", "recall", "min_relevance", 2.5, "min_relevance"),
    ("layer", "recall", "sources", ["fact", "rumour"], "sources"),
    ("layer", "add", "messages", [{"role": "user"}], "messages.0.content"),
    ("harness", "search", "k", 101, "k"),
    ("memory", "context", "budget", 0, "budget"),
    ("memory", "profile", "user_id", 5, "user_id"),
]
"""What has the right type and is wrong, and the field that the problem names."""


@pytest.mark.parametrize(("place", "name", "argument", "value", "field"), INSIDE)
def test_a_value_out_of_range_names_its_place(
    place: str, name: str, argument: str, value: object, field: str
) -> None:
    kind = {named: kind for kind, named in _OURS.items()}[place]

    async def run() -> str | None:
        async with Memory("agent", ["sqlite://"]) as memory:
            target = memory if kind is Memory else getattr(memory, place)
            by_place, given = give(getattr(kind, name), argument, value)
            with pytest.raises(MemorywireError) as caught:
                await finish(getattr(target, name)(*by_place, **given))
            return caught.value.field

    assert asyncio.run(run()) == field


@pytest.mark.parametrize("name", MemoryItem.__struct_fields__)
def test_a_bad_field_of_an_item_gives_a_problem_that_names_it(name: str) -> None:
    async def run() -> dict[str, str]:
        faults = {}
        async with Memory("agent", ["sqlite://"]) as memory:
            for value in BAD:
                item = MemoryItem(**{"content": "Ana likes tea", name: value})
                fault = await fails(lambda one=item: memory.harness.write(one))
                if fault is not None:
                    faults[repr(value)[:60]] = fault
        return faults

    assert asyncio.run(run()) == {}


def test_a_bad_trigger_or_fact_of_a_procedure_names_it() -> None:
    async def run() -> list[str | None]:
        async with Memory("agent", ["sqlite://"]) as memory:
            kept = await memory.remember(TEA, type="procedural")
            procedure = await memory.procedure(kept.id)
            fields = []
            for call in (
                lambda: procedure.trigger(5),
                lambda: procedure.trigger(["boil"]),
                lambda: procedure.trigger("boil", full="yes"),
                lambda: procedure.allowed(full=1),
            ):
                with pytest.raises(MemorywireError) as caught:
                    call()
                fields.append(caught.value.field)
            assert procedure.state == "cold"
            return fields

    assert asyncio.run(run()) == ["trigger", "trigger", "full", "full"]
