"""From a coroutine to a thread and back: work is handed over by a queue, its answer by the event loop."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self


class Reply:
    """What a thread owes to the coroutine that made this: an answer, or the error that was in its way.

    Fill it in by `with reply: reply.value = ...`. A coroutine that gives up just does not hear of it.
    """

    __slots__ = ("_loop", "error", "future", "value")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()
        self.value: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        # Whatever it is, it belongs to whoever asked: the thread has nobody else to tell.
        self.error = error
        return True

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)

    def belongs_with(self, other: "Reply") -> bool:
        """Whether both are waited for on one event loop."""
        return self._loop is other._loop

    def wake(self, replies: Sequence["Reply"]) -> None:
        """Settle these on the loop they have in common with this one."""
        with suppress(RuntimeError):  # the loop is closed, so nobody waits any more
            self._loop.call_soon_threadsafe(_settle, replies)


def tell(replies: Sequence[Reply]) -> None:
    """Hand filled replies to those who wait for them: one interruption for each event loop."""
    while replies:
        first = replies[0]
        first.wake([reply for reply in replies if reply.belongs_with(first)])
        replies = [reply for reply in replies if not reply.belongs_with(first)]


def _settle(replies: Sequence[Reply]) -> None:
    for reply in replies:
        reply.settle()
