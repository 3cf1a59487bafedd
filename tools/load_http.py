"""Many clients at once against a real server, beside the same operations in its own process.

`python tools/load_http.py --memories 100000 --soak 300 --markdown FILE` is the campaign. Slices without the
door and through it take turns, so that whatever else the machine does concerns both. The soak recalls from
all memories, and writes, replaces and erases a few of another agent, so that their number stays as it is, and
watches the memory of the server; `--rounds 0` is the soak alone.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count, islice
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import psutil

from memorywire.app import Container, Governance, open_container
from memorywire.app.dispatch import dispatch
from memorywire.client.bulk import remember_each
from memorywire.model.clock import system_clock
from memorywire.model.record import Json
from memorywire.model.space import Space
from memorywire.search.embed import open_embedder
from memorywire.wire.codec import encode
from memorywire_evals.bench.corpus import facts
from memorywire_server.http.endpoint import Limits
from memorywire_server.http.serve import Address, Serving, serve
from soak import Flatness, watched

AGENT = "load"
SOAKED = "soak"
QUESTIONS = 2_000
CHUNK = 2_048
ENOUGH = 0.6
MOST_SPREAD = 20.0
LIFE = 16  # versions of a memory until it is erased

Ask = Callable[[str, dict[str, Json]], Awaitable[dict[str, Json]]]


class MadeUp:
    """No embedding step: a text has a vector that means nothing, in clusters as embedders make them.

    It keeps nothing, so that the memory of the server is the server's.
    """

    def __init__(self) -> None:
        self.space: Space = open_embedder("minilm", api_key=None).space
        dice = np.random.default_rng(1)
        self._centres = dice.normal(0, 0.6, (3_000, self.space.dimension)).astype("<f4")
        self._around = dice.normal(0, 0.7, (4_093, self.space.dimension)).astype("<f4")

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> bytes:
        number = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
        row = self._centres[number % len(self._centres)] + self._around[number % len(self._around)]
        return (row / np.sqrt(row @ row)).tobytes()

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass
class Measured:
    """How long each operation took, in seconds, and how many went wrong; `cpu` is what the server worked."""

    name: str
    seconds: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: int = 0
    cpu: float = 0.0

    def add(self, other: "Measured") -> None:
        self.seconds += other.seconds
        self.cpu += other.cpu
        self.times += other.times
        self.errors += other.errors

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    @property
    def spread(self) -> float:
        cuts = statistics.quantiles(self.times, n=100)
        return cuts[98] / cuts[49]

    def line(self) -> str:
        cuts = [1000 * cut for cut in statistics.quantiles(self.times, n=100)]
        return (
            f"| {self.name} | {self.rate:.0f} | {cuts[49]:.1f} | {cuts[98]:.1f} "
            f"| {self.spread:.1f} | {1000 * self.cpu / len(self.times):.2f} | {self.errors} |"
        )


class Crowd:
    """What clients ask, whichever way they ask it."""

    def __init__(self, ask: Sequence[Ask], mark: str) -> None:
        self._ask = ask
        self._mark = mark
        self._questions = [fact.question for fact in islice(facts(), QUESTIONS)]
        self._turn = count()
        self._own: dict[int, tuple[str | None, int]] = {}

    async def recall(self, number: int) -> bool:
        query = self._questions[next(self._turn) % QUESTIONS]
        return "results" in await self._ask[number]("recall", {"agent_id": AGENT, "query": query})

    async def remember(self, number: int) -> bool:
        return "id" in await self._write(number, {})

    async def renew(self, number: int) -> bool:
        """The next version of the one memory this client has; an old one is erased, and a new one begun."""
        id, version = self._own.get(number, (None, 0))
        if version == LIFE:
            del self._own[number]
            fields: dict[str, Json] = {"agent_id": SOAKED, "ids": [id], "hard_delete": True}
            return "forgotten_ids" in await self._ask[number]("forget", fields)
        known = {"id": id, "if_version": version} if id else {}
        # Words that were said before: each new one stays in a cache until that is full.
        said = f"{self._questions[next(self._turn) % QUESTIONS]} client {number}"
        answer = await self._write(number, {"agent_id": SOAKED, "content": said, **known})
        self._own[number] = (answer.get("id"), answer.get("version", 0))
        return "id" in answer

    async def either(self, number: int) -> bool:
        return await (self.recall if number % 2 else self.renew)(number)

    async def _write(self, number: int, fields: dict[str, Json]) -> dict[str, Json]:
        said = f"{self._mark} client {number} said line {next(self._turn)}"
        payload = {"agent_id": AGENT, "type": "semantic", "content": said, **fields}
        return await self._ask[number]("remember", payload)

    async def work(self, verb: str, seconds: float, server: psutil.Process) -> Measured:
        """Every client does the verb again and again until the time is over."""
        found, worked = Measured(verb), _cpu(server)
        act: Callable[[int], Awaitable[bool]] = getattr(self, verb)
        began = time.perf_counter()
        end = began + seconds

        async def client(number: int) -> None:
            while (start := time.perf_counter()) < end:
                found.errors += not await act(number)
                found.times.append(time.perf_counter() - start)

        await asyncio.gather(*(client(number) for number in range(len(self._ask))))
        found.seconds, found.cpu = time.perf_counter() - began, _cpu(server) - worked
        return found


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def filled(folder: str, memories: int) -> Container:
    container = await open_container(
        stores=[f"sqlite://{folder}/load.db"],
        embedder=MadeUp(),
        embedder_key=None,
        clock=system_clock,
        governance=Governance(policy="open"),
    )
    source = facts()
    while memories > 0:
        chunk = [fact.content for fact in islice(source, min(CHUNK, memories))]
        given = [{"agent_id": AGENT, "type": "semantic", "content": text} for text in chunk]
        async for _ in remember_each(given, container.context, tenant="default"):
            pass
        memories -= len(chunk)
    return container


def child(pipe: Connection, folder: str, memories: int, clients: int) -> None:
    """The server's process, which does the same work without its door when it is told to."""

    async def life() -> None:
        container = await filled(folder, memories)

        async def ask(operation: str, payload: dict[str, Json]) -> dict[str, Json]:
            answer: dict[str, Json] = encode(await dispatch(operation, payload, container, tenant="default"))
            return answer

        crowd, stop, own = Crowd([ask] * clients, "inside"), asyncio.Event(), psutil.Process()

        async def obey() -> None:
            while (told := await asyncio.to_thread(pipe.recv)) is not None:
                pipe.send(await crowd.work(*told, own))
            stop.set()

        obeying = asyncio.create_task(obey())
        await serve(
            container,
            Serving(address=Address(port=0), limits=Limits(rate=1e9), ready=pipe.send, log=None),
            stop,
        )
        await obeying
        await container.close()

    asyncio.run(life())


