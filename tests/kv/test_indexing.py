"""What an entry is found by: all of it, the text that was given for it, or nothing but its key."""

from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, QuotaExceeded, SecretLeakage, ValueTooLarge
from memorywire.model.kv import Limits
from tests.engine.stage import HandClock
from tests.kv.stage import STORES, play

_MINUTE_MS = 60_000
_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_TEA = {"text": "Ana prefers green tea to coffee"}


async def _keys_found(memory: Memory, query: str) -> set[str]:
    return {match.entry.key for match in await memory.kv.search(query)}


@pytest.mark.parametrize("url", STORES)
def test_an_entry_without_a_vector_is_not_found_by_a_search(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("plain", _TEA)
        await memory.kv.set("embedded", _TEA, embed=True)
        assert await _keys_found(memory, "green tea") == {"embedded"}
        assert [entry.key for entry in await memory.kv.list()] == ["embedded", "plain"]

    play(story, url)


@pytest.mark.parametrize("url", STORES)
@pytest.mark.parametrize(
    ("options", "found"),
    [({}, False), ({"index": "all"}, True), ({"embed": True}, True), ({"embed_text": "tea"}, True)],
)
def test_an_entry_is_found_by_a_recall_only_if_it_asks_for_that(
    options: dict[str, Any], found: bool, url: str
) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("drink", _TEA, **options)
        answer = await memory.recall("green tea", min_relevance="off")
        assert bool(answer.hits) is found
        entry = await memory.kv.get("drink")
        assert entry is not None
        assert entry.value == _TEA

    play(story, url, embedder="minilm")


@pytest.mark.parametrize("url", STORES)
def test_an_entry_outside_the_index_is_found_by_its_key_alone(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("hidden", _TEA, index="none")
        entry = await memory.kv.get("hidden")
        assert entry is not None
        assert entry.value == _TEA
        assert [entry.key for entry in await memory.kv.list()] == ["hidden"]
        assert await _keys_found(memory, "green tea") == set()
        assert (await memory.recall("green tea", min_relevance="off")).hits == ()
        assert (await memory.recall("green tea", include=["archived"])).hits == ()

    play(story, url, embedder="minilm")


@pytest.mark.parametrize("url", STORES)
def test_an_entry_is_found_by_its_text_alone_if_it_asks_for_that(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", _TEA, embed=True, embed_text="a note on drinks", index="text")
        (by_text,) = await memory.kv.search("a note on drinks")
        (by_value,) = await memory.kv.search("Ana prefers green tea to coffee")
        assert by_text.score > 0.9
        assert by_value.score < 0.1
        assert by_text.entry.value == _TEA

    play(story, url, embedder="minilm")


def test_making_missing_vectors_leaves_what_is_outside_the_index() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("hidden", _TEA, index="none")
        await memory.kv.set("plain", _TEA, source="a-script", index="all")
        assert (await memory.kv.reembed()).entries == 1
        assert await _keys_found(memory, "green tea") == {"plain"}
        entry = await memory.kv.get("plain")
        assert entry is not None
        assert (await memory.get(entry.id)).source == "a-script"

    play(story)


def test_a_set_that_is_indexed_again_is_found_again() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", _TEA, index="none")
        await memory.kv.set("k", _TEA, embed=True)
        assert await _keys_found(memory, "green tea") == {"k"}

    play(story)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"index": "half"}, "index"),
        ({"index": "text"}, "embed_text"),
        ({"index": "none", "embed": True}, "index"),
    ],
    ids=["unknown", "text without a text", "embedded and hidden"],
)
def test_contradictions_are_refused(options: Any, field: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.kv.set("k", 1, **options)
        assert caught.value.field == field

    play(story)


@pytest.mark.parametrize("url", STORES)
def test_a_secret_is_replaced_where_that_is_asked_for(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(SecretLeakage):
            await memory.kv.set("k", {"token": _TOKEN})
        kept = await memory.kv.set("k", {"said": f"my token is {_TOKEN}"}, redact=True)
        assert kept.redacted is not None
        assert [one.kind for one in kept.redacted] == ["github-token"]
        results = await memory.kv.set_many({"a": "fine", "b": f"again {_TOKEN}"}, redact=True)
        assert not any(isinstance(one, Exception) for one in results)
        for key in ("k", "b"):
            entry = await memory.kv.get(key)
            assert entry is not None
            assert _TOKEN not in str(entry.value)
            assert "[REDACTED:" in str(entry.value)

    play(story, url, policy="balanced")


def test_an_area_has_limits_of_its_own() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        area = memory.kv.area("a/", Limits(value_bytes=300, quota_bytes=500))
        other = memory.kv.area("b/", Limits(value_bytes=300, quota_bytes=500))
        await area.set("a/1", "x" * 250)
        with pytest.raises(ValueTooLarge):
            await memory.kv.set("plain", "x" * 250)
        await memory.kv.set("plain", "x" * 90)
        await other.set("b/1", "x" * 290)
        with pytest.raises(QuotaExceeded):
            await area.set("a/2", "x" * 290)
        await area.delete("a/1")
        await area.set("a/2", "x" * 290)
        with pytest.raises(InvalidRequest):
            await area.set("elsewhere", 1)
        assert [entry.key for entry in await memory.kv.list()] == ["a/2", "b/1", "plain"]

    play(story, kv_limits=Limits(value_bytes=100, quota_bytes=100))


@pytest.mark.parametrize("url", STORES)
def test_a_touch_counts_the_time_to_live_from_now_on(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", 1, ttl=600, embed=True)
        await memory.kv.set("lasting", 1)
        for _ in range(3):
            clock.now += 9 * _MINUTE_MS
            entry = await memory.kv.touch("k")
            assert entry is not None
            assert entry.expires_at == clock.now + 10 * _MINUTE_MS
        assert entry.updated_at < clock.now
        assert entry.embedded
        clock.now += 10 * _MINUTE_MS
        assert await memory.kv.touch("k") is None
        lasting = await memory.kv.touch("lasting")
        assert lasting is not None
        assert (lasting.version, lasting.expires_at) == (1, None)

    play(story, url)
