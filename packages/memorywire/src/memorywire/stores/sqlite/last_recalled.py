"""Recalls that are not written yet, kept in memory so that reading never waits for the disk."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from threading import Lock
from typing import TypeAlias

import apsw
from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.record import Record, Scope
from memorywire.stores.sqlite.rows import Bindings, LastRecalled, bind_scope, use_stored
from memorywire.stores.sqlite.sql import QUERIES

_Pending: TypeAlias = dict[str, tuple["Recall", ...]]
"""Touches by id, one for each scope; a tuple is never changed, only replaced, so that readers need no
lock."""


class Recall(Struct, frozen=True):
    """Recalls of one id in one scope: the last moment, and how many."""

    scope: Scope
    id: str
    at: int
    count: int = 1

    def __add__(self, other: "Recall") -> "Recall":
        return Recall(self.scope, self.id, max(self.at, other.at), self.count + other.count)


class RecallBuffer:
    """Recalls on their way to the file: readers add and see them, the writer writes them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._new: _Pending = {}
        self._taken: _Pending = {}

    def __bool__(self) -> bool:
        return bool(self._new)

    @property
    def has_pending(self) -> bool:
        """Whether anything is not on the disk yet, or still on its way there."""
        return bool(self._new or self._taken)

    def add(self, touches: Iterable[Recall]) -> None:
        with self._lock:
            _merge(self._new, touches)

    def write(self, db: apsw.Connection) -> None:
        with self._lock:
            self._taken, self._new = self._new, {}
        db.executemany(QUERIES["touch"], [_row(touch) for touch in chain.from_iterable(self._taken.values())])

    def settle(self) -> None:
        with self._lock:
            self._taken = {}

    def give_back(self) -> None:
        with self._lock:
            _merge(self._new, chain.from_iterable(self._taken.values()))
            self._taken = {}

    def count_pending(self, record: Record) -> int:
        """How many recalls of the record wait to be written."""
        with self._lock:
            return sum(
                touch.count for touch in _find_recalls((self._new, self._taken), record.scope, record.id)
            )

    def last_recalled(self) -> LastRecalled:
        """A function that tells when a record was last recalled, as if all that waits were written.

        Ask for it before the snapshot that records are read in: a recall that is written in between is in
        neither the snapshot nor, later, among those that wait.
        """
        with self._lock:
            pending = (self._new, self._taken)  # which are replaced when they are written, and never emptied
        return partial(_find_last_recall, pending) if any(pending) else use_stored


def with_last_recalled(record: Record, last_recalled: LastRecalled) -> Record:
    """The record with the moment it was last recalled."""
    at = last_recalled(record.scope, record.id, record.recalled_at)
    return record if at == record.recalled_at else replace(record, recalled_at=at)


def _find_last_recall(pending: Sequence[_Pending], scope: Scope, id: str, latest: int | None) -> int | None:
    for touches in pending:
        if id in touches:
            for touch in touches[id]:
                if (latest is None or latest < touch.at) and touch.scope.covers(scope):
                    latest = touch.at
    return latest


def _find_recalls(pending: Sequence[_Pending], own: Scope, id: str) -> list[Recall]:
    """The touches that count for a record: recalls for its user, and recalls for all users."""
    return [touch for touches in pending for touch in touches.get(id, ()) if touch.scope.covers(own)]


def _row(touch: Recall) -> Bindings:
    return bind_scope(touch.scope) | {"id": touch.id, "at": touch.at, "count": touch.count}


def _merge(pending: _Pending, touches: Iterable[Recall]) -> None:
    for touch in touches:
        others = []
        for other in pending.get(touch.id, ()):
            if other.scope == touch.scope:
                touch = other + touch
            else:
                others.append(other)
        pending[touch.id] = (*others, touch)
