"""What a schema cannot count is refused all the same, before anything is kept."""

import pytest

from memorywire.model.answers import Status
from memorywire.model.errors import InvalidRequest
from memorywire.model.requests import METADATA_BYTES_MAX
from tests.engine.stage import STORES, play

pytestmark = pytest.mark.parametrize("url", STORES)
FRAME = len('{"a":""}')


def test_metadata_is_bounded(url):
    """Proves RM-18."""

    async def story(memory, clock):
        room = METADATA_BYTES_MAX - FRAME
        kept = await memory.remember("as much as fits", metadata={"a": "é" * (room // 2)})
        with pytest.raises(InvalidRequest) as caught:
            await memory.remember("a byte too much", metadata={"a": "x" * (room + 1)})
        assert (kept.status, caught.value.field) == (Status.COMMITTED, "metadata")
        assert (await memory.list()).total == 1
        assert (await memory.call("capabilities", {}))["limits"]["metadata_bytes_max"] == METADATA_BYTES_MAX

    play(url, story)


def test_a_merge_keeps_metadata_within_its_bound(url):
    """Proves RM-18."""

    async def story(memory, clock):
        half = METADATA_BYTES_MAX // 2
        one = await memory.remember("one", metadata={"a": "x" * half})
        two = await memory.remember("two", metadata={"b": "x" * half})
        with pytest.raises(InvalidRequest) as caught:
            await memory.merge(one.id, [two.id], strategy="merge_content")
        assert caught.value.field == "strategy"
        assert (await memory.merge(one.id, [two.id])).version == 2

    play(url, story)
