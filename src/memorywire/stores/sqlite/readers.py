"""Threads that read: each takes the next work, a connection of its own, and tells the answer."""

import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from memorywire.model.errors import StoreUnavailable
from memorywire.stores.sqlite.connection import Patience, Pool, Work, fence
from memorywire.stores.sqlite.handover import Reply, tell
from memorywire.stores.sqlite.location import Location


@dataclass(frozen=True, slots=True)
class _Question:
    work: Work[Any]
    reply: Reply


class Readers:
    """As many threads as there are connections."""

    def __init__(self, pool: Pool, *, location: Location, patience: Patience) -> None:
        self._pool = pool
        self._location = location
        self._patience = patience
        self._waiting: SimpleQueue[_Question | None] = SimpleQueue()  # None: a thread may end
        self._door = threading.Lock()
        self._closed = False
        self._threads = [
            threading.Thread(target=self._work, name=f"memorywire {location}", daemon=True)
            for _ in range(len(pool))
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Work[Any]) -> Reply:
        """The reply to come."""
        question = _Question(work, Reply())
        with self._door:
            if self._closed:
                raise StoreUnavailable(f"{self._location} is closed")
            self._waiting.put(question)
        return question.reply

    def close(self) -> None:
        """Answer what waits, and end the threads."""
        with self._door:
            self._closed = True
            for _ in self._threads:
                self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (question := self._waiting.get()) is not None:
            with question.reply as reply:
                reply.value = self._answer(question.work)
            tell([question.reply])

    def _answer(self, work: Work[Any]) -> Any:
        with fence(self._location), self._pool.borrow() as db:
            return self._patience.try_for("read", lambda: work(db))
