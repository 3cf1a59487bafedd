"""The work that `compare_speed.py` times: a process that runs the operations it reads, one slice a line.

A line is `OPERATION COUNT`; the answer is the milliseconds of one call, by the clock (the median of the
slice) and of the processor. Each slice of writes has a new file; recalls always search the same memories.
"""

import asyncio
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy

from memorywire import Memory
from memorywire.search.embed import open_embedder

THINGS = ("lamp", "chair", "cable", "printer", "kettle", "folder", "badge", "camera", "ladder", "sensor")
FACTS = [
    f"The {colour} {thing} of the {room} is stored on floor {len(thing) + len(room)}"
    for colour in ("red", "blue", "green", "old", "new")
    for thing in THINGS
    for room in ("office", "kitchen", "lab")
]
BULK = [f"{FACTS[n % 150]}, item {n} of a list" for n in range(3_000)]


class Hashed:
    """An embedder that costs next to nothing, so that everything else is what is timed."""

    def __init__(self) -> None:
        self._real = open_embedder("minilm")
        self.space = self._real.space

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        vector = numpy.random.default_rng(seed).standard_normal(self.space.dimension)
        return bytes((vector / numpy.linalg.norm(vector)).astype("<f4").tobytes())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


Call = Callable[[Memory, int], Awaitable[object]]

# Each operation: whether it writes, whether texts are embedded, the memories it starts with, and a call.
OPERATIONS: dict[str, tuple[bool, bool, int, Call]] = {
    "remember without embedding": (True, False, 40, lambda m, n: m.remember(f"{FACTS[n % 150]}, place {n}")),
    "remember": (True, True, 10, lambda m, n: m.remember(f"{FACTS[n % 150]}, box {n}")),
    "recall without embedding": (False, False, 340, lambda m, n: m.recall(FACTS[n % 150])),
    "recall of 160": (False, True, 160, lambda m, n: m.recall(FACTS[n % 150])),
    "recall of 340": (False, True, 340, lambda m, n: m.recall(FACTS[n % 150])),
    "kv set": (True, False, 1, lambda m, n: m.kv.set(f"key {n % 60}", {"n": n})),
    "kv get": (False, False, 0, lambda m, n: m.kv.get(f"key {n % 60}")),
    "bulk of 3,000 without embedding": (True, False, 1, lambda m, _: m.remember_many(BULK)),
}


class Worker:
    """The memories that the slices use."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._files = 0
        self._hashed = Hashed()
        self._open: dict[str, Memory] = {}

    async def run(self, operation: str, count: int) -> tuple[float, float]:
        writes, embeds, memories, call = OPERATIONS[operation]
        memory = None if writes else self._open.get(operation)
        if memory is None:
            memory = await self._prepare(embeds, memories)
            if operation == "kv get":
                for n in range(60):
                    await memory.kv.set(f"key {n}", {"n": n})
        times = []
        processor = time.process_time()
        for number in range(count):
            started = time.perf_counter()
            await call(memory, number)
            times.append((time.perf_counter() - started) * 1e3)
        processor = (time.process_time() - processor) * 1e3 / count
        if writes:
            await memory.close()
        else:
            self._open[operation] = memory
        return statistics.median(times), processor

    async def _prepare(self, embeds: bool, memories: int) -> Memory:
        self._files += 1
        url = f"sqlite:///{self._folder}/{self._files}.db"
        memory = Memory("ana", url) if embeds else Memory("ana", url, embedder=self._hashed)
        await memory.__aenter__()
        for n in range(memories):
            await memory.remember(f"{FACTS[n % 150]}, shelf {n}" if memories > 40 else f"warm up {n}")
        return memory


async def main(folder: str) -> None:
    worker = Worker(folder)
    for line in sys.stdin:
        operation, count = line.rsplit(maxsplit=1)
        print(json.dumps(await worker.run(operation, int(count))), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
