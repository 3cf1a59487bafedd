"""A backend that is somebody else's server: its answers are bounded, it leads nowhere else, it is watched."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.app import Rules
from memorywire.app.backends.opening import MOST_BYTES
from memorywire.model.answers import Status
from memorywire.model.errors import StoreError
from memorywire_server.http.peers import store_mount
from tests.definitions.test_serving import CliContext, _contents, _definition
from tests.engine.quick import Quick
from tests.http.elsewhere import Exchange, answering
from tests.http.server import Server, serving

_PIECE = b" " * 65_536


@contextmanager
def strange(way: Callable[[Exchange], None]) -> Iterator[tuple[list[str], str]]:
    """A server that answers every request in one way: the keys that were sent to it, and its place."""
    keys: list[str] = []

    def answer(asked: Exchange, _: bytes) -> None:
        keys.append(asked.headers.get("Authorization", ""))
        way(asked)

    with answering(answer) as place:
        yield keys, place


def _asked(place: str, folder: Path) -> str:
    """What an agent is told that is bound to the server at this place."""
    rules = Rules(keys=("FAR_*",), hosts=frozenset({"127.0.0.1"}), env={"FAR_KEY": "s3cret-value"})
    definition = {
        "name": "far",
        "url": f"http://{{key}}@{place}",
        "tenancy": {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"},
        "key_env": "FAR_KEY",
    }

    async def story() -> str:
        async with CliContext(f"sqlite://{folder}/here.db", rules) as cli:
            bot = await cli.tenant("t")
            await cli.bind(bot, definition)
            with pytest.raises(StoreError) as caught:
                await bot.remember("kept there")
            return f"{caught.value.detail} {caught.value.fix}"

    return asyncio.run(story())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_nobody_is_followed_elsewhere_and_the_key_stays_with_the_one_it_is_for(
    status: int, tmp_path: Path
) -> None:
    with strange(lambda asked: asked.reply(200)) as (elsewhere, place):
        onward = {"Location": f"http://{place}/"}
        with strange(lambda asked: asked.reply(status, headers=onward)) as (here, own):
            told = _asked(own, tmp_path)
    assert here == ["Bearer s3cret-value"] * len(here) != []
    assert elsewhere == []
    assert "s3cret-value" not in told


def test_an_answer_without_end_is_read_only_so_far(tmp_path: Path) -> None:
    sent = 0

    def pour(asked: Exchange) -> None:
        nonlocal sent
        asked.send_response(200)
        asked.end_headers()
        with suppress(ConnectionError):
            while sent < 8 * MOST_BYTES:
                asked.wfile.write(_PIECE)
                sent += len(_PIECE)

    with strange(pour) as (keys, place):
        told = _asked(place, tmp_path)
        assert "s3cret-value" not in told
    assert len(keys) == 1
    assert MOST_BYTES <= sent < 4 * MOST_BYTES  # what was on its way when the reader left counts, too


@pytest.fixture
def far() -> Iterator[Server]:
    with serving(embedder=Quick(), mounts=lambda container: [store_mount(container)]) as server:
        yield server


def _rules(far: Server) -> Rules:
    token = far.operator("one", tenants=["one"]).token or ""
    return Rules(keys=("FAR_KEY_*",), hosts=frozenset({"127.0.0.1"}), env={"FAR_KEY_ONE": token})


async def _until(memory: Memory, healthy: bool) -> None:
    backends = (await memory._open()).backends
    assert backends is not None
    while True:
        if backends.healthy((await backends.list("one"))[0]) is healthy:
            return
        await asyncio.sleep(0.01)


def test_a_backend_that_goes_away_is_noticed_at_the_next_look(far: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", _rules(far)) as cli:
            bot = await cli.tenant("one")
            await cli.bind(bot, _definition(far, health_seconds=1))
            await bot.remember("kept there")
            await _until(bot, True)
            far.end()
            await _until(bot, False)

    asyncio.run(story())


def test_what_is_forgotten_while_the_backend_is_away_does_not_come_back(far: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", _rules(far)) as cli:
            bot = await cli.tenant("one")
            softly, for_good = await bot.remember("first"), await bot.remember("second")
            changed = await bot.remember("third")
            await cli.bind(bot, _definition(far, fallback=True))
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
