"""Lets the writers of one key in this process go one after the other."""

import asyncio
from collections.abc import Sequence
from typing import Self


class Turn:
    """The queue for one key: one writer at a time. The last one to leave removes the queue."""

    def __init__(self, turns: "Turns", id: str, before: "Held | None") -> None:
        self._turns = turns
        self._id = id
        self._before = before
        self._lock = asyncio.Lock()
        self._waiting = 0

    async def __aenter__(self) -> None:
        self._waiting += 1
        try:
            await self._lock.acquire()
            await self._after_those_before()
        except BaseException:
            self._gone()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()
        self._gone()

    async def _after_those_before(self) -> None:
        if self._before is None:
            return
        try:
            await self._before.over.wait()
        except BaseException:
            self._lock.release()
            raise
        self._before = None

    def _gone(self) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._turns.leave(self._id, self, self._before)


class Held:
    """The turns of many keys, taken without waiting; `missed` are the indexes of those that were not free."""

    def __init__(self, turns: "Turns", ids: Sequence[str]) -> None:
        self._turns = turns
        self._ids: list[str] = []
        self.missed: list[int] = []
        self.over = asyncio.Event()
        for at, id in enumerate(ids):
            if turns.take(id, self):
                self._ids.append(id)
            else:
                self.missed.append(at)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        for id in self._ids:
            self._turns.leave(id, self)


class Turns:
    """All turns that are taken in this process, by the id of the key's record."""

    def __init__(self) -> None:
        self._taken: dict[str, Turn | Held] = {}

    def turn(self, id: str) -> Turn:
        """The queue for one key; entering it waits for everybody who came before."""
        taken = self._taken.get(id)
        if not isinstance(taken, Turn):
            taken = self._taken[id] = Turn(self, id, taken)
        return taken

    def hold(self, ids: Sequence[str]) -> Held:
        """Take the turns of many keys at once, without waiting for any of them."""
        return Held(self, ids)

    def take(self, id: str, held: Held) -> bool:
        """Take the turn of a key for this group; False when it is not free."""
        if id in self._taken:
            return False
        self._taken[id] = held
        return True

    def leave(self, id: str, gone: Turn | Held, before: Held | None = None) -> None:
        """Free the turn of a key; it stays with the group that held it `before`, if that is not done yet."""
        if self._taken.get(id) is not gone:
            return
        if before is None or before.over.is_set():
            del self._taken[id]
        else:
            self._taken[id] = before
