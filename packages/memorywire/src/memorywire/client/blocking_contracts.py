"""The other contracts for code without an event loop: the same verbs, run by whoever runs coroutines."""

import builtins
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar, Unpack

from memorywire.client.harness import Found, Harness, MemoryItem, Ranking
from memorywire.client.kv import KeyValue, Result, SearchOptions, SetOptions
from memorywire.client.layer import AddOptions, AskOptions, Layer
from memorywire.client.options import ScopeOption
from memorywire.model.kv import Deleted, Entry, Kept, Limits, Listing, Reembedded, Searched, Stats
from memorywire.model.layer import Event, FoundFacts
from memorywire.model.record import Json

A = TypeVar("A")


class Run(Protocol):
    """Waits for a coroutine and gives what it gives."""

    def __call__(self, work: Coroutine[Any, Any, A]) -> A: ...


class BlockingKeyValue:
    """As `KeyValue`, without an event loop."""

    def __init__(self, run: Run, inner: KeyValue) -> None:
        self._run = run
        self._inner = inner

    def of(self, kind: str, id: str) -> "BlockingKeyValue":
        return BlockingKeyValue(self._run, self._inner.of(kind, id))

    def area(self, prefix: str, limits: Limits) -> "BlockingKeyValue":
        return BlockingKeyValue(self._run, self._inner.area(prefix, limits))

    def get(self, key: str) -> Entry | None:
        return self._run(self._inner.get(key))

    def set(self, key: str, value: Json, **options: Unpack[SetOptions]) -> Kept:
        return self._run(self._inner.set(key, value, **options))

    def set_many(self, values: Mapping[str, Json], **options: Unpack[SetOptions]) -> builtins.list[Result]:
        return self._run(self._inner.set_many(values, **options))

    def incr(self, key: str, by: float = 1) -> Kept:
        return self._run(self._inner.incr(key, by))

    def delete(self, key: str) -> Deleted:
        return self._run(self._inner.delete(key))

    def touch(self, key: str) -> Entry | None:
        return self._run(self._inner.touch(key))

    def list(self, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
        return self._run(self._inner.list(prefix, limit=limit, after=after))

    def search(self, query: str, **options: Unpack[SearchOptions]) -> Searched:
        return self._run(self._inner.search(query, **options))

    def stats(self) -> Stats:
        return self._run(self._inner.stats())

    def reembed(self) -> Reembedded:
        return self._run(self._inner.reembed())


class BlockingLayer:
    """As `Layer`, without an event loop."""

    def __init__(self, run: Run, inner: Layer) -> None:
        self._run = run
        self._inner = inner

    def add(self, messages: Sequence[Mapping[str, Any]], **options: Unpack[AddOptions]) -> Event:
        return self._run(self._inner.add(messages, **options))

    def event(self, event_id: str, **options: Unpack[ScopeOption]) -> Event:
        return self._run(self._inner.event(event_id, **options))

    def recall(self, query: str, **options: Unpack[AskOptions]) -> FoundFacts:
        return self._run(self._inner.recall(query, **options))

    def work(self) -> int:
        return self._run(self._inner.work())


class BlockingHarness:
    """As `Harness`, without an event loop."""

    def __init__(self, run: Run, inner: Harness) -> None:
        self._run = run
        self._inner = inner

    def ranked(self, ranking: Ranking) -> "BlockingHarness":
        return BlockingHarness(self._run, self._inner.ranked(ranking))

    def write(self, item: MemoryItem) -> str:
        return self._run(self._inner.write(item))

    def get(self, id: str) -> MemoryItem | None:
        return self._run(self._inner.get(id))

    def search(self, query: str, k: int = 8) -> list[Found]:
        return self._run(self._inner.search(query, k))

    def delete(self, id: str) -> None:
        self._run(self._inner.delete(id))

    def all(self) -> list[MemoryItem]:
        return self._run(_listed(self._inner))


async def _listed(harness: Harness) -> list[MemoryItem]:
    return [item async for item in harness.all()]
