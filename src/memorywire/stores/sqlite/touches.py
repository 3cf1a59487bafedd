"""Recalls that are not written yet: kept in memory, so that reading never waits for the disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeAlias

import apsw

from memorywire.model.record import Record, Scope
from memorywire.stores.sqlite.rows import Bindings, scope_row
from memorywire.stores.sqlite.sql import QUERIES

_Pending: TypeAlias = dict[tuple[Scope, str], "Touch"]


@dataclass(frozen=True, slots=True)
class Touch:
    """Recalls of one id in one scope: the last moment, and how many."""

    scope: Scope
    id: str
    at: int
    count: int = 1

    def __add__(self, other: "Touch") -> "Touch":
        return replace(self, at=max(self.at, other.at), count=self.count + other.count)


class Touches:
    """Collected by readers, written by the writer, seen by readers until they are in the file."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._new: _Pending = {}
        self._taken: _Pending = {}

    def __bool__(self) -> bool:
        return bool(self._new)

    def add(self, touches: Iterable[Touch]) -> None:
        with self._lock:
            _merge(self._new, touches)

    def write(self, db: apsw.Connection) -> None:
        with self._lock:
            self._taken, self._new = self._new, {}
        db.executemany(QUERIES["touch"], [_row(touch) for touch in self._taken.values()])

    def settle(self) -> None:
        with self._lock:
            self._taken = {}

    def give_back(self) -> None:
        with self._lock:
            _merge(self._new, self._taken.values())
            self._taken = {}

    def counted_on(self, record: Record) -> int:
        """How many recalls of the record wait to be written."""
        with self._lock:
            return sum(touch.count for touch in self._pending(record.scope, record.id))

    def seen_on(self, record: Record) -> Record:
        """The record as if everything pending were written."""
        at = self.seen_at(record.scope, record.id, record.recalled_at)
        return record if at == record.recalled_at else replace(record, recalled_at=at)

    def seen_at(self, scope: Scope, id: str, written: int | None) -> int | None:
        """When the record of that scope was last recalled, as if everything pending were written."""
        if not self._new and not self._taken:
            return written
        with self._lock:
            at = max((touch.at for touch in self._pending(scope, id)), default=None)
        return written if at is None or (written is not None and written >= at) else at

    def _pending(self, own: Scope, id: str) -> Iterator[Touch]:
        meant = (own,) if own.user is None else (own, Scope(tenant=own.tenant, agent=own.agent))
        for scope in meant:
            for pending in (self._new, self._taken):
                touch = pending.get((scope, id))
                if touch is not None:
                    yield touch


def _row(touch: Touch) -> Bindings:
    return scope_row(touch.scope) | {"id": touch.id, "at": touch.at, "count": touch.count}


def _merge(pending: _Pending, touches: Iterable[Touch]) -> None:
    for touch in touches:
        key = (touch.scope, touch.id)
        pending[key] = pending[key] + touch if key in pending else touch
