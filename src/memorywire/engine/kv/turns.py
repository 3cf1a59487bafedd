"""Whose turn it is: writers of one key in this process go one after the other."""

import asyncio
from collections.abc import Sequence
from typing import Self


class Turn:
    """One at a time; who is the last to go takes it off the list of turns."""

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
    """The turns of many keys, taken at once where they were free; `missed` are the places of the others."""

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
    """The turns that are taken, by the id of the key's record."""

    def __init__(self) -> None:
        self._taken: dict[str, Turn | Held] = {}

    def turn(self, id: str) -> Turn:
        """A turn for one, after all who asked before."""
        taken = self._taken.get(id)
        if not isinstance(taken, Turn):
            taken = self._taken[id] = Turn(self, id, taken)
        return taken

    def hold(self, ids: Sequence[str]) -> Held:
        """The turns of many, without waiting for any."""
        return Held(self, ids)

    def take(self, id: str, held: Held) -> bool:
        """Whether the turn was free, and is this one's now."""
        if id in self._taken:
            return False
        self._taken[id] = held
        return True

    def leave(self, id: str, gone: Turn | Held, before: Held | None = None) -> None:
        """Nobody waits behind this one; who was before it may not be done yet."""
        if self._taken.get(id) is not gone:
            return
        if before is None or before.over.is_set():
            del self._taken[id]
        else:
            self._taken[id] = before
