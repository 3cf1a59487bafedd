"""No facade hands one user's memories to another by default: without a user, it covers those of none."""

import asyncio
import random

import pytest
from msgspec.structs import replace

from memorywire import Memory
from memorywire.client import layer as layer_module
from memorywire.client.harness import MemoryItem
from memorywire.client.remote import BlockingClient, Client
from memorywire.model.errors import InvalidRequest, Refused
from memorywire.pipeline import recall as pipeline_recall
from memorywire.sync import Memory as BlockingMemory
from tests.engine.quick import Quick
from tests.engine.stage import STORES
from tests.http.server import serving

USERS = (None, "", "ana", "ben", "zoë")
SCOPES = (None, "user", "agent", "user_and_agent", "all")
QUESTION = "the code of a parcel"
AGENT = "bot"


def is_covered(scope, user, owner):
    """Whether a memory of the user `owner` may be in the answer, as the documentation says."""
    expected = scope or ("agent" if user is None else "user_and_agent")
    own, mine = owner is None, owner is not None and owner == user
    return {"user": mine, "agent": own, "user_and_agent": own or mine, "all": True}[expected]


async def fill(memory):
    """Keep memories of all users through three facades; return the owner by id."""
    owners = {}
    for number in range(30):
        user, text = USERS[number % len(USERS)], f"The code of parcel {number} is {7 * number}"
        if number % 2:
            messages = [{"role": "user", "content": text}]
            event = await memory.layer.add(messages, user_id=user, infer=False)
            owners[event.turns[0]] = user
        else:
            owners[(await memory.remember(text, user_id=user)).id] = user
    return owners


def choose_questions(seed, tries=50):
    rng = random.Random(seed)
    for _ in range(tries):
        user, scope = rng.choice(USERS), rng.choice(SCOPES)
        if user is not None or scope not in ("user", "user_and_agent"):
            named = {"user_id": user, "scope": scope}
            yield user, scope, {name: value for name, value in named.items() if value is not None}


def find_error(answer, owners, scope, user):
    expected = {id for id, owner in owners.items() if is_covered(scope, user, owner)}
    return [] if {fact.id for fact in answer.facts} == expected else [(user, scope)]


async def find_layer_errors(url, seed=19):
    errors = []
    async with Memory(AGENT, url, embedder=Quick()) as memory:
        owners = await fill(memory)
        for user, scope, options in choose_questions(seed):
            answer = await memory.layer.recall(QUESTION, top_k=50, min_relevance="off", **options)
            errors += find_error(answer, owners, scope, user)
    return errors


@pytest.mark.parametrize("url", STORES)
def test_a_question_to_conversations_covers_exactly_its_scope(url):
    assert asyncio.run(find_layer_errors(url)) == []


def test_a_layer_that_covers_all_users_by_default_is_caught(monkeypatch):
    monkeypatch.setattr(layer_module, "default_scope", lambda _: "all")
    assert asyncio.run(find_layer_errors("memory://"))


def test_a_search_that_ignores_the_scope_is_caught(monkeypatch):
    monkeypatch.setattr(pipeline_recall, "_select_owners", lambda request: (request.scope, request.filter))
    assert asyncio.run(find_layer_errors("memory://"))
    assert asyncio.run(find_item_errors("memory://"))


def test_a_blocking_memory_and_its_layer_cover_exactly_their_scope():
    with BlockingMemory(AGENT, "memory://", embedder=Quick()) as memory:
        owners = {}
        for number in range(20):
            user = USERS[number % len(USERS)]
            owners[memory.remember(f"The code of parcel {number} is {number}", user_id=user).id] = user
        errors = []
        for user, scope, options in choose_questions(7, tries=25):
            answer = memory.layer.recall(QUESTION, top_k=50, min_relevance="off", **options)
            errors += find_error(answer, owners, scope, user)
            hits = memory.recall(QUESTION, k=50, min_relevance="off", **options)
            expected = {id for id, owner in owners.items() if is_covered(scope, user, owner)}
            errors += [] if {hit.id for hit in hits} == expected else [(user, scope)]
        assert errors == []


