"""Asking several stores at once: an answer or a problem from each, by the deadline at the latest."""

import asyncio
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

from msgspec import Struct

from memorywire.model.errors import MemorywireError, StoreCorrupt, StoreUnavailable

T = TypeVar("T")


class Told(Struct, Generic[T], frozen=True, kw_only=True):
    """The answer of one call, or its problem, and the seconds it took."""

    store: str
    answer: T | None
    error: MemorywireError | None
    elapsed: float


async def ask_each(calls: Mapping[str, Coroutine[Any, Any, T]], seconds: float) -> list[Told[T]]:
    """The answer or problem of each call, in order; a call that is not done in time is given up."""
    loop = asyncio.get_running_loop()
    began, ended = loop.time(), dict.fromkeys(calls, seconds)
    tasks = {name: loop.create_task(call) for name, call in calls.items()}
    for name, task in tasks.items():
        task.add_done_callback(partial(_note_end, ended, name, began))
    try:
        await asyncio.wait(tasks.values(), timeout=seconds)
    finally:
        for task in tasks.values():
            task.cancel()
    return [_told(name, task, ended[name], seconds) for name, task in tasks.items()]


def _note_end(ended: dict[str, float], name: str, began: float, task: "asyncio.Task[Any]") -> None:
    ended[name] = task.get_loop().time() - began
    if not task.cancelled():
        task.exception()  # said to have been seen: whoever came too late has nobody to tell


def _told(name: str, task: "asyncio.Task[T]", elapsed: float, seconds: float) -> Told[T]:
    if not task.done() or task.cancelled():
        late = StoreUnavailable(f"no answer in {seconds:g} s")
        return Told(store=name, answer=None, error=late, elapsed=elapsed)
    error = task.exception()
    if error is not None:
        return Told(store=name, answer=None, error=_problem(error), elapsed=elapsed)
    return Told(store=name, answer=task.result(), error=None, elapsed=elapsed)


def _problem(error: BaseException) -> MemorywireError:
    """The error as one of ours; whatever else foreign code raises means that its answer makes no sense."""
    if isinstance(error, MemorywireError):
        return error
    return StoreCorrupt(f"the store failed with {type(error).__name__}")
