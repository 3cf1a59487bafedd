"""Runs one language-neutral scenario through any door; docs/spec/scenarios.md is the format."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from memorywire.model.errors import MemorywireError

Call: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]


class Differs(AssertionError):
    """An answer is not what the scenario says."""


class Ticker:
    """A clock that stands still until it is told to move."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def run(scenario: Mapping[str, Any], call: Call, clock: Ticker) -> None:
    """Take every step, moving `clock` as the scenario says; Differs names the step that does."""
    clock.now = scenario["clock"]
    saved: dict[str, Any] = {}
    for number, step in enumerate(scenario["steps"], 1):
        clock.now += step.get("advance_ms", 0)
        place = f"{scenario['name']}, step {number} ({step['operation']})"
        answer, problem = _take(call, step["operation"], substitute(step["payload"], saved))
        difference = _difference(substitute(step, saved), answer, problem)
        if difference is not None:
            raise Differs(f"{place}: {difference}")
        for name, path in step.get("save", {}).items():
            saved[name] = _read(answer, path)


def _take(call: Call, operation: str, payload: dict[str, Any]) -> tuple[Any, Any]:
    try:
        return call(operation, payload), None
    except MemorywireError as error:
        return None, error.problem()


def _difference(step: Mapping[str, Any], answer: Any, problem: Any) -> str | None:
    if "expect_problem" in step:
        if problem is None:
            return f"expected problem {step['expect_problem']}, got the answer {answer}"
        return mismatch(step["expect_problem"], problem, "problem")
    return f"unexpected problem {problem}" if problem else mismatch(step.get("expect", {}), answer)


def substitute(value: Any, saved: Mapping[str, Any]) -> Any:
    """The value with every string that is exactly "${name}" replaced by what was saved under that name."""
    if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
        return saved[value[2:-1]]
    if isinstance(value, dict):
        return {key: substitute(inner, saved) for key, inner in value.items()}
    if isinstance(value, list):
        return [substitute(inner, saved) for inner in value]
    return value


def matches(fragment: Any, value: Any) -> bool:
    """Whether the value is what the fragment asks for."""
    return mismatch(fragment, value) is None


_MISSING = object()


def mismatch(fragment: Any, value: Any, path: str = "answer") -> str | None:
    """The first difference between what a fragment asks for and a value, or None."""
    if isinstance(fragment, dict) and any(key.startswith("$") for key in fragment):
        return _first(_matcher(name, wanted, value, path) for name, wanted in fragment.items())
    if value is _MISSING:
        return f"{path} is missing"
    if isinstance(fragment, dict):
        if not isinstance(value, dict):
            return f"{path} is {value!r}, not an object"
        return _first(
            mismatch(part, value.get(key, _MISSING), f"{path}.{key}") for key, part in fragment.items()
        )
    if isinstance(fragment, list):
        if not isinstance(value, list) or len(value) != len(fragment):
            return f"{path} is {value!r}, expected {fragment!r}"
        pairs = zip(fragment, value, strict=True)
        return _first(mismatch(part, inner, f"{path}.{n}") for n, (part, inner) in enumerate(pairs))
    same = value == fragment and isinstance(value, bool) == isinstance(fragment, bool)
    return None if same else f"{path} is {value!r}, expected {fragment!r}"


def _matcher(name: str, wanted: Any, value: Any, path: str) -> str | None:
    tests: Mapping[str, Callable[[], bool]] = {
        "$any": lambda: value is not _MISSING,
        "$absent": lambda: value is _MISSING,
        "$length": lambda: isinstance(value, list) and len(value) == wanted,
        "$contains": lambda: isinstance(value, list) and any(matches(wanted, inner) for inner in value),
        "$gte": lambda: _is_number(value) and value >= wanted,
        "$lte": lambda: _is_number(value) and value <= wanted,
    }
    holds = tests[name]()
    shown = "missing" if value is _MISSING else repr(value)
    return None if holds else f"{path} is {shown}, expected {name} {wanted!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _first(differences: Iterable[str | None]) -> str | None:
    return next((difference for difference in differences if difference is not None), None)


def _read(answer: Any, path: str) -> Any:
    for step in path.split("."):
        answer = answer[int(step)] if isinstance(answer, list) else answer[step]
    return answer
