"""Many clients at once against a real server, beside the same operations in process; one run, one table.

`python tools/load_http.py --memories 100000 --seconds 60 --clients 64` is the campaign; `--soak` goes on
with both operations for as long as that and watches the memory of the server.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

import psutil

from memorywire.evals.bench.corpus import facts
from memorywire.evals.bench.known import Known
from memorywire.facades.bulk import remember_each
from memorywire.facades.dispatch import dispatch
from memorywire.house import Governance, House, open_house
from memorywire.model.clock import system_clock
from memorywire.retrieval.embed import open_embedder
from memorywire.servers.http.door import Limits
from memorywire.servers.http.run import Address, Serving, serve
from memorywire.wire.codec import encode

AGENT = "load"
QUESTIONS = 2_000
CHUNK = 2_048


class MadeUp(Known):
    """No embedding step: a text that is not known gets a vector that means nothing."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.make_up([text for text in texts if text not in self._vectors])
        return [self._vectors[text] for text in texts]


@dataclass
class Measured:
    """How long each operation took, in seconds, and how many went wrong."""

    name: str
    seconds: float
    times: list[float] = field(default_factory=list)
    errors: int = 0

    @property
    def rate(self) -> float:
        return len(self.times) / self.seconds

    def line(self) -> str:
        cuts = statistics.quantiles(self.times, n=100)
        return (
            f"| {self.name} | {self.rate:.0f} | {cuts[49] * 1000:.1f} | {cuts[98] * 1000:.1f} "
            f"| {cuts[98] / cuts[49]:.1f} | {self.errors} |"
        )


async def measured(
    name: str, seconds: float, clients: int, work: Callable[[int], Awaitable[bool]]
) -> Measured:
    """`clients` tasks that do the work again and again until the time is over."""
    found = Measured(name, seconds)
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        while (began := time.perf_counter()) < end:
            found.errors += not await work(number)
            found.times.append(time.perf_counter() - began)

    await asyncio.gather(*(client(number) for number in range(clients)))
    return found


async def filled(folder: str, memories: int) -> House:
    house = await open_house(
        stores=[f"sqlite://{folder}/load.db"],
        embedder=MadeUp(open_embedder("minilm", api_key=None)),
        embedder_key=None,
        clock=system_clock,
        governance=Governance(policy="open"),
    )
    source = facts()
    while memories > 0:
        chunk = [fact.content for fact in islice(source, min(CHUNK, memories))]
        given = [{"agent_id": AGENT, "type": "semantic", "content": text} for text in chunk]
        async for _ in remember_each(given, house.tools, tenant="default"):
            pass
        memories -= len(chunk)
    return house


def questions() -> list[dict[str, object]]:
    return [{"agent_id": AGENT, "query": fact.question} for fact in islice(facts(), QUESTIONS)]


def writing(mark: str) -> Iterator[dict[str, object]]:
    for number in count():
        yield {"agent_id": AGENT, "type": "semantic", "content": f"{mark} line {number} of what was said"}


def child(pipe: Connection, folder: str, memories: int, seconds: float, clients: int) -> None:
    """The server's process: first the same work without a door, then the door."""

    async def life() -> None:
        house = await filled(folder, memories)
        asked, said, turn = questions(), writing("inside"), count()

        async def recall(_: int) -> bool:
            payload = asked[next(turn) % len(asked)]
            return "results" in encode(await dispatch("recall", payload, house, tenant="default"))

        async def remember(_: int) -> bool:
            return "id" in encode(await dispatch("remember", next(said), house, tenant="default"))

        await measured("warm up", min(seconds, 3), clients, recall)
        pipe.send([await measured("recall in process", seconds, clients, recall)])
        pipe.send([await measured("remember in process", seconds, clients, remember)])
        serving = Serving(
            address=Address(port=0), limits=Limits(rate=1e9), ready=lambda url: pipe.send(url), log=None
        )
        await serve(house, serving)
        await house.close()

    asyncio.run(life())


class Line:
    """One kept-alive connection that speaks as little HTTP as it takes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, payload: object) -> bool:
        body = json.dumps(payload).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answered.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await self._reader.readexactly(length)
        return answered.startswith(b"HTTP/1.1 200")


async def outside(url: str, seconds: float, clients: int, *, both: bool) -> list[Measured]:
    parts = urlsplit(url)
    lines = [Line(*await asyncio.open_connection(parts.hostname, parts.port)) for _ in range(clients)]
    asked, said, turn = questions(), writing("outside"), count()

    async def recall(number: int) -> bool:
        return await lines[number].post("/v0/recall", asked[next(turn) % len(asked)])

    async def remember(number: int) -> bool:
        return await lines[number].post("/v0/remember", next(said))

    async def either(number: int) -> bool:
        return await (recall if number % 2 else remember)(number)

    if both:
        return [await measured("both over HTTP", seconds, clients, either)]
    return [
        await measured("recall over HTTP", seconds, clients, recall),
        await measured("remember over HTTP", seconds, clients, remember),
    ]


def soak(url: str, server: psutil.Process, seconds: float, clients: int) -> None:
    """Slices of a long run, with the memory of the server after each."""
    began, kept = time.monotonic(), []
    while time.monotonic() - began < seconds:
        (found,) = asyncio.run(outside(url, min(30.0, seconds), clients, both=True))
        kept.append((time.monotonic() - began, server.memory_info().rss / 2**20))
        print(f"{found.line()} {kept[-1][1]:.1f} MiB", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--soak", type=float, default=0.0, metavar="SECONDS")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=child, args=(there, folder, asked.memories, asked.seconds, asked.clients)
        )
        process.start()
        found: list[Measured] = [*here.recv(), *here.recv()]
        url = here.recv()
        found += asyncio.run(outside(url, asked.seconds, asked.clients, both=False))
        print("| what | a second | p50 ms | p99 ms | p99/p50 | errors |\n|---|---|---|---|---|---|")
        print("\n".join(one.line() for one in found), flush=True)
        print(
            f"recall keeps {found[2].rate / found[0].rate:.0%}, remember {found[3].rate / found[1].rate:.0%}"
        )
        if asked.soak:
            soak(url, psutil.Process(process.pid), asked.soak, asked.clients)
        process.terminate()
        process.join()
    return int(any(one.errors for one in found))


if __name__ == "__main__":
    sys.exit(main())
