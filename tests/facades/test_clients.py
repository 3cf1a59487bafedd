"""Both clients open late, close once, and do exactly what the other doors do."""

import asyncio
import doctest
import gc
import json
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args

import pytest

import memorywire
from memorywire import Memory
from memorywire.client import memory as async_module
from memorywire.client import sync as blocking_module
from memorywire.client.kv import KeyValue
from memorywire.client.layer import Layer
from memorywire.client.options import ScopeOption
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, MemorywireError, StoreUnavailable
from memorywire.sync import Memory as BlockingMemory


@pytest.mark.parametrize("module", [async_module, blocking_module], ids=lambda m: m.__name__)
def test_the_examples_in_the_docstrings_run(module):
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


def test_every_verb_of_one_client_is_a_verb_of_the_other():
    def verbs(kind):
        return {name for name in dir(kind) if not name.startswith("_")}

    assert verbs(Memory) == verbs(BlockingMemory) - {"agent_id", "user_id", "tenant"}


@pytest.mark.parametrize("kind", [Memory, BlockingMemory, KeyValue, Layer], ids=lambda kind: kind.__name__)
def test_help_names_the_options_of_every_method(kind):
    for name in dir(kind):
        method = getattr(kind, name)
        annotation = getattr(method, "__annotations__", {}).get("options")
        if name.startswith("_") or annotation is None:
            continue
        options = get_args(annotation)[0].__optional_keys__
        if options != ScopeOption.__optional_keys__ and name != "set_many":
            missing = [option for option in options if f"`{option}`" not in method.__doc__]
            assert not missing, (name, missing)


def test_the_embedded_default_lives_under_memorywire_home(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path / "home"))
    with BlockingMemory("a") as memory:
        memory.remember("kept on disk")
    with BlockingMemory("a") as memory:
        assert [hit.content for hit in memory.recall("kept on disk")] == ["kept on disk"]
    assert (tmp_path / "home" / "memory.db").exists()


@pytest.mark.parametrize("arguments", [{}, {"deprecated": True}])
def test_what_an_argument_leaves_open_the_settings_decide(tmp_path, monkeypatch, arguments):
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORYWIRE_STORE", f"sqlite://{tmp_path}/other.db")
    (tmp_path / "memorywire.toml").write_text('agent = "bot"\npolicy = "strict"\n', encoding="utf-8")
    given = memorywire.configured(user_id="ana") if arguments else {"user_id": "ana"}
    with BlockingMemory(**given) as memory:
        assert (memory.remember("Ana drinks tea").status.value, (tmp_path / "other.db").exists()) == (
            "staged",
            True,
        )
        assert [(one.scope.agent, one.scope.user) for one in memory.proposals().items] == [("bot", "ana")]
    for policy in ("open", None):
        with BlockingMemory("bot", policy=policy) as memory:
            receipt = memory.remember("Ana drinks tea", user_id=f"ana of {policy}")
            assert receipt.status.value == "committed"


def test_a_settings_file_that_cannot_be_read_is_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path))
    (tmp_path / "memorywire.toml").write_text("policy = ", encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"memorywire\.toml"):
        BlockingMemory("bot")


def test_constructing_a_client_opens_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMORYWIRE_HOME", str(tmp_path / "home"))
    Memory("a")
    assert not (tmp_path / "home").exists()


def test_a_closed_client_says_so_and_closing_twice_is_fine():
    async def story():
        memory = Memory("a", ["memory://"])
        await memory.remember("x")
        await memory.close()
        await memory.close()
        with pytest.raises(StoreUnavailable):
            await memory.recall("x")

    asyncio.run(story())


@pytest.mark.filterwarnings("error")
def test_a_closed_blocking_client_says_so_and_closing_twice_is_fine():
    with BlockingMemory("a", ["memory://"]) as memory:
        memory.remember("x")
    memory.close()
    with pytest.raises(StoreUnavailable, match="this memory was closed"):
        memory.recall("x")
    with pytest.raises(StoreUnavailable, match="this memory was closed"):
        memory.__enter__()
    gc.collect()  # a coroutine that nobody awaited would complain now


def test_one_store_needs_no_list():
    with BlockingMemory("a", "memory://") as memory:
        assert [store.name for store in memory.capabilities().stores] == ["memory"]


def test_a_page_is_iterated_and_counted_like_a_recall():
    with BlockingMemory("a", ["memory://"]) as memory:
        memory.remember_many(["one", "two", "three"])
        page = memory.list(limit=2)
        assert (len(page), page.total) == (2, 3)
        assert [record.content for record in page] == ["one", "two"]


