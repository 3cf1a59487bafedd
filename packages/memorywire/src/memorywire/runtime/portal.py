"""A blocking portal: runs an event loop in a separate thread, for synchronous code."""

import asyncio
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from msgspec import Struct

from memorywire.model.errors import InvalidRequest, StoreUnavailable

A = TypeVar("A")


class Mooring:
    """The event loop and the process that a memory is bound to.

    It may switch from an ended loop to the next one. Two loops at the same time would deadlock, and a forked
    process has the open files of its parent but none of its threads.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._process: int | None = None
        self._thread: int | None = None

    def hold(self) -> None:
        """Bind to the running loop; raises if the process was forked or another loop is in use."""
        loop = asyncio.get_running_loop()
        if loop is self.loop:
            return
        if self.adrift:
            raise forked()
        if self.loop is not None and self.loop.is_running():
            raise InvalidRequest(
                "this memory is in use on another event loop, in another thread",
                fix="share a memorywire.sync.Memory among threads, or open a Memory on each loop",
            )
        self.loop, self._process, self._thread = loop, os.getpid(), threading.get_ident()

    async def run(self, work: Coroutine[Any, Any, A]) -> A:
        """Return the result of `work`, run on the bound loop if that runs in another thread."""
        home = self.loop
        here = home is None or home is asyncio.get_running_loop() or self._thread == threading.get_ident()
        if home is None or here or self.adrift or not home.is_running():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))

    @property
    def adrift(self) -> bool:
        """Whether this process is a fork of the one that used the memory."""
        return self._process is not None and self._process != os.getpid()


def warn_unclosed(memory: object) -> None:
    """Warn that a memory was left open, if Python shows such warnings (`-X dev`, `-W default`)."""
    message = f"unclosed memory {memory!r}: use `with`, or call close()"
    warnings.warn(message, ResourceWarning, stacklevel=3, source=memory)


def closed() -> StoreUnavailable:
    """Return the error of a client that is used after `close`."""
    return StoreUnavailable("this memory was closed", fix="open a new Memory")


def forked() -> StoreUnavailable:
    """Return the error of a client that is used in a forked process, which lacks its threads."""
    return StoreUnavailable(
        "this memory was opened before the process was forked", fix="open a Memory in each process"
    )


class _Running(Struct, frozen=True):
    loop: asyncio.AbstractEventLoop
    thread: threading.Thread


class Portal:
    """Runs coroutines for any thread on its own event loop, which starts with the first call.

    If the loop cannot answer, a call raises instead of waiting forever: after the end, in a forked process,
    and in a callback, which occupies the thread of the loop.
    """

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._running: _Running | None = None
        self._ended = False

    def run(self, work: Coroutine[Any, Any, A]) -> A:
        """Return the result of the coroutine; cancels it if the caller stops waiting, for example after
        Ctrl-C.
        """
        try:
            return _waited(self.send(work))
        except Exception:
            work.close()  # it was never submitted, or has ended
            raise
        except BaseException:
            self._give_up(work)
            raise

    def end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a last coroutine, cancel all other tasks and end the thread; a second call does nothing."""
        running = self._running
        if running is not None:
            _refuse_callback(running)
        with self._changing:
            ended, self._ended = self._ended, True
        if ended or running is None or not running.thread.is_alive():
            return
        try:
            _waited(asyncio.run_coroutine_threadsafe(_and_nothing_else(last), running.loop))
        finally:
            running.loop.call_soon_threadsafe(running.loop.stop)
            running.thread.join()
            running.loop.close()

    def _give_up(self, work: Coroutine[Any, Any, A]) -> None:
        """Cancel the work in any state: a Ctrl-C may come before there is a future to cancel."""
        running = self._running
        if running is None or not running.thread.is_alive():
            work.close()
        else:
            running.loop.call_soon_threadsafe(_cancel, work)

    def send(self, work: Coroutine[Any, Any, A]) -> "Future[A]":
        """Submit the coroutine and return its future; raises if the loop no longer runs."""
        if self._running is not None and not self._ended:
            _refuse_callback(self._running)
            if not self._running.thread.is_alive():
                raise forked()
        with self._changing:  # nothing may be submitted to a loop that is stopping
            if self._ended:
                raise closed()
            if self._running is None:
                self._running = _begun()
            return asyncio.run_coroutine_threadsafe(work, self._running.loop)


def _begun() -> _Running:
    """Start the loop; called on first use, so that a client created before a fork works on both sides."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="memorywire", daemon=True)
    thread.start()
    return _Running(loop, thread)


def _refuse_callback(running: _Running) -> None:
    if running.thread.ident == threading.get_ident():
        raise InvalidRequest(
            "a callback cannot ask the memory that is calling it: each would wait for the other",
            fix="ask before, and hand over what was answered; or ask another Memory",
        )


def _waited(future: "Future[A]") -> A:
    try:
        return future.result()
    except CancelledError as error:
        raise closed() from error


def _cancel(work: Coroutine[Any, Any, Any]) -> None:
    task = next((task for task in asyncio.all_tasks() if task.get_coro() is work), None)
    if task is None:
        work.close()
    else:
        task.cancel()


async def _and_nothing_else(last: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        await last()
    finally:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
