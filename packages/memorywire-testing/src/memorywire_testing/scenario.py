"""Runs the language-neutral scenarios of the spec: one through any transport, or all on an HTTP endpoint.

docs/spec/scenarios.md describes the format.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

from memorywire.model.errors import MemorywireError, StoreUnavailable, Unauthenticated
from memorywire.model.record import Json
from memorywire.stores.remote.client import Link, locate
from memorywire.wire import spec
from memorywire_testing.expect import Broken
from memorywire_testing.report import Mark, Report, Result, attempt
from memorywire_testing.samples import HandClock, a_name

Call: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]


class Differs(AssertionError):
    """An answer is not what the scenario says."""


def run(scenario: Mapping[str, Any], call: Call, clock: HandClock) -> None:
    """Run every step, moving `clock` as the scenario says; raises Differs with the step that differs."""
    clock.now = scenario["clock"]
    saved: dict[str, Any] = {}
    for number, step in enumerate(scenario["steps"], 1):
        clock.now += step.get("advance_ms", 0)
        place = f"{scenario['name']}, step {number} ({step['operation']})"
        answer = problem = None
        try:
            answer = call(step["operation"], substitute(step["payload"], saved))
        except MemorywireError as error:
            problem = error.problem()
        difference = _find_difference(substitute(step, saved), answer, problem)
        if difference is not None:
            raise Differs(f"{place}: {difference}")
        for name, path in step.get("save", {}).items():
            saved[name] = reduce(
                lambda inner, key: inner[int(key)] if isinstance(inner, list) else inner[key],
                path.split("."),
                answer,
            )


def _find_difference(step: Mapping[str, Any], answer: Any, problem: Any) -> str | None:
    if "expect_problem" not in step:
        return f"unexpected problem {problem}" if problem else mismatch(step.get("expect", {}), answer)
    if problem is None:
        return f"expected problem {step['expect_problem']}, got the answer {answer}"
    return mismatch(step["expect_problem"], problem, "problem")


def substitute(value: Any, saved: Mapping[str, Any]) -> Any:
    """The value with every string that is exactly "${name}" replaced by the value saved under that name."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return saved[value[2:-1]]
    if isinstance(value, dict):
        return {key: substitute(inner, saved) for key, inner in value.items()}
    if isinstance(value, list):
        return [substitute(inner, saved) for inner in value]
    return value


def matches(fragment: Any, value: Any) -> bool:
    """Whether the value matches the fragment."""
    return mismatch(fragment, value) is None


_MISSING = object()


def mismatch(fragment: Any, value: Any, path: str = "answer") -> str | None:
    """The first difference between a fragment and a value, or None."""
    if isinstance(fragment, dict) and any(key.startswith("$") for key in fragment):
        return _find_first(_matcher(name, expected, value, path) for name, expected in fragment.items())
    if value is _MISSING:
        return f"{path} is missing"
    if isinstance(fragment, dict):
        if not isinstance(value, dict):
            return f"{path} is {value!r}, not an object"
        return _find_first(
            mismatch(part, value.get(key, _MISSING), f"{path}.{key}") for key, part in fragment.items()
        )
    if isinstance(fragment, list):
        if not isinstance(value, list) or len(value) != len(fragment):
            return f"{path} is {value!r}, expected {fragment!r}"
        pairs = zip(fragment, value, strict=True)
        return _find_first(mismatch(part, inner, f"{path}.{n}") for n, (part, inner) in enumerate(pairs))
    same = value == fragment and isinstance(value, bool) == isinstance(fragment, bool)
    return None if same else f"{path} is {value!r}, expected {fragment!r}"


def _matcher(name: str, wanted: Any, value: Any, path: str) -> str | None:
    items = value if isinstance(value, list) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    tests: Mapping[str, Callable[[], bool]] = {
        "$any": lambda: value is not _MISSING,
        "$absent": lambda: value is _MISSING,
        "$length": lambda: items is not None and len(items) == wanted,
        "$contains": lambda: any(matches(wanted, inner) for inner in items or ()),
        "$gte": lambda: is_number and value >= wanted,
        "$lte": lambda: is_number and value <= wanted,
    }
    text = "missing" if value is _MISSING else repr(value)
    return None if tests[name]() else f"{path} is {text}, expected {name} {wanted!r}"