def test_threads_may_share_a_blocking_client():
    with BlockingMemory("a", ["sqlite://"]) as memory:
        threads = [threading.Thread(target=memory.remember, args=(f"fact {n}",)) for n in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory.list().total == 40


def test_call_takes_json_and_gives_json():
    with BlockingMemory("ignored", ["memory://"]) as memory:
        receipt = memory.call("remember", {"agent_id": "a", "type": "semantic", "content": "tea"})
        found = memory.call("recall", {"agent_id": "a", "query": "tea"})
        assert json.loads(json.dumps(found)) == found
        assert found["results"][0]["id"] == receipt["id"]
        with pytest.raises(MemorywireError) as caught:
            memory.call("recall", {"query": "tea"})
        assert caught.value.problem() == {
            "code": "validation_error",
            "detail": "agent_id is required",
            "field": "agent_id",
            "fix": "agent_id: The agent whose memory this is.",
        }


def test_two_stores_are_served_as_one_but_not_without_a_journal():
    with BlockingMemory("a", ["memory://", "sqlite://"]) as memory:
        assert set(memory.remember("The kettle is blue").stores) == {"memory", "sqlite"}
        assert [store["name"] for store in memory.health()["stores"]] == ["sqlite", "memory"]
    with pytest.raises(CapabilityUnsupported) as caught, BlockingMemory("a", ["memory://"] * 2, policy=None):
        pass
    assert caught.value.field == "policy"


def test_health_speaks_for_the_store():
    with BlockingMemory("a", ["sqlite://"]) as memory:
        health = memory.health()
        assert health["ok"] is True
        assert health["stores"][0]["name"] == "sqlite"


def test_an_abandoned_blocking_client_does_not_hang_the_interpreter():
    code = "from memorywire.sync import Memory; m = Memory('a', ['memory://']); m.remember('x')"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_events_are_followed_without_an_event_loop():
    with BlockingMemory(agent_id="a", stores=["memory://"]) as memory:
        memory.remember("The first thing")
        feed = memory.events(after=0)
        assert next(feed).operation == "remember"
        memory.forget(memory.list().items[0].id)
        assert next(feed).operation == "forget"
        feed.close()


@pytest.mark.parametrize("stores", [5, [5], [None], Path("memory.db"), ["memory://", Path("memory.db")]])
def test_what_is_no_store_is_told_before_anything_is_opened(stores: Any):
    with pytest.raises(InvalidRequest, match="expected a URL or a Store, not") as caught:
        BlockingMemory("a", stores)
    assert (caught.value.field, "sqlite:///" in str(caught.value.fix)) == ("stores", True)


@pytest.mark.parametrize(
    ("field", "given"), [("tenant", ""), ("tenant", 7), ("floor", "low"), ("floor", 9), ("match", -0.1)]
)
def test_what_no_memory_can_be_opened_with_is_told_at_once(field: str, given: Any):
    with pytest.raises(InvalidRequest) as caught:
        BlockingMemory("a", "memory://", **{field: given})
    assert caught.value.field == field


def test_a_key_or_an_end_of_the_wrong_type_is_a_problem():
    with BlockingMemory("a", ["memory://"]) as memory:
        for key, options, field in ((5, {}, "key"), ("visits", {"ttl": "soon"}, "ttl")):
            with pytest.raises(InvalidRequest) as caught:
                memory.kv.set(key, 1, **options)
            assert caught.value.field == field
        assert memory.kv.set("visits", 1, ttl=60).version == 1


def test_moments_may_be_datetimes_with_a_time_zone():
    london = datetime(2031, 6, 1, 13, 0, tzinfo=timezone(timedelta(hours=1)))
    noon = 1_938_081_600_000
    with BlockingMemory("a", ["memory://"]) as memory:
        one = memory.remember("Ana drinks tea", occurred_at=london, expires_at=london)
        (two,) = memory.remember_many([{"content": "Ben drinks milk", "occurred_at": london}])
        assert memory.get(one.id).occurred_at == memory.get(one.id).expires_at == noon
        assert memory.get(two.id).occurred_at == noon
        assert memory.recall("what does Ana drink?", as_of=datetime(2020, 1, 1, tzinfo=UTC)).hits == ()
        assert memory.recall("what does Ana drink?", as_of=datetime.now(UTC)).hits


def test_an_end_that_was_given_in_seconds_is_told_what_a_moment_is():
    with BlockingMemory("a", ["memory://"]) as memory, pytest.raises(InvalidRequest) as caught:
        memory.remember("Ana drinks tea", expires_at=int(datetime.now(UTC).timestamp()) + 3600)
    assert (caught.value.field, caught.value.fix) == ("expires_at", "multiply it by 1000")


def test_a_datetime_without_a_time_zone_is_refused_with_what_to_write():
    with BlockingMemory("a", ["memory://"]) as memory, pytest.raises(InvalidRequest) as caught:
        memory.remember("Ana drinks tea", occurred_at=datetime(2031, 6, 1))
    assert caught.value.problem() | {"code": ""} == {
        "code": "",
        "detail": "occurred_at has no time zone",
        "field": "occurred_at",
        "fix": "give one: datetime.now(UTC), or moment.astimezone()",
    }


def test_values_that_no_verb_can_take_are_problems_with_a_way_out():
    with pytest.raises(InvalidRequest) as refused:
        BlockingMemory("a", ["memory://"], secrets=["hunter2"])
    assert refused.value.field == "secrets"
    with BlockingMemory("a", ["memory://"]) as memory:
        for ids in ({"x"}, (id for id in "x")):
            with pytest.raises(InvalidRequest) as refused:
                memory.forget(ids)
            assert refused.value.fix == "give a list"
        with pytest.raises(InvalidRequest) as refused:
            memory.remember("Ana drinks tea", occurred_at=datetime.now(UTC).date())
        assert refused.value.fix == "give a datetime with a time zone, or epoch milliseconds"
        with pytest.raises(InvalidRequest) as refused:
            memory.layer.add([{"role": "user", "content": "I drink tea", "at": 1_763_286_000}])
        assert refused.value.field == "messages.0.at"


def test_one_memory_that_is_to_be_cleared_may_be_named_alone(tmp_path):
    store = f"sqlite://{tmp_path}/m.db"
    with BlockingMemory("a", [store], policy=None) as memory:
        kept = memory.remember("the key is sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc")
    with BlockingMemory("a", [store]) as memory:
        assert [cleared.id for cleared in memory.clear(kept.id)] == [kept.id]
