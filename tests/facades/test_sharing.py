"""Threads, loops, processes, callbacks: who cannot be answered is told so, and does not wait for ever."""

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.runtime.portal import Portal
from memorywire.sync import Memory as BlockingMemory

FORKED = """
import asyncio, os, sys
from memorywire import Memory
from memorywire.model.errors import StoreUnavailable
from memorywire.sync import Memory as BlockingMemory

used, unused, looped = (kind("a", "memory://") for kind in (BlockingMemory, BlockingMemory, Memory))
used.list()
asyncio.run(looped.list())
child = os.fork()
if child == 0:
    told = []
    for ask in (used.list, lambda: asyncio.run(looped.list())):
        try:
            ask()
        except StoreUnavailable as problem:
            told.append(problem.fix)
    used.close()
    asyncio.run(looped.close())
    unused.list()
    os._exit(len(told))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), used.list().total)
"""


def test_a_memory_used_before_a_fork_says_so_and_one_that_was_not_works():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("2 0\n", "")


def test_a_callback_cannot_ask_the_memory_that_calls_it():
    with BlockingMemory("a", "memory://") as memory:

        def notes() -> Iterator[str]:
            yield f"{memory.list().total} are known"

        for asking in (notes(), ["Tea is warm"]):
            with pytest.raises(InvalidRequest, match="a callback cannot ask"):
                memory.remember_many(asking, on_progress=lambda _: memory.close())
        assert memory.list().total == 1


def test_two_running_loops_do_not_share_a_memory_but_one_after_the_other_does():
    memory = Memory("a", "memory://")

    async def first() -> None:
        await memory.remember("Tea is warm")
        with pytest.raises(InvalidRequest, match="another event loop"):
            await asyncio.to_thread(asyncio.run, memory.list())

    async def second() -> int:
        page = await memory.list()
        await memory.close()
        return page.total

    asyncio.run(first())
    assert asyncio.run(second()) == 1


def test_who_stops_waiting_ends_what_was_asked():
    portal, ended, waits = Portal(), [], threading.main_thread().ident

    async def endless() -> None:
        try:
            while True:  # a signal that comes just as a thread begins to wait is seen with the next one only
                await asyncio.sleep(0.3)
                signal.pthread_kill(waits, signal.SIGINT)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        portal.run(endless())
    portal.run(asyncio.sleep(0))
    assert ended == [True]
    portal.end(Memory().close)


def test_an_interrupt_before_the_waiting_ends_what_was_asked_too(monkeypatch):
    portal, begun, ended = Portal(), threading.Event(), []

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    def interrupted(future: Future[None]) -> None:
        begun.wait()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("memorywire.runtime.portal._waited", interrupted)
        with pytest.raises(KeyboardInterrupt):
            portal.run(endless())
    portal.run(asyncio.sleep(0))
    assert ended == [True]
    portal.end(Memory().close)


def test_closing_answers_everybody_who_still_waits():
    portal, begun, told = Portal(), threading.Event(), []

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    def ask() -> None:
        try:
            portal.run(endless())
        except StoreUnavailable as problem:
            told.append(problem.detail)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    begun.wait()
    portal.end(Memory().close)
    thread.join(timeout=60)
    assert told == ["this memory was closed"]


@pytest.mark.parametrize("kind", [Memory, BlockingMemory])
def test_a_memory_that_is_left_open_is_warned_about_and_no_other(kind: type):
    def use(memory: Memory | BlockingMemory, *, close: bool) -> None:
        asyncio.run(_used(memory, close=close)) if isinstance(memory, Memory) else _use(memory, close=close)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ResourceWarning)
        use(kind("a", "memory://"), close=True)
        kind("a", "memory://")
        with pytest.raises(InvalidRequest):
            kind("a", "memory://", tenant="")
        gc.collect()
        assert [one for one in seen if "memory" in str(one.message)] == []
        use(kind("a", "memory://"), close=False)
        gc.collect()
        [told] = [one for one in seen if "unclosed memory" in str(one.message)]
    assert told.category is ResourceWarning


async def _used(memory: Memory, *, close: bool) -> None:
    await memory.list()
    if close:
        await memory.close()


def _use(memory: BlockingMemory, *, close: bool) -> None:
    memory.list()
    if close:
        memory.close()