def _find_first(differences: Iterable[str | None]) -> str | None:
    return next((difference for difference in differences if difference is not None), None)


GROUP = "wire"
_TIME_MIN = 10**12
_NEEDS = {"ties_break_by_id": "a clock that stands still"}
_OWN = frozenset({"agent_id", "id", "team"})
# These see or change what other agents hold: an erase would remove a real user of the same name.
_TENANT_WIDE = frozenset({"agents", "erase"})


async def examine_endpoint(url: str) -> Report:
    """Run every scenario that can run there, with agents and ids of their own; check answers by their schema.

    The endpoint has its own clock and policy, so scenarios that need another one are
    skipped. Raises StoreUnavailable or Unauthenticated if it cannot be asked.
    """
    link = Link(locate(url))
    try:
        await _check_reachable(link)
        results = [
            await _examine_scenario(name, scenario, link) for name, scenario in spec.scenarios().items()
        ]
    finally:
        await link.close()
    return Report(store=locate(url).host, results=tuple(results))


async def _check_reachable(link: Link) -> None:
    try:
        await link.post("/v0/capabilities", {})
    except (StoreUnavailable, Unauthenticated):
        raise
    except MemorywireError:
        return  # it answers; the scenarios tell whether the answers are right


async def _examine_scenario(name: str, scenario: dict[str, Json], link: Link) -> Result:
    needs = _find_need(scenario)
    if needs is not None:
        return Result(check=name, mark=Mark.SKIPPED, detail=f"needs {needs}", group=GROUP)
    loop = asyncio.get_running_loop()

    def call(operation: str, payload: dict[str, Json]) -> dict[str, Json]:
        request = asyncio.run_coroutine_threadsafe(link.post(f"/v0/{operation}", payload), loop)
        answer: dict[str, Json] = request.result()
        for fault in spec.shape(f"{operation}.response").faults(answer):
            raise Broken(f"the answer to {operation} breaks its schema: {fault}")
        return answer

    own = _make_unique(scenario, a_name("")[1:9])
    return await attempt(name, partial(asyncio.to_thread, run, own, call, HandClock(0)), GROUP)


def _find_need(scenario: dict[str, Json]) -> str | None:
    """What the scenario needs that a foreign endpoint cannot give; None if nothing."""
    if scenario.get("policy", "open") != "open":
        return "a policy of its own"
    if any("advance_ms" in step for step in scenario["steps"]):
        return "a clock that can be moved"
    if any(isinstance(value, int) and value >= _TIME_MIN for value in _list_values(scenario["steps"])):
        return "a clock that can be set"
    if any(step["operation"] in _TENANT_WIDE for step in scenario["steps"]):
        return "a memory without other users"
    if any(f"{step['operation']}.request" not in spec.schemas() for step in scenario["steps"]):
        return "an endpoint that takes operations by name"
    return _NEEDS.get(scenario["name"])


def _list_values(document: Json) -> Iterator[Json]:
    if isinstance(document, dict):
        for inner in document.values():
            yield from _list_values(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from _list_values(inner)
    else:
        yield document


def _make_unique(scenario: dict[str, Json], mark: str) -> dict[str, Json]:
    """The scenario with a mark on each of its agents and ids."""
    payloads = [step["payload"] for step in scenario["steps"] if isinstance(step["payload"], dict)]
    values = {value for payload in payloads for key, value in payload.items() if key in _OWN}
    names = {name for name in values if isinstance(name, str) and name and not name.startswith("${")}
    return {**scenario, "steps": _mark_names(scenario["steps"], names, mark)}


def _mark_names(document: Json, names: set[str], mark: str) -> Json:
    if isinstance(document, dict):
        return {key: _mark_names(value, names, mark) for key, value in document.items()}
    if isinstance(document, list):
        return [_mark_names(value, names, mark) for value in document]
    return f"{document}-{mark}" if isinstance(document, str) and document in names else document
