"""The work that `compare_speed.py` times in each of two installs; prints medians in milliseconds as JSON."""

import asyncio
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
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


async def median(call: Callable[[int], Awaitable[object]], count: int) -> float:
    times = []
    for number in range(count):
        started = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


async def main(folder: str) -> None:
    figures: dict[str, float] = {}
    async with Memory("ana", f"sqlite:///{folder}/plain.db", embedder=Hashed()) as memory:
        await median(lambda n: memory.remember(f"warm up {n}"), 40)
        figures["remember without embedding"] = await median(
            lambda n: memory.remember(f"{FACTS[n % 150]}, place {n}"), 300
        )
        figures["recall without embedding"] = await median(lambda n: memory.recall(FACTS[n]), 150)
        figures["kv set"] = await median(lambda n: memory.kv.set(f"key {n % 60}", {"n": n}), 300)
        figures["kv get"] = await median(lambda n: memory.kv.get(f"key {n % 60}"), 300)
        started = time.perf_counter()
        await memory.remember_many(_items(3_000))
        figures["bulk of 3,000 without embedding"] = (time.perf_counter() - started) * 1e3
    async with Memory("ben", f"sqlite:///{folder}/embedded.db") as memory:
        await median(lambda n: memory.remember(f"warm up {n}"), 10)
        figures["remember"] = await median(lambda n: memory.remember(f"{FACTS[n]}, box {n}"), 150)
        figures["recall"] = await median(lambda n: memory.recall(FACTS[n]), 150)
    print(json.dumps(figures))


def _items(count: int) -> Iterable[str]:
    return [f"{FACTS[n % 150]}, item {n} of a list" for n in range(count)]


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