class Line:
    """One kept-alive connection that speaks as little HTTP as it takes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    def close(self) -> None:
        self._writer.close()

    async def ask(self, operation: str, payload: dict[str, Json]) -> dict[str, Json]:
        body = json.dumps(payload).encode()
        head = f"POST /v0/{operation} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answered.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        answer: dict[str, Json] = json.loads(await self._reader.readexactly(length))
        return answer if answered.startswith(b"HTTP/1.1 200") else {}


@asynccontextmanager
async def crowded(url: str, clients: int, mark: str) -> AsyncIterator[Crowd]:
    """Clients with a connection each."""
    parts = urlsplit(url)
    lines = [Line(*await asyncio.open_connection(parts.hostname, parts.port)) for _ in range(clients)]
    yield Crowd([line.ask for line in lines], mark)
    for line in lines:
        line.close()


@dataclass(frozen=True)
class Soaked:
    """A soak: what was asked, and the memory of the server after it had settled."""

    asked: Measured
    size: Flatness
    settling: float

    def lines(self) -> Iterator[str]:
        yield self.asked.line()
        yield ""
        yield from self.size.lines(self.settling)


async def soaked(crowd: Crowd, server: psutil.Process, settling: float, seconds: float) -> Soaked:
    asked, size = await asyncio.gather(
        crowd.work("either", settling + seconds, server), watched(server, settling, seconds)
    )
    asked.name = "both, mixed, over HTTP"
    return Soaked(asked, size, settling)


async def compared(
    asked: argparse.Namespace, pipe: Connection, url: str, server: psutil.Process
) -> dict[str, Measured]:
    """Each verb without the door and through it, in turns; a line that is idle meanwhile would be closed."""
    found: dict[str, Measured] = {}
    for verb in ("recall", "remember"):
        inside, outside = Measured(f"{verb} in process"), Measured(f"{verb} over HTTP")
        for turn in range(-1, asked.rounds):
            pipe.send((verb, asked.slice))
            without = await asyncio.to_thread(pipe.recv)
            async with crowded(url, asked.clients, f"outside {turn}") as crowd:
                through = await crowd.work(verb, asked.slice, server)
            if turn >= 0:  # the first is to warm up
                inside.add(without)
                outside.add(through)
        found |= {inside.name: inside, outside.name: outside}
    return found


def verdicts(found: dict[str, Measured], soak: Soaked | None) -> Iterator[tuple[str, bool]]:
    if found:
        yield from _beside(found)
    errors = sum(one.errors for one in found.values()) + (soak.asked.errors if soak else 0)
    yield f"{errors} errors", errors == 0
    if soak is not None:
        yield soak.size.verdict(), soak.size.holds


def _beside(found: dict[str, Measured]) -> Iterator[tuple[str, bool]]:
    shares = {
        verb: found[f"{verb} over HTTP"].rate / found[f"{verb} in process"].rate
        for verb in ("recall", "remember")
    }
    said = ", ".join(f"{verb} keeps {share:.0%} of its rate" for verb, share in shares.items())
    yield said, shares["recall"] >= ENOUGH
    widest = max(found[f"{verb} over HTTP"].spread for verb in shares)
    yield f"p99 is at most {widest:.1f} times p50", widest < MOST_SPREAD


def report(asked: argparse.Namespace, found: dict[str, Measured], soak: Soaked | None) -> Iterator[str]:
    machine = f"CPython {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}"
    yield f"{asked.clients} clients, {asked.memories} memories, {machine}."
    yield ""
    yield "| what | a second | p50 ms | p99 ms | p99/p50 | CPU ms | errors |\n|---|---|---|---|---|---|---|"
    yield from (one.line() for one in found.values())
    if soak is not None:
        yield from soak.lines()
    yield ""
    for said, holds in verdicts(found, soak):
        yield f"- {said}: {'holds' if holds else 'DOES NOT HOLD'}"


async def campaign(asked: argparse.Namespace, pipe: Connection, server: psutil.Process) -> int:
    url, soak = await asyncio.to_thread(pipe.recv), None
    found = await compared(asked, pipe, url, server) if asked.rounds else {}
    if asked.soak:
        async with crowded(url, asked.clients, "soaking") as crowd:
            soak = await soaked(crowd, server, asked.settle, asked.soak)
    text = "\n".join(report(asked, found, soak)) + "\n"
    print(text)
    if asked.markdown:
        asked.markdown.write_text(text, encoding="utf-8")
    return int(not all(holds for _, holds in verdicts(found, soak)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3, help="slices of each kind")
    parser.add_argument("--slice", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--soak", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument(
        "--settle", type=float, default=120.0, metavar="SECONDS", help="of a soak, not looked at"
    )
    parser.add_argument("--markdown", type=Path, help="write what is printed to a file, too")
    asked = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        here, there = spawn.Pipe()
        process = spawn.Process(target=child, args=(there, folder, asked.memories, asked.clients))
        process.start()
        try:
            return asyncio.run(campaign(asked, here, psutil.Process(process.pid)))
        finally:
            here.send(None)
            process.join()


if __name__ == "__main__":
    sys.exit(main())
