"""Keys, values and conversations through the typed client: what it answers is what `Memory` answers."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorywire import Memory
from memorywire.client.blocking_contracts import BlockingKeyValue
from memorywire.client.kv import KeyValue, setting
from memorywire.client.layer import Layer
from memorywire.client.remote import BlockingClient, Client
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    InvalidRequest,
    NotFound,
    SecretLeakage,
)
from memorywire.model.kv import Kept
from memorywire.model.layer import EventState, Kind
from memorywire.sync import Memory as BlockingMemory
from tests.engine.quick import Quick
from tests.http.server import Server, serving

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ODD_KEY = "a/b ü?%2F"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(embedder=Quick()) as running:
        yield running


@pytest.fixture(params=["client", "memory"])
def memory(request: pytest.FixtureRequest, server: Server) -> Iterator[BlockingMemory]:
    """Both ways to the same verbs, each with an agent of its own for every test."""
    agent = request.node.name
    made: BlockingMemory = (
        BlockingClient(server.client.url, agent)
        if request.param == "client"
        else BlockingMemory(agent, stores=["memory://"], embedder=Quick())
    )
    with made as opened:
        yield opened


def test_a_value_goes_out_and_comes_back_unchanged(memory: BlockingMemory):
    value = {"$": "Entry", "n": [1, None, 2.5], "text": "grün"}
    kept = memory.kv.set(ODD_KEY, value, ttl=3600, source="chat")
    assert (kept.key, kept.version, kept.status.value) == (ODD_KEY, 1, "committed")
    assert kept.expires_at is not None
    found = memory.kv.get(ODD_KEY)
    assert found is not None
    assert (found.key, found.value, found.version) == (ODD_KEY, value, 1)
    assert memory.kv.get("nothing") is None
    assert memory.kv.set(ODD_KEY, None, if_version=1).version == 2
    again = memory.kv.get(ODD_KEY)
    assert again is not None
    assert again.value is None
    with pytest.raises(Conflict):
        memory.kv.set(ODD_KEY, 3, if_version=1)


def test_keys_are_counted_listed_and_deleted(memory: BlockingMemory):
    kept = memory.kv.set_many({"n1": 1, "n2": 2, "m": 3})
    assert [isinstance(one, Kept) for one in kept] == [True, True, True]
    assert memory.kv.incr("n1", by=2).value == 3
    page = memory.kv.list("n", limit=1)
    assert ([entry.key for entry in page], page.truncated, page.next) == (["n1"], True, "n1")
    rest = memory.kv.list("n", after=page.next)
    assert ([entry.key for entry in rest], rest.truncated) == (["n2"], False)
    assert memory.kv.stats().entries == 3
    assert (memory.kv.delete("m").existed, memory.kv.delete("m").existed) == (True, False)
    with pytest.raises(InvalidRequest):
        memory.kv.list(limit=0)


def test_a_problem_of_one_value_is_the_error_it_was(memory: BlockingMemory):
    good, bad, unspeakable = memory.kv.set_many({"good": 1, "bad": SECRET, "unspeakable": float("nan")})
    assert isinstance(good, Kept)
    assert isinstance(bad, SecretLeakage)
    assert isinstance(unspeakable, InvalidRequest)
    assert SECRET not in str(bad.problem())


def test_entries_are_found_by_meaning_with_those_that_say_the_same(memory: BlockingMemory):
    for key in ("first", "second"):
        memory.kv.set(key, "the deploy window is on thursday", embed=True, embed_text="deploy window")
    found = memory.kv.search("deploy window thursday", top_k=5, dedup={"mode": "merge", "threshold": 0.5})
    (match,) = found.matches
    assert match.score > 0
    assert (match.entry.embedded, found.dimension) == (True, Quick().space.dimension)
    assert [entry.version for entry in match.merged_from] == [1]
    assert {match.entry.key, match.merged_from[0].key} == {"first", "second"}
    assert memory.kv.reembed().failed == {}
    with pytest.raises(InvalidRequest):
        memory.kv.search(" ")


def test_keys_of_users_and_of_the_tenant_are_kept_apart(memory: BlockingMemory):
    index_cache: list[BlockingKeyValue] = [
        memory.kv,
        memory.kv.of("user", "ana"),
        memory.kv.of("tenant", "default"),
    ]
    for number, agent_index in enumerate(index_cache):
        agent_index.set("whose", number)
    found = [agent_index.get("whose") for agent_index in index_cache]
    assert [entry and entry.value for entry in found] == [0, 1, 2]
    with pytest.raises(InvalidRequest):
        memory.kv.of("planet", "earth")


def test_conversations_go_in_and_answer(memory: BlockingMemory):
    said = [{"role": "user", "content": "My sister Ana lives in Lisbon", "name": "Ben", "at": None}]
    event = memory.layer.add(said, infer=False, session_id="s1", metadata={"channel": "chat"})
    assert (event.state, len(event.memories), event.held, event.error) == (EventState.DONE, 1, (), None)
    assert memory.layer.event(event.id).memories == event.memories
    found = memory.layer.recall("where does Ana live?", top_k=3, min_relevance="off", sources=["turn"])
    assert [(fact.id, fact.kind) for fact in found] == [(event.memories[0], Kind.TURN)]
    assert "Lisbon" in found.facts[0].memory
    assert (found.sources, bool(found.recall_id)) == ((Kind.TURN,), True)
    with pytest.raises(NotFound):
        memory.layer.event("nothing")
    with pytest.raises(InvalidRequest):
        memory.layer.recall(" ")


def test_the_async_client_has_the_same(server: Server):
    async def story() -> tuple[object, list[object], object]:
        async with Client(server.client.url, "async") as memory:
            await memory.kv.set("colour", "green")
            done = await memory.kv.keep_each([setting("a", 1), setting("b", 2, ttl=60)])
            found = await memory.kv.get("colour")
            event = await memory.layer.add([{"role": "user", "content": "Tea at four"}], infer=False)
            return found and found.value, list(done), event.scope.agent

    value, done, agent = asyncio.run(story())
    assert (value, agent) == ("green", "async")
    assert [isinstance(one, Kept) for one in done] == [True, True]


def test_what_only_the_server_can_do_says_so(server: Server):
    with BlockingClient(server.client.url, "far") as memory, pytest.raises(CapabilityUnsupported):
        memory.layer.work()


@pytest.mark.parametrize("of", [lambda memory: memory.kv, lambda memory: memory.layer], ids=["kv", "layer"])
def test_the_client_has_every_verb_of_the_contract(server: Server, of: Callable[[Memory], Any]):
    far, near = of(Client(server.client.url)), of(Memory(stores=["memory://"]))
    assert isinstance(far, KeyValue | Layer)
    verbs = {name for name in vars(type(near)) if not name.startswith("_")} - {"work"}
    verbs -= {"set_many"}  # made of `keep_each`
    assert verbs <= set(vars(type(far)))