def test_a_client_of_a_server_covers_exactly_its_scope():
    async def story(url):
        errors = []
        async with Client(url, AGENT) as memory:
            owners = await fill(memory)
            for user, scope, options in choose_questions(23, tries=25):
                answer = await memory.layer.recall(QUESTION, top_k=50, min_relevance="off", **options)
                errors += find_error(answer, owners, scope, user)
        return owners, errors

    with serving(embedder=Quick()) as server:
        owners, errors = asyncio.run(story(server.client.url))
        assert errors == []
        with BlockingClient(server.client.url, AGENT) as memory:
            answer = memory.layer.recall(QUESTION, top_k=50, min_relevance="off")
            assert find_error(answer, owners, None, None) == []


def test_the_wire_keeps_its_meaning_of_an_absent_user():
    with serving(embedder=Quick()) as server:
        for user in ("ana", "ben"):
            server.client.remember(f"{user} has a parcel", AGENT, user_id=user)
        body = {"agent_id": AGENT, "query": "who has a parcel?", "min_relevance": "off"}

        def count(**more):
            return len(server.client.post("/v0/layer/recall", {**body, **more}).json["facts"])

        assert (count(), count(user_id="ana"), count(scope="agent"), count(scope="all")) == (2, 1, 0, 2)
        refused = server.client.post("/v0/layer/recall", {**body, "scope": "everyone"})
        assert (refused.status, refused.json["code"]) == (422, "validation_error")


async def find_item_errors(url):
    """The searches of a harness that answered with an item of another user."""
    errors = []
    async with Memory(AGENT, url, embedder=Quick()) as memory:
        ids = {}
        for user in USERS:
            harness = open_items(memory, user)
            ids[user] = {await harness.write(MemoryItem(content=f"{user} has parcel {n}")) for n in range(4)}
        for user in USERS:
            hits = await open_items(memory, user).search("parcel", k=50)
            errors += [] if {hit.item.id for hit in hits} == ids[user] else [user]
    return errors


def open_items(memory, user):
    harness = memory.harness
    harness.scope = replace(harness.scope, user=user)
    return harness


@pytest.mark.parametrize("url", STORES)
def test_a_harness_searches_the_items_of_its_user_or_of_none(url):
    assert asyncio.run(find_item_errors(url)) == []


@pytest.mark.parametrize("url", STORES)
def test_a_search_of_keys_covers_one_owner(url):
    async def story():
        async with Memory(AGENT, url, embedder=Quick()) as memory:
            owners = [memory.kv, memory.kv.of("agent", "other"), memory.kv.of("tenant", "default")]
            owners += [memory.kv.of("user", user) for user in USERS if user]
            for place, keys in enumerate(owners):
                await keys.set(f"parcel-{place}", f"parcel {place}", embed=True)
            await fill(memory)
            for place, keys in enumerate(owners):
                matches = (await keys.search("parcel", min_relevance="off")).matches
                assert [match.entry.key for match in matches] == [f"parcel-{place}"]

    asyncio.run(story())


@pytest.mark.parametrize("scope", ["team", "everyone", ""])
def test_an_unknown_scope_of_a_question_is_refused(scope):
    async def story():
        async with Memory(AGENT, "memory://", embedder=Quick()) as memory:
            with pytest.raises(InvalidRequest) as refusal:
                await memory.layer.recall(QUESTION, scope=scope)
            assert refusal.value.field == "scope"
            with pytest.raises(InvalidRequest) as refusal:
                await memory.layer.recall(QUESTION, scope="user")
            assert refusal.value.field == "user_id"

    asyncio.run(story())


def test_a_rule_against_all_users_holds_for_conversations(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "balanced"\n[[rule]]\nname = "one user at a time"\nverdict = "refuse"\n'
        'operation = ["recall"]\nscope = ["all"]\n'
    )

    async def story():
        async with Memory(AGENT, "memory://", policy=str(policy), embedder=Quick()) as memory:
            await memory.layer.recall(QUESTION)
            with pytest.raises(Refused):
                await memory.layer.recall(QUESTION, scope="all")

    asyncio.run(story())
