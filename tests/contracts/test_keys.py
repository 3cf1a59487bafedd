"""Keys and values are the same on every store: what is set is what is got, found, counted and deleted."""

import asyncio
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    QuotaExceeded,
    SecretLeakage,
    ValueTooLarge,
    WrongType,
)
from memorywire.model.kv import Limits
from tests.contracts.conftest import Place
from tests.engine.stage import HandClock, one_rule

_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_VALUES: dict[str, Any] = {
    "text": 'zwölf Boxkämpfer\n\t"jagen" 😀 \\u0041',
    "numbers": [0, -1, 2**53 + 1, -(2**63), 1.5, 1e-300, 0.1],
    "constants": [True, False, None],
    "nothing": None,
    "empty": {"list": [], "object": {}, "text": ""},
    "deep": {"a": [{"b": [{"c": {"": {"kv": "x", "null": None}}}]}]},
    "order": {"z": 1, "a": 2, "m": 3},
}


async def _value(memory: Memory, key: str) -> Any:
    found = await memory.kv.get(key)
    return None if found is None else found.value


def test_values_come_back_as_they_were_set_also_another_time(place: Place) -> None:
    async def setting(memory: Memory, clock: HandClock) -> None:
        done = await memory.kv.set_many(_VALUES)
        assert [getattr(kept, "status", None) for kept in done] == [Status.COMMITTED] * len(_VALUES)
        await got(memory, clock)

    async def got(memory: Memory, clock: HandClock) -> None:
        for key, value in _VALUES.items():
            assert repr(await _value(memory, key)) == repr(value)
        assert [entry.key for entry in await memory.kv.list()] == sorted(_VALUES)

    place.play(setting)
    if place.urls != ["memory://"]:
        place.play(got)


def test_a_set_can_be_undone_where_the_past_is_kept(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "one")
        second = await memory.kv.set("k", "two")
        if place.keeps_its_past:
            await memory.undo(second.change_id or "")
        else:
            with pytest.raises(CapabilityUnsupported):
                await memory.undo(second.change_id or "")
        assert await _value(memory, "k") == ("one" if place.keeps_its_past else "two")

    place.play(story)


