"""A thread pool: coroutines submit work through a queue and get results through the event loop."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Reply:
    """The answer of a thread to a coroutine, or the error that prevented it.

    Set it by `with reply: reply.value = ...`. The reply to a cancelled coroutine is discarded.
    """

    __slots__ = ("error", "future", "loop", "value")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.value: Any = None
        self.error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        # Every error goes to the caller, because the thread cannot report it otherwise.
        self.error = error
        return True

    def settle(self) -> None:
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


def tell(replies: Sequence[Reply]) -> None:
    """Deliver replies to their waiting coroutines, with one wake-up for each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Reply]] = {}
    for reply in replies:
        by_loop.setdefault(reply.loop, []).append(reply)
    for loop, several in by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so no caller is waiting
            loop.call_soon_threadsafe(_settle, several)


def _settle(replies: Sequence[Reply]) -> None:
    for reply in replies:
        reply.settle()


class _Job(Struct, frozen=True):
    work: Callable[[], Any]
    reply: Reply


class Dismissed(Exception):
    """The threads of the pool have ended."""


class ThreadPool:
    """Threads that run tasks in the order of submission.

    It has less overhead than an executor, which matters for tasks that run no longer than their hand-over.
    """

    def __init__(self, size: int, name: str) -> None:
        self._waiting: SimpleQueue[_Job | None] = SimpleQueue()  # None: a thread may end
        self._lock = threading.Lock()
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=name, daemon=True) for _ in range(size)]
        for thread in self._threads:
            thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result; raises Dismissed after `dismiss`."""
        job = _Job(work, Reply())
        with self._lock:
            if self._closed:
                raise Dismissed
            self._waiting.put(job)
        answer: T = await job.reply.future
        return answer

    async def do_each(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Return the results of all tasks, each run by the first free thread; raises as `do`."""
        jobs = [_Job(work, Reply()) for work in works]
        with self._lock:
            if self._closed:
                raise Dismissed
            for job in jobs:
                self._waiting.put(job)
        answers: list[T] = await asyncio.gather(*(job.reply.future for job in jobs))
        return answers

    def dismiss(self) -> None:
        """Finish the submitted tasks and end the threads; blocks until they have ended."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._waiting.get()) is not None:
            with job.reply as reply:
                reply.value = job.work()
            tell([job.reply])
            del job, reply  # a waiting thread must not keep objects of a caller alive
