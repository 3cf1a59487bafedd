"""Items of a harness are the same on every store, and on one that is behind an address."""

from collections.abc import Iterator
from functools import partial

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.client.harness import MemoryItem, Status
from memorywire.model.capabilities import Feature
from memorywire_server.http.peers import store_mount
from tests.contracts.conftest import Place
from tests.engine.stage import HandClock
from tests.http.server import serving


async def _life(memory: Memory, clock: HandClock, has_log: bool = True) -> None:
    harness = memory.harness
    first = MemoryItem(id="mem_1", content="The office is in Porto", created_at=5, relevancy=0.5, tags=("a",))
    assert await harness.write(first) == "mem_1"
    kept = await harness.get("mem_1")
    assert kept is not None
    assert replace(kept, backends=()) == first
    assert await harness.write(replace(kept, relevancy=0.9)) == "mem_1"
    second = await harness.write(MemoryItem(content="The office is in Lisbon", supersedes="mem_1"))
    assert [found.item.id for found in await harness.search("where is the office?")] == [second]
    was = await harness.get("mem_1")
    assert (was is None) is (Feature.HISTORY not in (await memory.capabilities()).features)
    assert was is None or (was.status, was.relevancy) == (Status.SUPERSEDED, 0.9)
    current = await harness.get(second)
    assert current is not None
    await harness.write(replace(current, status=Status.BLACKLISTED))
    assert await harness.search("where is the office?") == []
    before = [Status.SUPERSEDED] if was is not None and has_log else []
    assert [item.status async for item in harness.all()] == [Status.BLACKLISTED, *before]
    await harness.delete(second)
    await harness.delete(second)
    assert [item.status async for item in harness.all()] == before
    assert await harness.get(second) is None


def test_items_live_the_same_life_everywhere(place: Place) -> None:
    place.play(_life)


@pytest.fixture
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store that is somebody's server: every verb is a request over HTTP."""
    with serving(mounts=lambda container: [store_mount(container)]) as server:
        token = server.operator("harness", tenants=["default"]).token
        address = server.client.url.replace("http://", f"http://{token}@")
        yield Place([address], tmp_path_factory.mktemp("far"))


def test_items_live_the_same_life_over_http(far: Place) -> None:
    far.play(partial(_life, has_log=False))  # a store behind an address tells no changes
