"""Runs operations on a memory, one JSON line each: in this process, or as the measured process."""

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from memorywire.client.memory import Memory
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.search.embed import Embedder, open_embedder
from memorywire_evals.bench.resident import has_status, read_resident

AGENT = "drift"
K = 5


class CountingEmbedder:
    """Counts the texts that an embedder is given."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.gives_tokens: bool = getattr(inner, "gives_tokens", False)
        self.texts = 0

    @property
    def space(self) -> Space:
        return self._inner.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.texts += len(texts)
        return await self._inner.embed(texts)

    async def close(self) -> None:
        await self._inner.close()


class Played(Struct, frozen=True, kw_only=True):
    """The result of an operation: `hits` of a search, `id` and `status` of a write, and its cost.

    `texts` counts the embedded texts, `cpu_ms` is the processor time of all threads, `resident_mb` the
    memory of the process where the system reports it.
    """

    ms: float
    cpu_ms: float
    texts: int
    id: str | None = None
    status: str | None = None
    hits: Sequence[tuple[str, float]] = ()
    resident_mb: float | None = None


class Player:
    """Runs operations on a memory."""

    def __init__(self, memory: Memory, embedder: CountingEmbedder) -> None:
        self._memory = memory
        self._embedder = embedder

    async def play(self, step: Mapping[str, Any]) -> Played:
        """Run one operation: `write` with `id`, `search`, or `forget` with a list of ids."""
        texts, began, worked = self._embedder.texts, time.perf_counter(), time.process_time()
        given = await self._do(step)
        return Played(
            ms=(time.perf_counter() - began) * 1000,
            cpu_ms=(time.process_time() - worked) * 1000,
            texts=self._embedder.texts - texts,
            resident_mb=read_resident() if has_status() else None,
            **given,
        )

    async def _do(self, step: Mapping[str, Any]) -> dict[str, Any]:
        if "write" in step:
            receipt = await self._memory.remember(step["write"], id=step["id"])
            return {"id": receipt.id, "status": receipt.status.value}
        if "search" in step:
            found = await self._memory.recall(step["search"], k=K, scope="all", dedup={"mode": "drop"})
            return {"hits": [(hit.id, hit.score) for hit in found]}
        forgotten = await self._memory.forget(step["forget"], hard_delete=True)
        return {"status": f"{len(forgotten.forgotten_ids)} forgotten"}


async def serve(url: str) -> None:
    """Run the operations from standard input, one JSON document per line, until it ends."""
    embedder = CountingEmbedder(open_embedder("minilm"))
    async with Memory(AGENT, [url], embedder=embedder) as memory:
        player = Player(memory, embedder)
        while line := await asyncio.to_thread(sys.stdin.readline):
            played = await player.play(json.loads(line))
            sys.stdout.write(json.dumps(_to_json(played)) + "\n")
            sys.stdout.flush()
    await embedder.close()


def _to_json(played: Played) -> dict[str, Json]:
    return {name: getattr(played, name) for name in played.__struct_fields__}


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
