"""The few ways a check can be disappointed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from memorywire.model.errors import MemorywireError
from memorywire.stores.contract import Historian, Store, Tracker

T = TypeVar("T")
E = TypeVar("E", bound=MemorywireError)

_SHOWN = 500


class Broken(Exception):
    """The store did not keep a promise; the message says what it did instead."""


def same(actual: object, wanted: object) -> None:
    if actual != wanted:
        raise Broken(f"expected {_shown(wanted)}, got {_shown(actual)}")


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


def historian(store: Store) -> Historian:
    """The store by the verbs that its features promise."""
    if not isinstance(store, Historian):
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


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
