"""A backend that is somebody else's server: its answers are bounded, it leads nowhere else, it is watched."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.house import Rules
from memorywire.house.definitions.guard import MOST_BYTES
from memorywire.model.answers import Status
from memorywire.model.errors import StoreError
from memorywire.servers.http.peers import store_mount
from tests.definitions.test_serving import Desk, _contents, _definition
from tests.engine.quick import Quick
from tests.http.server import Server, serving

_PIECE = b" " * 65_536


class Stranger(BaseHTTPRequestHandler):
    """Answers every request in one way, and counts."""

    asked: list[str]
    sent: int
    way: Callable[["Stranger"], None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).asked.append(self.headers.get("Authorization", ""))
        type(self).way(self)

    def begin(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        """Nobody reads it."""


@contextmanager
def strange(way: Callable[[Stranger], None]) -> Iterator[tuple[type[Stranger], int]]:
    kind = type("One", (Stranger,), {"asked": [], "sent": 0, "way": staticmethod(way)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield kind, server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _asked(port: int, folder: Path) -> str:
    """What an agent is told that is bound to the server on this port."""
    rules = Rules(keys=("FAR_*",), hosts=frozenset({"127.0.0.1"}), env={"FAR_KEY": "s3cret-value"})
    definition = {
        "name": "far",
        "url": f"http://{{key}}@127.0.0.1:{port}",
        "tenancy": {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"},
        "key_env": "FAR_KEY",
    }

    async def story() -> str:
        async with Desk(f"sqlite://{folder}/here.db", rules) as desk:
            bot = await desk.tenant("t")
            await desk.bind(bot, definition)
            with pytest.raises(StoreError) as caught:
                await bot.remember("kept there")
            return f"{caught.value.detail} {caught.value.fix}"

    return asyncio.run(story())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nobody_is_followed_elsewhere_and_the_key_stays_with_the_one_it_is_for(
    status: int, tmp_path: Path
) -> None:
    with strange(lambda self: self.begin(200)) as (other, port):
        place = f"http://127.0.0.1:{port}/"
        with strange(lambda self: self.begin(status, Location=place)) as (first, own):
            told = _asked(own, tmp_path)
    assert first.asked == ["Bearer s3cret-value"] * len(first.asked) != []
    assert other.asked == []
    assert "s3cret-value" not in told


def test_an_answer_without_end_is_read_only_so_far(tmp_path: Path) -> None:
    def pour(self: Stranger) -> None:
        self.begin(200)
        try:
            while type(self).sent < 8 * MOST_BYTES:
                self.wfile.write(_PIECE)
                type(self).sent += len(_PIECE)
        except ConnectionError:
            return

    with strange(pour) as (kind, port):
        told = _asked(port, tmp_path)
        assert "s3cret-value" not in told
    assert len(kind.asked) == 1
    assert MOST_BYTES <= kind.sent < 4 * MOST_BYTES  # what was on its way when the reader left counts, too


@pytest.fixture
def far() -> Iterator[Server]:
    with serving(embedder=Quick(), mounts=lambda house: [store_mount(house)]) as server:
        yield server


def _rules(far: Server) -> Rules:
    token = far.operator("one", tenants=["one"]).token or ""
    return Rules(keys=("FAR_KEY_*",), hosts=frozenset({"127.0.0.1"}), env={"FAR_KEY_ONE": token})


async def _until(memory: Memory, healthy: bool) -> None:
    backends = (await memory._open()).backends
    assert backends is not None
    for _ in range(6_000):
        if backends.healthy((await backends.list("one"))[0]) is healthy:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the backend is said to be otherwise")


def test_a_backend_that_goes_away_is_noticed_at_the_next_look(far: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with Desk(f"sqlite://{tmp_path}/here.db", _rules(far)) as desk:
            bot = await desk.tenant("one")
            await desk.bind(bot, _definition(far, health_seconds=1))
            await bot.remember("kept there")
            await _until(bot, True)
            far.end()
            await _until(bot, False)

    asyncio.run(story())


def test_what_is_forgotten_while_the_backend_is_away_does_not_come_back(far: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with Desk(f"sqlite://{tmp_path}/here.db", _rules(far)) as desk:
            bot = await desk.tenant("one")
            softly, for_good = await bot.remember("first"), await bot.remember("second")
            changed = await bot.remember("third")
            await desk.bind(bot, _definition(far, fallback=True))
            await bot.remember("of the backend")
            far.end()
            assert await _contents(bot) == ["first", "second", "third"]
            await bot.forget(softly.id)
            await bot.forget(for_good.id, hard_delete=True)
            done = await bot.remember("third, said better", id=changed.id, if_version=1)
            assert done.status is Status.DEFERRED
            assert await _contents(bot) == []
            assert not (await bot.recall("first", min_relevance="off")).hits

    asyncio.run(story())
