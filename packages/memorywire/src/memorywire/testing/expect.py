"""Assertions for checks, with messages that say what was expected."""

from collections.abc import Iterator
from contextlib import contextmanager
from linecache import getline
from pathlib import Path
from traceback import extract_tb
from typing import TypeVar

from memorywire.model.errors import MemorywireError
from memorywire.model.record import Record
from memorywire.stores.contract import Store, SupportsHistory, Tracker

T = TypeVar("T")
E = TypeVar("E", bound=MemorywireError)

_SHOWN = 500
_FEW = 10
_CODE = 160
_KIT = Path(__file__).parent
_OF_NO_CHECK = frozenset({"expect.py", "run.py", "samples.py"})


class Broken(Exception):
    """The store did not keep a promise; the message says what it did instead."""


def same(actual: object, wanted: object) -> None:
    if actual != wanted:
        raise Broken(_told(actual, wanted))


def close_to(actual: float, wanted: float, tolerance: float = 1e-3) -> None:
    # Written so that a NaN is refused as well.
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
    """The store by the verbs that its features promise."""
    if not isinstance(store, SupportsHistory):
        raise Broken("the features promise a history, but its verbs are not there")
    return store


def tracker(store: Store) -> Tracker:
    """The store by the verb that its features promise."""
    if not isinstance(store, Tracker):
        raise Broken("the features promise recall tracking, but its verb is not there")
    return store


@contextmanager
def refused(error: type[E], *, field: str | None = None) -> Iterator[list[E]]:
    """The body must raise this error, naming this field; the list then holds it."""
    refusals: list[E] = []
    try:
        yield refusals
    except error as refusal:
        refusals.append(refusal)
        if field is not None:
            same(refusal.field, field)
        return
    raise Broken(f"expected {error.__name__}, but the store agreed")


def place(error: BaseException) -> str:
    """The line of the check at which the store failed, for it says which verb was asked, and what for."""
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if Path(frame.filename).parent == _KIT and Path(frame.filename).name not in _OF_NO_CHECK
    ]
    if not frames or frames[-1].lineno is None:
        return ""
    first, file = frames[-1].lineno, frames[-1].filename
    last = frames[-1].end_lineno or first
    code = "".join(getline(file, line).strip() for line in range(first, last + 1))
    return f" [{Path(file).name}:{first}: {code[:_CODE]}]"


def _told(actual: object, wanted: object) -> str:
    """Both of them; of records, only what is not alike."""
    ours, theirs = _records(wanted), _records(actual)
    if not ours or not theirs:
        return f"expected {_shown(wanted)}, got {_shown(actual)}"
    names, others = [one.id for one in ours], [one.id for one in theirs]
    if names != others:
        return f"expected the records {_shown(names)}, got {_shown(others)}"
    return _clipped("; ".join(part for pair in zip(ours, theirs, strict=True) for part in _apart(*pair)))


def _apart(ours: Record, theirs: Record) -> Iterator[str]:
    for name in Record.__struct_fields__:
        wanted, actual = getattr(ours, name), getattr(theirs, name)
        if wanted != actual:
            yield f"{name} of {ours.id}: expected {_shown(wanted)}, got {_shown(actual)}"


def _records(value: object) -> list[Record]:
    """The records this is made of, if it is made of nothing else."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    found = [item for item in items if isinstance(item, Record)]
    return found if len(found) == len(items) else []


def _shown(value: object) -> str:
    counted = f"{len(value)} of them: " if isinstance(value, list) and len(value) > _FEW else ""
    return counted + _clipped(repr(value))


def _clipped(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
