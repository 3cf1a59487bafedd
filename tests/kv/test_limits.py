"""What does not fit, or cannot be done here, is refused with a code of its own before anything is kept."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.model.capabilities import Capabilities, Feature, probe
from memorywire.model.errors import (
    DimensionMismatch,
    EmbedderFailed,
    EmbedderNotConfigured,
    InvalidRequest,
    QuotaExceeded,
    ValueTooLarge,
    VectorUnsupported,
)
from memorywire.model.kv import Limits
from memorywire.search.embed.openai import unit_vector
from memorywire.stores.memory import MemoryStore
from tests.engine.quick import Quick
from tests.engine.stage import HandClock
from tests.kv.stage import STORES, play


def test_a_value_may_have_so_many_bytes_and_no_more() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "x" * 8)  # and two quotation marks
        with pytest.raises(ValueTooLarge) as caught:
            await memory.kv.set("k", "x" * 9)
        assert caught.value.code == "value_too_large"

    play(story, kv_limits=Limits(value_bytes=10))


def test_the_values_of_an_owner_have_a_quota_of_their_own() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", "x" * 8)
        await memory.kv.set("b", "x" * 8)
        with pytest.raises(QuotaExceeded) as caught:
            await memory.kv.set("c", 1)
        assert caught.value.code == "quota_exceeded"
        await memory.kv.set("a", "y" * 8)  # no more than before
        await memory.kv.of("user", "ana").set("c", 1)
        await memory.kv.delete("b")
        await memory.kv.set("c", "x" * 8)

    play(story, kv_limits=Limits(quota_bytes=20))


def test_what_has_expired_makes_room() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", "x" * 8, ttl=1)
        with pytest.raises(QuotaExceeded):
            await memory.kv.set("b", 1)
        clock.now += 1_000
        await memory.kv.set("b", 1)

    play(story, kv_limits=Limits(quota_bytes=10))


def test_a_quota_holds_for_what_another_process_wrote(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/memory.db"

    async def both() -> None:
        few = Limits(quota_bytes=20)
        async with Memory("a", [url], kv_limits=few) as one, Memory("a", [url], kv_limits=few) as other:
            await one.kv.set("k1", 1)
            await other.kv.set("k2", "x" * 15)
            await other.kv.delete("k1")
            with pytest.raises(QuotaExceeded):
                await one.kv.set("k3", "x" * 18)

    asyncio.run(both())


def test_only_so_many_are_set_at_once() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set_many({"a": 1, "b": 2})
        with pytest.raises(InvalidRequest):
            await memory.kv.set_many({"a": 1, "b": 2, "c": 3})

    play(story, kv_limits=Limits(entries_at_once=2))


class Blind(MemoryStore):
    """A store that keeps no vectors."""

    features = MemoryStore.features - {Feature.VECTOR}


def test_a_store_without_vectors_keeps_values_and_refuses_to_embed() -> None:
    async def story() -> None:
        async with Memory("a", [Blind(Quick.space)], embedder=Quick()) as memory:
            await memory.kv.set("k", 1)
            for refused in (memory.kv.set("k", 2, embed=True), memory.kv.search("x"), memory.kv.stats()):
                with pytest.raises(VectorUnsupported) as caught:
                    await refused
                assert caught.value.code == "vector_unsupported"
            found = await memory.kv.get("k")
            assert found is not None
            assert found.value == 1

    asyncio.run(story())


def test_without_an_embedder_values_are_kept_and_nothing_is_embedded() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        assert (await memory.kv.set("k", 1)).embedded is False
        with pytest.raises(EmbedderNotConfigured) as caught:
            await memory.kv.set("k", 2, embed=True)
        assert caught.value.code == "embedder_not_configured"
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == 1
        for refused in (memory.kv.search("k"), memory.kv.stats()):
            with pytest.raises(EmbedderNotConfigured):
                await refused

    play(story, embedder="none")


@pytest.mark.parametrize("url", STORES)
def test_what_needs_an_embedder_is_advertised_where_there_is_one(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> Capabilities:
        return await memory.capabilities()

    wired, without = play(story, url), play(story, url, embedder="none")
    assert wired.features - without.features == {Feature.VECTOR}
    assert [Feature.VECTOR in one.stores[0].features for one in (wired, without)] == [True, False]
    told = [(probe(one)["vector_search"], probe(one)["stats"]) for one in (wired, without)]
    assert told == [(True, True), (False, False)]


class Wrong(Quick):
    """Promises more dimensions than it gives."""

    space = replace(Quick.space, dimension=Quick.space.dimension + 1)


class Elsewhere(Quick):
    """An endpoint that was configured with a dimension it does not have."""

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [unit_vector([1.0, 2.0], self.space.dimension) for _ in texts]


@pytest.mark.parametrize("embedder", [Wrong(), Elsewhere()], ids=["ours", "an endpoint"])
def test_vectors_of_another_dimension_are_refused_before_anything_is_kept(embedder: Quick) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(DimensionMismatch) as caught:
            await memory.kv.set("k", 1, embed=True)
        assert caught.value.code == "dimension_mismatch"
        assert await memory.kv.get("k") is None

    play(story, embedder=embedder)


class Tired(Quick):
    """Fails until it is rested."""

    def __init__(self) -> None:
        self.rested = False

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        if not self.rested:
            raise EmbedderFailed("too tired")
        return await super().embed(texts)


def test_a_value_is_kept_when_the_embedder_fails_and_can_be_embedded_later() -> None:
    tired = Tired()

    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", "green tea", embed=True)
        assert (kept.embedded, kept.embed_warning) == (False, "too tired")
        assert (await memory.kv.stats()).models == ()
        assert (await memory.kv.reembed()).failed == {"k": "too tired"}
        tired.rested = True
        assert (await memory.kv.reembed()).entries == 1
        stats = await memory.kv.stats()
        assert [(one.model, one.dimension, one.entries) for one in stats.models] == [
            (tired.space.model, tired.space.dimension, 1)
        ]
        found = await memory.kv.get("k")
        assert found is not None
        assert (found.value, found.embedded) == ("green tea", True)

    play(story, embedder=tired)