def test_versions_go_on_over_sets_and_a_deleted_key_can_be_set_again(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.kv.set("k", "one", if_version=0)
        born, clock.now = clock.now, clock.now + 5
        second = await memory.kv.set("k", "two", if_version=1)
        with pytest.raises(Conflict):
            await memory.kv.set("k", "three", if_version=1)
        found = await memory.kv.get("k")
        assert found is not None
        assert (found.value, found.version, found.created_at, found.updated_at) == ("two", 2, born, clock.now)
        assert (await memory.kv.delete("k")).existed
        assert (await memory.kv.get("k"), (await memory.kv.delete("k")).existed) == (None, False)
        again = await memory.kv.set("k", "four")
        assert (await _value(memory, "k"), again.version) == ("four", 3 if place.keeps_its_past else 1)
        assert (again.id == first.id) is place.keeps_its_past
        await memory.kv.set("k", "five", if_version=again.version)
        assert [entry.value for entry in await memory.kv.list()] == ["five"]
        assert (await memory.kv.delete("k")).existed
        assert await memory.kv.get("k") is None
        assert second.id == first.id

    place.play(story)


def test_an_erased_key_begins_anew(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.kv.set("k", "zebra")
        await memory.forget(first.id, hard_delete=True)
        assert await memory.kv.get("k") is None
        second = await memory.kv.set("k", "lion", if_version=0)
        assert (await _value(memory, "k"), second.version) == ("lion", 1)
        assert second.id != first.id

    place.play(story)


def test_time_ends_an_entry_and_a_set_keeps_its_end(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("otp", 1, ttl=10)
        assert (await memory.kv.set("otp", 2)).expires_at == clock.now + 10_000
        clock.now += 9_999
        assert await _value(memory, "otp") == 2
        clock.now += 1
        assert await memory.kv.get("otp") is None
        assert (await memory.kv.list()).entries == ()
        assert (await memory.kv.set("otp", 3)).expires_at is None

    place.play(story)


def test_however_many_count_at_once_none_is_lost(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await asyncio.gather(*(memory.kv.incr("n", 2) for _ in range(12)))
        assert await _value(memory, "n") == 24
        await memory.kv.set("name", "Ana")
        with pytest.raises(WrongType):
            await memory.kv.incr("name")

    place.play(story)


def test_owners_and_prefixes_are_kept_apart_page_by_page(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        index_cache = [memory.kv, memory.kv.of("user", "ana"), memory.kv.of("tenant", "default")]
        for place_, agent_index in enumerate(index_cache):
            await agent_index.set_many({f"u/{n}": [place_, n] for n in (3, 1, 2)} | {"u%": 0, "v": 0})
        for place_, agent_index in enumerate(index_cache):
            first = await agent_index.list("u/", limit=2)
            rest = await agent_index.list("u/", limit=2, after=first.next)
            assert [entry.value for entry in (*first, *rest)] == [[place_, 1], [place_, 2], [place_, 3]]
            assert (first.truncated, rest.truncated) == (True, False)

    place.play(story)


def test_what_may_not_be_kept_is_refused_and_leaves_what_was_there(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "stays")
        for value, error in (
            ({"deep": [_TOKEN]}, SecretLeakage),
            ("x" * 100, ValueTooLarge),
        ):
            with pytest.raises(error):
                await memory.kv.set("k", value)
        await memory.kv.set("l", "x" * 90)
        with pytest.raises(QuotaExceeded):
            await memory.kv.set("m", "x" * 90)
        assert [(entry.key, entry.value) for entry in await memory.kv.list()] == [
            ("k", "stays"),
            ("l", "x" * 90),
        ]

    place.play(story, kv_limits=Limits(value_bytes=100, quota_bytes=180))


def test_entries_are_found_by_meaning_and_told_apart(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("a", "Ana prefers green tea to coffee", embed=True)
        await memory.kv.set("b", "Ana prefers green tea to coffee.", embed=True)
        await memory.kv.set("db", {"engine": "pg"}, embed=True, embed_text="The staging database is Postgres")
        await memory.kv.set("bare", "nobody embeds this", index="all")
        await memory.remember("A memory about the staging database")
        (best,) = await memory.kv.search("which database is on staging?", top_k=1)
        assert (best.entry.key, best.entry.value) == ("db", {"engine": "pg"})
        once = await memory.kv.search("what does Ana drink?", dedup={"mode": "drop"})
        keys = [match.entry.key for match in once]
        assert (once.repeats, len({"a", "b"} & set(keys))) == (1, 1)
        stats = await memory.kv.stats()
        assert (stats.entries, [(model.dimension, model.entries) for model in stats.models]) == (
            4,
            [(384, 3)],
        )
        assert (await memory.kv.reembed()).entries == 1
        assert (await memory.kv.stats()).models[0].entries == 4

    place.play(story)


def test_a_held_value_waits_and_the_old_one_stays(place: Place) -> None:
    policy = one_rule(place.folder, "hold", content_contains=["held"])

    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "old")
        kept = await memory.kv.set("k", "held")
        assert (kept.status, await _value(memory, "k")) == (Status.STAGED, "old")
        await memory.decide(kept.proposal_id or "", "approve")
        assert await _value(memory, "k") == "held"
        assert (await memory.audit_verify()).report.ok

    place.play(story, policy=policy)


def test_what_is_outside_the_index_is_found_by_its_key_alone(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        value = {"text": "Ana prefers green tea to coffee"}
        await memory.kv.set("hidden", value, index="none")
        await memory.kv.set("plain", value)
        assert await _value(memory, "hidden") == value
        assert [entry.key for entry in await memory.kv.list()] == ["hidden", "plain"]
        found = await memory.recall("green tea", k=10, min_relevance="off")
        assert "hidden" not in str([hit.content for hit in found])
        try:
            assert (await memory.kv.search("green tea")).matches == ()
        except CapabilityUnsupported:
            return
        await memory.kv.set("hidden", value, embed=True)
        assert [match.entry.key for match in await memory.kv.search("green tea")] == ["hidden"]

    place.play(story)


def test_an_area_counts_for_itself(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        area = memory.kv.area("a/", Limits(value_bytes=100_000, quota_bytes=150_000))
        await area.set("a/1", "x" * 80_000, index="none")
        with pytest.raises(QuotaExceeded):
            await area.set("a/2", "x" * 80_000, index="none")
        await memory.kv.set("plain", "x" * 30)
        with pytest.raises(QuotaExceeded):
            await memory.kv.set("more", "x" * 30)
        assert len(await _value(memory, "a/1")) == 80_000

    place.play(story, kv_limits=Limits(quota_bytes=50))


def test_a_touch_prolongs_an_entry(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "v", ttl=60)
        clock.now += 50_000
        await memory.kv.touch("k")
        clock.now += 50_000
        assert await _value(memory, "k") == "v"
        clock.now += 60_000
        assert await _value(memory, "k") is None

    place.play(story)


def test_a_secret_is_replaced_if_that_is_asked_for(place: Place) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        kept = await memory.kv.set("k", {"said": f"it is {_TOKEN}", "n": 1}, redact=True)
        assert kept.redacted is not None
        assert await _value(memory, "k") == {"said": "it is [REDACTED:github-token]", "n": 1}

    place.play(story)
