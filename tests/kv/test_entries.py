"""What is set under a key is what is got, until it is replaced, deleted, or its time has passed."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, InvalidRequest, WrongType
from memorywire.model.kv import LONGEST_TTL
from memorywire_server.http.openapi import own_schemas
from tests.engine.stage import HandClock
from tests.kv.stage import STORES, play

_TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
_LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT
)
_JSON = st.recursive(
    _LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize("url", STORES)
@given(values=st.lists(_JSON, min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_every_json_value_comes_back_as_it_was(url: str, values: list[Any]) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for place, value in enumerate(values):
            await memory.kv.set(f"k{place}", value)
        for place, value in enumerate(values):
            found = await memory.kv.get(f"k{place}")
            assert found is not None
            assert repr(found.value) == repr(value)

    play(story, url, policy=None)


@pytest.mark.parametrize("url", STORES)
def test_setting_again_is_a_new_version_and_keeps_the_birthday(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.kv.set("tea", "green")
        born = clock.now
        clock.now += 5
        second = await memory.kv.set("tea", "black")
        found = await memory.kv.get("tea")
        assert (first.version, second.version, first.id) == (1, 2, second.id)
        assert found is not None
        assert (found.value, found.version) == ("black", 2)
        assert (found.created_at, found.updated_at) == (born, clock.now)

    play(story, url)


@pytest.mark.parametrize("url", STORES)
def test_a_deleted_key_is_gone_and_can_be_set_again(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("tea", "green")
        assert (await memory.kv.delete("tea")).existed
        assert await memory.kv.get("tea") is None
        assert not (await memory.kv.delete("tea")).existed
        again = await memory.kv.set("tea", "black")
        found = await memory.kv.get("tea")
        assert found is not None
        assert (found.value, again.version) == ("black", 2)

    play(story, url)


@pytest.mark.parametrize("url", STORES)
def test_a_key_that_was_erased_begins_anew_under_another_id(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        first = await memory.kv.set("tea", "green")
        await memory.forget(first.id, hard_delete=True)
        assert await memory.kv.get("tea") is None
        second = await memory.kv.set("tea", "black", if_version=0)
        third = await memory.kv.set("tea", "white", if_version=1)
        found = await memory.kv.get("tea")
        assert found is not None
        assert (found.value, second.version, third.version) == ("white", 1, 2)
        assert second.id != first.id
        assert (await memory.kv.delete("tea")).existed
        assert await memory.kv.get("tea") is None

    play(story, url)


def test_an_entry_ends_when_its_time_has_passed_and_a_set_without_ttl_keeps_the_end() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("otp", 1, ttl=10)
        kept = await memory.kv.set("otp", 2)
        assert kept.expires_at == clock.now + 10_000
        clock.now += 9_999
        assert await memory.kv.get("otp") is not None
        clock.now += 1
        assert await memory.kv.get("otp") is None
        assert (await memory.kv.list()).entries == ()
        fresh = await memory.kv.set("otp", 3)
        assert fresh.expires_at is None

    play(story)


def test_if_version_lets_only_one_of_two_writers_through() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", 1, if_version=0)
        with pytest.raises(Conflict):
            await memory.kv.set("k", 2, if_version=0)
        await memory.kv.set("k", 2, if_version=1)
        with pytest.raises(Conflict):
            await memory.kv.set("k", 3, if_version=1)
        found = await memory.kv.get("k")
        assert found is not None
        assert found.value == 2

    play(story)


@pytest.mark.parametrize("url", STORES)
def test_however_many_count_at_once_none_is_lost(url: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        sums = await asyncio.gather(*(memory.kv.incr("n", 2) for _ in range(30)))
        found = await memory.kv.get("n")
        assert found is not None
        assert found.value == 60
        assert sorted(kept.value or 0 for kept in sums) == list(range(2, 62, 2))

    play(story, url)


def test_two_processes_that_count_the_same_key_lose_nothing(tmp_path: Any) -> None:
    url = f"sqlite://{tmp_path}/memory.db"

    async def both() -> object:
        async with Memory("a", [url], policy="open") as one, Memory("a", [url], policy="open") as other:
            await asyncio.gather(*(memory.kv.incr("n") for memory in (one, other) for _ in range(10)))
            found = await one.kv.get("n")
            return None if found is None else found.value

    assert asyncio.run(both()) == 20


def test_who_gives_up_a_key_leaves_it_to_the_next() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        waiting = [asyncio.create_task(memory.kv.incr("visits")) for _ in range(8)]
        await asyncio.sleep(0)
        for one in waiting[1::2]:
            one.cancel()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(one) is asyncio.CancelledError for one in done] == [False, True] * 4
        assert (await memory.kv.incr("visits")).value == 5

    play(story)


def test_only_numbers_can_be_counted() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("name", "Ana")
        await memory.kv.set("flag", True)
        for key in ("name", "flag"):
            with pytest.raises(WrongType) as caught:
                await memory.kv.incr(key)
            assert caught.value.code == "wrong_type"
        assert (await memory.kv.incr("number")).value == 1
        others: list[Any] = ["1", None, True]
        for by in others:
            with pytest.raises(InvalidRequest, match="by"):
                await memory.kv.incr("number", by)

    play(story)


def test_a_sum_that_no_set_would_take_is_refused() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for largest, by in ((2**63 - 1, 1), (-(2**63), -1), (1.7e308, 1.7e308)):
            await memory.kv.set("n", largest)
            with pytest.raises(InvalidRequest) as caught:
                await memory.kv.incr("n", by)
            assert caught.value.field == "by"
            assert (await memory.kv.get("n")).value == largest
            assert (await memory.kv.incr("n", -by)).value == largest - by

    play(story)


def test_a_key_that_is_no_text_is_a_problem_for_every_verb() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        number: Any = 5
        for verb in (memory.kv.get, memory.kv.incr, memory.kv.delete):
            with pytest.raises(InvalidRequest, match="key has the wrong type"):
                await verb(number)

    play(story)


def test_keys_are_listed_in_their_order_page_by_page() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set_many({f"user/{n}": n for n in (3, 1, 2)} | {"other": 0})
        first = await memory.kv.list("user/", limit=2)
        rest = await memory.kv.list("user/", limit=2, after=first.next)
        assert [entry.key for entry in first] == ["user/1", "user/2"]
        assert [entry.key for entry in rest] == ["user/3"]
        assert (first.truncated, rest.truncated, rest.next) == (True, False, None)

    play(story)


def test_owners_do_not_see_each_others_keys() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("k", "mine")
        await memory.kv.of("user", "ana").set("k", "ana's")
        await memory.kv.of("user", "ben").set("k", "ben's")
        await memory.kv.of("tenant", "default").set("k", "ours")
        index_cache = [memory.kv, memory.kv.of("user", "ana"), memory.kv.of("user", "ben")]
        index_cache += [memory.kv.of("tenant", "default"), memory.kv.of("agent", "kv:user")]
        found = [await agent_index.get("k") for agent_index in index_cache]
        assert [entry and entry.value for entry in found] == ["mine", "ana's", "ben's", "ours", None]
        assert [len((await agent_index.list()).entries) for agent_index in index_cache] == [1, 1, 1, 1, 0]

    play(story)


def test_many_are_set_at_once_and_each_is_told_what_became_of_it() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
        done = await memory.kv.set_many({"a": 1, "b": token, "c": 3})
        assert [getattr(one, "status", None) or one.code for one in done] == [
            Status.COMMITTED,
            "secret_leakage",
            Status.COMMITTED,
        ]
        assert await memory.kv.get("b") is None

    play(story)


@pytest.mark.parametrize("key", ["", "a\nb", "x" * 257], ids=["empty", "control", "long"])
def test_a_key_has_a_few_printable_characters(key: str) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        await memory.kv.set("x" * 256, 1)
        with pytest.raises(InvalidRequest) as caught:
            await memory.kv.set(key, 1)
        assert caught.value.field == "key"

    play(story)


def test_what_json_cannot_say_is_refused() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        for value in (float("nan"), {1: 2}, "\ud800", object(), 2**64):
            with pytest.raises(InvalidRequest):
                await memory.kv.set("k", value)
        assert await memory.kv.get("k") is None

    play(story)


@pytest.mark.parametrize("ttl", [float("nan"), float("inf"), float("-inf"), 1e300, LONGEST_TTL + 1], ids=str)
def test_a_time_that_no_calendar_has_is_refused(ttl: float) -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(InvalidRequest) as caught:
            await memory.kv.set("k", 1, ttl=ttl)
        assert caught.value.field == "ttl"
        assert await memory.kv.get("k") is None
        kept = await memory.kv.set("k", 1, ttl=LONGEST_TTL)
        assert kept.expires_at == clock.now + LONGEST_TTL * 1000

    play(story)


def test_the_longest_time_is_the_one_that_is_published() -> None:
    schemas = own_schemas()
    for name in ("kv_set.request", "kv_entry.request"):
        assert schemas[name]["properties"]["ttl"]["maximum"] == LONGEST_TTL


def test_of_many_values_only_what_json_cannot_say_is_refused() -> None:
    async def story(memory: Memory, clock: HandClock) -> None:
        done = await memory.kv.set_many({"a": 1, "b": float("nan"), "c": 3, "d": "\ud800"})
        assert [getattr(one, "status", None) or one.code for one in done] == [
            *(Status.COMMITTED, "validation_error"),
            *(Status.COMMITTED, "validation_error"),
        ]
        assert [entry.key for entry in await memory.kv.list()] == ["a", "c"]
        (alone,) = await memory.kv.set_many({"b": float("nan")})
        assert isinstance(alone, InvalidRequest)

    play(story)
