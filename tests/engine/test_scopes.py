"""A recall covers the memories that its scope names: never those of another user unless all are asked for."""

import asyncio
import random

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, Refused
from memorywire.pipeline import recall as pipeline_recall
from tests.engine.stage import STORES

USERS = (None, "", "ana", "ben", "zoë", "cleo")
SCOPES = (None, "user", "agent", "user_and_agent", "team", "all")


def covered(scope, user, team, owner):
    """Whether a memory of `owner` (agent, user) may be in the answer, as the documentation says."""
    agent, owner_user = owner
    if scope == "team" or team is not None:
        return agent == f"team:{team}"
    if agent != "bot":
        return False
    expected = scope or ("agent" if user is None else "user_and_agent")
    own, mine = owner_user is None, owner_user is not None and owner_user == user
    return {"user": mine, "agent": own, "user_and_agent": own or mine, "all": True}[expected]


async def fill(memory):
    owners = {}
    for number in range(48):
        user, team = USERS[number % len(USERS)], ("sales" if number % 8 == 7 else None)
        text = f"The code of parcel {number} is {7 * number}"
        receipt = await memory.remember(text, user_id=user, team=team)
        owners[receipt.id] = ("team:sales" if team else "bot", user)
    return owners


async def find_errors(url, tries=60):
    """The recalls that answered with more, or with less, than their scope covers."""
    rng, errors = random.Random(19), []
    async with Memory("bot", url) as memory:
        owners = await fill(memory)
        for _ in range(tries):
            user, scope = rng.choice(USERS), rng.choice(SCOPES)
            team = "sales" if scope == "team" else None
            if scope in ("user", "user_and_agent") and user is None:
                continue
            answer = await memory.recall(
                "the code of a parcel", user_id=user, scope=scope, team=team, k=100, min_relevance="off"
            )
            expected = {id for id, owner in owners.items() if covered(scope, user, team, owner)}
            if {hit.id for hit in answer} != expected:
                errors.append((user, scope))
    return errors


@pytest.mark.parametrize("url", STORES)
def test_random_scopes_see_exactly_what_they_cover(url):
    assert asyncio.run(find_errors(url)) == []


def test_a_recall_that_ignores_its_scope_is_caught(monkeypatch):
    monkeypatch.setattr(
        pipeline_recall, "_select_owners", lambda request: (request.scope, request.filter), raising=True
    )
    assert asyncio.run(find_errors("memory://"))


def test_a_user_of_a_large_agent_sees_what_is_written_meanwhile(tmp_path):
    async def story():
        async with Memory("bot", f"sqlite:///{tmp_path}/m.db") as memory:
            await memory.remember_many(
                [{"content": f"Ben has boat {number}", "user_id": "ben"} for number in range(1100)]
            )
            for number in range(4):
                await memory.remember(f"Ana has boat {number}", user_id="ana")
                receipt = await memory.remember(f"The harbour has boat {number}")
                answer = await memory.recall("boat", user_id="ana", k=50, min_relevance="off")
                assert len(answer) == number + 2
                await memory.forget(receipt.id)
            assert len(await memory.recall("boat", user_id="ana", k=50, min_relevance="off")) == 4

    asyncio.run(story())


@pytest.mark.parametrize(
    ("options", "field"),
    [({"scope": "user"}, "user_id"), ({"scope": "team"}, "team"), ({"scope": "nobody"}, "scope")],
)
def test_a_scope_without_its_name_is_refused(options, field):
    async def story():
        async with Memory("bot", "memory://") as memory:
            with pytest.raises(InvalidRequest) as refusal:
                await memory.recall("tea", **options)
            assert refusal.value.field == field

    asyncio.run(story())


def test_a_rule_can_forbid_recalls_over_all_users(tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'profile = "balanced"\n[[rule]]\nname = "one user at a time"\nverdict = "refuse"\n'
        'operation = ["recall"]\nscope = ["all"]\n'
    )

    async def story():
        async with Memory("bot", "memory://", policy=str(policy)) as memory:
            await memory.remember("Ana likes tea", user_id="ana")
            assert len(await memory.recall("what does Ana like?", user_id="ana")) == 1
            with pytest.raises(Refused):
                await memory.recall("what does Ana like?", scope="all")
            with pytest.raises(Refused):  # without a scope, the wire means all users
                await memory.call("recall", {"agent_id": "bot", "query": "what does Ana like?"})

    asyncio.run(story())
