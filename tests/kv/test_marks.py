"""Only a set makes an entry: nobody else can mark a memory as the value of a key."""

from typing import Any

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.errors import InvalidRequest
from memorywire.model.kv import Owner, OwnerKind, is_entry
from memorywire.model.record import DEFAULT_TENANT
from memorywire_testing.samples import a_record, a_scope
from tests.engine.stage import HandClock
from tests.kv.stage import STORES, play

MARK: dict[str, Any] = {"of": "agent", "key": "k", "bytes": 1, "embedded": False}
PLACE = Owner(kind=OwnerKind.AGENT, id="a", tenant=DEFAULT_TENANT).address("k")


@pytest.mark.parametrize("url", STORES)
def test_a_remember_cannot_make_an_entry_nor_change_one(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", "tea")
        for options in ({}, {"id": memory.kv.owner.address("other")}, {"id": kept.id, "if_version": 1}):
            with pytest.raises(InvalidRequest) as refused:
                await memory.remember("coffee", metadata={"kv": MARK}, **options)
            assert refused.value.field == "metadata.kv"
        assert [(entry.key, entry.value) for entry in await memory.kv.list()] == [("k", "tea")]
        assert (await memory.remember("coffee", metadata={"kv": "of my own"})).version == 1

    play(story, url)


def test_of_many_only_the_one_that_forges_is_refused() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        items = [{"content": "coffee"}, {"content": "tea", "metadata": {"kv": MARK}}, {"content": "milk"}]
        done = await memory.remember_many(items)
        assert [isinstance(one, InvalidRequest) for one in done] == [False, True, False]
        assert not [*await memory.kv.list()]

    play(story)


def test_a_mark_that_came_with_a_file_counts_only_in_the_place_of_a_key() -> None:
    stray = a_record(a_scope(), metadata={"kv": MARK})
    assert not is_entry(stray)
    assert is_entry(replace(stray, id=PLACE))
    assert not is_entry(replace(stray, id=PLACE, metadata={"kv": {**MARK, "bytes": True}}))
