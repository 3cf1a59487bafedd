"""Runs the language-neutral scenarios of the spec: one through any transport, or all on an HTTP endpoint.

docs/spec/scenarios.md describes the format.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial, reduce
from typing import Any, TypeAlias

from memorywire.model.errors import MemorywireError, Refused, SecretLeakage, StoreUnavailable, Unauthenticated
from memorywire.model.record import Json
from memorywire.stores.remote.client import Link, locate
from memorywire.wire import spec
from memorywire_testing.expect import Broken
from memorywire_testing.report import Mark, Report, Result, attempt
from memorywire_testing.samples import HandClock, a_name

Call: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]


class Differs(AssertionError):
    """An answer differs from the scenario."""


def run(scenario: Mapping[str, Any], call: Call, clock: HandClock) -> None:
    """Run every step, moving `clock` as the scenario specifies. Raises Differs with the step that differs."""
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
    """Replace every string that is exactly "${name}" by the value saved under that name."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return saved[value[2:-1]]
    if isinstance(value, dict):
        return {key: substitute(inner, saved) for key, inner in value.items()}
    if isinstance(value, list):
        return [substitute(inner, saved) for inner in value]
    return value


def matches(fragment: Any, value: Any) -> bool:
    """Return whether the value matches the fragment."""
    return mismatch(fragment, value) is None


_MISSING = object()


def mismatch(fragment: Any, value: Any, path: str = "answer") -> str | None:
    """Return the first difference between a fragment and a value, or None."""
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
HOOK = "/v0/conformance"

_TIME_MIN = 10**12
_PROBE = {"clock": 1_760_000_000_000}
_NEEDS = {"ties_break_by_id": "a clock that stands still"}
_OWN = frozenset({"agent_id", "id", "team"})
# These read or change data of other agents: an erase would remove a real user of the same name.
_TENANT_WIDE = frozenset(
    {"agents", "erase", "rules", "set_rules", "test_rule", "activate_rule", "revert_rule"}
)
_ON_REQUEST = frozenset({"approval_required", "privacy_intent"})


async def examine_endpoint(url: str) -> Report:
    """Run the scenarios on an endpoint, and check its answers against their schemas.

    An endpoint with the hook of docs/spec/scenarios.md runs all of them. Any other has its own clock, rules
    and users, so scenarios that need different ones are skipped, and the rest use unique agents and ids.
    Raises StoreUnavailable or Unauthenticated if it cannot be called.
    """
    link = Link(locate(url))
    try:
        is_tested = await _has_hook(link)
        results = [
            await _examine_scenario(name, scenario, link, is_tested)
            for name, scenario in spec.scenarios().items()
        ]
    finally:
        await link.close()
    return Report(store=locate(url).host, results=tuple(results))


async def _has_hook(link: Link) -> bool:
    try:
        answer = await link.post(f"{HOOK}/begin", _PROBE)
    except (StoreUnavailable, Unauthenticated):
        raise
    except MemorywireError:
        return False  # it responds; the scenarios check whether the answers are right
    return bool(answer == _PROBE)


class _Endpoint:
    """Calls an endpoint from another thread; with the hook, its clock follows that of the scenario.

    `held_by` is the rule that held or refused a request that the scenario expects to pass.
    """

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop, clock: HandClock) -> None:
        self._link = link
        self._loop = loop
        self._clock = clock
        self._told: int | None = None
        self.held_by: str | None = None

    def begin(self, moment: int) -> None:
        """Begin a scenario with an empty memory and a stopped clock."""
        self._post(f"{HOOK}/begin", {"clock": moment})
        self._told = moment

    def call(self, operation: str, payload: dict[str, Json]) -> dict[str, Json]:
        if self._told is not None and self._clock.now != self._told:
            self._post(f"{HOOK}/advance", {"advance_ms": self._clock.now - self._told})
            self._told = self._clock.now
        try:
            answer = self._post(f"/v0/{operation}", payload)
        except (Refused, SecretLeakage):
            if "privacy_intent" not in payload:
                self.held_by = "a rule"
            raise
        if f"{operation}.response" not in spec.schemas():
            raise Broken(f"{operation} is not an operation, but was answered")
        for fault in spec.shape(f"{operation}.response").faults(answer):
            raise Broken(f"the answer to {operation} breaks its schema: {fault}")
        if answer.get("status") == "staged" and answer.get("rule") not in _ON_REQUEST:
            self.held_by = str(answer.get("rule"))
        return answer

    def _post(self, path: str, document: Json) -> dict[str, Json]:
        request = asyncio.run_coroutine_threadsafe(self._link.post(path, document), self._loop)
        answer: dict[str, Json] = request.result()
        return answer


async def _examine_scenario(name: str, scenario: dict[str, Json], link: Link, is_tested: bool) -> Result:
    needs = None if is_tested else _find_need(scenario)
    if needs is not None:
        return Result(check=name, mark=Mark.SKIPPED, detail=f"needs {needs}", group=GROUP)
    clock = HandClock(0)
    endpoint = _Endpoint(link, asyncio.get_running_loop(), clock)
    own = scenario if is_tested else _make_unique(scenario, a_name("")[1:9])

    def play() -> None:
        if is_tested:
            endpoint.begin(scenario["clock"])
        run(own, endpoint.call, clock)

    result = await attempt(name, partial(asyncio.to_thread, play), GROUP)
    if result.mark is Mark.FAILED and endpoint.held_by is not None and not is_tested:
        detail = f"needs a policy that lets it pass: {endpoint.held_by} did not"
        return Result(check=name, mark=Mark.SKIPPED, detail=detail, group=GROUP)
    return result


def _find_need(scenario: dict[str, Json]) -> str | None:
    """Return what the scenario needs and an endpoint in use cannot provide; None if nothing."""
    if any("advance_ms" in step for step in scenario["steps"]):
        return "a clock that can be moved"
    if any(isinstance(value, int) and value >= _TIME_MIN for value in _list_values(scenario["steps"])):
        return "a clock that can be set"
    if any(_sees_all(step) for step in scenario["steps"]):
        return "a memory without other users"
    return _NEEDS.get(scenario["name"])


def _sees_all(step: dict[str, Json]) -> bool:
    """Return whether a step reads or changes data of other agents."""
    is_queue = step["operation"] == "proposals" and "agent_id" not in step["payload"]
    return is_queue or step["operation"] in _TENANT_WIDE


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
    """Return the scenario with a suffix on each of its agents and ids."""
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
