"""Assertions for checks, with messages that name the expected and actual value; and check requirements."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from linecache import getline
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any, TypeVar

from memorywire.model.capabilities import Feature
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Record
from memorywire.stores.contract import Store, SupportsHistory, Tracker

T = TypeVar("T")
E = TypeVar("E", bound=MemorywireError)
C = TypeVar("C", bound=Callable[..., Awaitable[None]])

_CHARS_SHOWN = 500
_ITEMS_SHOWN = 10
_CODE_CHARS = 160
_KIT = Path(__file__).parent
_HELPER_FILES = frozenset({"expect.py", "report.py", "run.py", "samples.py"})


class Broken(Exception):
    """The store violates the contract; the message says what it did."""


def requires(*features: Feature, ability: type | None = None) -> Callable[[C], C]:
    """Mark a check that applies only to stores with these features, or with this optional protocol."""

    def mark(check: C) -> C:
        check.__dict__["requirements"] = {"requires": frozenset(features)} | (
            {} if ability is None else {"ability": ability}
        )
        return check

    return mark


def find_checks(module: ModuleType) -> list[Callable[..., Any]]:
    """Return the public coroutine functions that a module defines, in order."""
    return [
        run
        for name, run in vars(module).items()
        if iscoroutinefunction(run) and run.__module__ == module.__name__ and not name.startswith("_")
    ]


def same(actual: object, wanted: object) -> None:
    if actual != wanted:
        raise Broken(_describe_difference(actual, wanted))


def close_to(actual: float, wanted: float, tolerance: float = 1e-3) -> None:
    # `not <=` instead of `>`, so that NaN fails as well.
    if not abs(actual - wanted) <= tolerance:
        raise Broken(f"expected about {wanted:.4f}, got {actual:.4f}")


def holds(fact: bool, otherwise: str) -> None:
    if not fact:
        raise Broken(otherwise)


def present(value: T | None, what: str) -> T:
    if value is None:
        raise Broken(f"{what} is missing")
    return value


def historian(store: Store) -> SupportsHistory:
    """Return the store as SupportsHistory. Raises Broken if its methods are missing."""
    if not isinstance(store, SupportsHistory):
        raise Broken("the features promise a history, but its methods are missing")
    return store


def tracker(store: Store) -> Tracker:
    """Return the store as Tracker. Raises Broken if its method is missing."""
    if not isinstance(store, Tracker):
        raise Broken("the features promise recall tracking, but its method is missing")
    return store


@contextmanager
def refused(error: type[E], *, field: str | None = None) -> Iterator[list[E]]:
    """Expect the body to raise this error, naming this field; the yielded list then holds it."""
    refusals: list[E] = []
    try:
        yield refusals
    except error as refusal:
        refusals.append(refusal)
        if field is not None:
            same(refusal.field, field)
        return
    raise Broken(f"expected {error.__name__}, but the store accepted it")


async def must_refuse(request: Awaitable[object], error: type[E], *, field: str | None = None) -> None:
    """Expect the request to fail with this error, naming this field."""
    with refused(error, field=field):
        await request


def place(error: BaseException) -> str:
    """Return the source line of the check at which the store failed, with the call and its arguments."""
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if Path(frame.filename).parent == _KIT and Path(frame.filename).name not in _HELPER_FILES
    ]
    if not frames or frames[-1].lineno is None:
        return ""
    first, file = frames[-1].lineno, frames[-1].filename
    last = frames[-1].end_lineno or first
    code = "".join(getline(file, line).strip() for line in range(first, last + 1))
    return f" [{Path(file).name}:{first}: {code[:_CODE_CHARS]}]"


def _describe_difference(actual: object, wanted: object) -> str:
    """Describe both values; of records, only the fields that differ."""
    ours, theirs = _only_records(wanted), _only_records(actual)
    if not ours or not theirs:
        return f"expected {_show(wanted)}, got {_show(actual)}"
    names, others = [one.id for one in ours], [one.id for one in theirs]
    if names != others:
        return f"expected the records {_show(names)}, got {_show(others)}"
    return _clip(
        "; ".join(part for pair in zip(ours, theirs, strict=True) for part in _list_differences(*pair))
    )


def _list_differences(ours: Record, theirs: Record) -> Iterator[str]:
    for name in Record.__struct_fields__:
        expected, actual = getattr(ours, name), getattr(theirs, name)
        if expected != actual:
            yield f"{name} of {ours.id}: expected {_show(expected)}, got {_show(actual)}"


def _only_records(value: object) -> list[Record]:
    """Return the records in the value; empty unless it consists only of records."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    results = [item for item in items if isinstance(item, Record)]
    return results if len(results) == len(items) else []


def _show(value: object) -> str:
    prefix = f"{len(value)} of them: " if isinstance(value, list) and len(value) > _ITEMS_SHOWN else ""
    return prefix + _clip(repr(value))


def _clip(text: str) -> str:
    return text if len(text) <= _CHARS_SHOWN else f"{text[:_CHARS_SHOWN]}... ({len(text)} characters)"
