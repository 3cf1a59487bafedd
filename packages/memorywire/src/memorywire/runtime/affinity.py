"""Checks where a memory is used: on one running event loop at a time, in the process that opened it."""

import asyncio
import os
import threading
import warnings
from collections.abc import Coroutine
from typing import Any, TypeVar

from memorywire.model.errors import InvalidRequest, StoreUnavailable

A = TypeVar("A")


class Mooring:
    """The event loop and the process that a memory is bound to.

    It may move on from a loop that has ended to the next one. Two loops that run at once would wait for each
    other, and a forked process has the files of the other process but none of its threads.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process: int | None = None
        self._thread: int | None = None

    def hold(self) -> None:
        """Bind to the loop that runs now; raises where that cannot work."""
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self.adrift:
            raise forked()
        if self._loop is not None and self._loop.is_running():
            raise InvalidRequest(
                "this memory is in use on another event loop, in another thread",
                fix="share a memorywire.sync.Memory among threads, or open a Memory on each loop",
            )
        self._loop, self._process, self._thread = loop, os.getpid(), threading.get_ident()

    async def run(self, work: Coroutine[Any, Any, A]) -> A:
        """What the work gives, run on the loop that the memory is bound to if that runs in another thread."""
        home = self._loop
        here = home is None or home is asyncio.get_running_loop() or self._thread == threading.get_ident()
        if home is None or here or self.adrift or not home.is_running():
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))

    @property
    def adrift(self) -> bool:
        """Whether this process is not the one that used the memory."""
        return self._process is not None and self._process != os.getpid()


def warn_unclosed(memory: object) -> None:
    """Say, where Python is asked to tell (`-X dev`, `-W default`), that a memory was left open."""
    said = f"unclosed memory {memory!r}: use `with`, or call close()"
    warnings.warn(said, ResourceWarning, stacklevel=3, source=memory)


def closed() -> StoreUnavailable:
    """What a client says when it is used after its end."""
    return StoreUnavailable("this memory was closed", fix="open a new Memory")


def forked() -> StoreUnavailable:
    """What a client says in a process that does not have the threads it was opened with."""
    return StoreUnavailable(
        "this memory was opened before the process was forked", fix="open a Memory in each process"
    )
