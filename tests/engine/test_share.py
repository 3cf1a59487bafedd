"""What an agent lends to another: a grant that policy judges, and that counts while it is in force."""

import asyncio
import random
from collections.abc import Mapping
from typing import Any

import pytest

from memorywire import Memory
from memorywire.model.errors import CapabilityUnsupported, MemorywireError, NotFound, Refused
from memorywire.model.record import Trust
from memorywire.pipeline import share as sharing
from tests.engine.quick import Quick
from tests.engine.stage import STORES, HandClock, one_rule

AGENTS, USERS, TAGS = ("ops", "support", "sales"), (None, "ana", "ben"), ("runbook", "menu")
KEY = "The deploy key rotates on the first of the month"
ASKED = "When does the deploy key rotate?"


def tell(url, story, policy: str | None = "open", embedder=None):
    """Run a story on a memory in which three agents are known."""

    async def run():
        clock = HandClock()
        options = {} if embedder is None else {"embedder": embedder}
        async with Memory("ops", [url], policy=policy, clock=clock, **options) as memory:
            for agent in AGENTS:
                await ask(memory, "remember", agent, type="semantic", content=f"{agent} was here")
            return await story(memory, clock)

    return asyncio.run(run())


async def ask(memory, operation, agent, **fields) -> Mapping[str, Any]:
    given = {name: value for name, value in fields.items() if value is not None}
    return await memory.call(operation, {"agent_id": agent, **given})


async def recalled(memory, agent, query=ASKED, **fields):
    answer = await ask(memory, "recall", agent, query=query, **fields)
    return [(hit["content"], hit.get("lender")) for hit in answer["results"]]


class World:
    """Random lives of three agents, and beside them what each may see, kept as plain sets."""

    def __init__(self, memory, clock, seed):
        self.memory, self.clock, self.random = memory, clock, random.Random(seed)
        self.memories, self.grants, self.revoked = {}, {}, []

    async def live(self, steps):
        for number in range(steps):
            await self.random.choice(
                (self.remember, self.remember, self.share, self.share, self.unshare, self.undo, self.forget)
            )(number)
            self.clock.now += self.random.choice((10, 5_000, 40_000))
            await self.compare()

    async def remember(self, number):
        agent, user, tag = map(self.random.choice, (AGENTS, USERS, TAGS))
        kind, end = self.random.choice(("semantic", "episodic")), self.random.choice((None, None, 60_000))
        expires_at = None if end is None else self.clock.now + end
        fields = {"content": f"note {number} of {agent}", "type": kind, "tags": [tag]}
        receipt = await ask(self.memory, "remember", agent, user_id=user, expires_at=expires_at, **fields)
        self.memories[receipt["id"]] = (agent, user, kind, tag, expires_at)

    async def share(self, _):
        lender, borrower = self.random.sample(AGENTS, 2)
        user = self.random.choice(USERS)
        own = [id for id, one in self.memories.items() if one[:2] == (lender, user) and self.lives(one)]
        chosen = self.random.choice(({"tags": ["runbook"]}, {"types": ["episodic"]}, {"ids": own[:2]}))
        chosen |= self.random.choice(({}, {"tags": ["menu"]}))
        chosen = {name: values for name, values in chosen.items() if values}
        end = self.random.choice((None, self.clock.now + 90_000))
        if chosen:
            fields = {"borrower": borrower, "user_id": user, "expires_at": end, **chosen}
            receipt = await ask(self.memory, "share", lender, **fields)
            self.grants[receipt["share_id"]] = (lender, borrower, user, chosen, end)

    async def unshare(self, _):
        if self.grants:
            id = self.random.choice(sorted(self.grants))
            grant = self.grants[id]
            if grant[4] is None or self.clock.now < grant[4]:
                receipt = await ask(self.memory, "unshare", grant[0], share_id=id)
                self.revoked.append((receipt["change_id"], id, self.grants.pop(id)))

    async def undo(self, _):
        if self.revoked:
            change, id, grant = self.revoked.pop()
            if id not in self.grants:
                try:
                    await ask(self.memory, "undo", grant[0], change_id=change)
                except MemorywireError:
                    return  # it was given anew since, and revoked again
                self.grants[id] = grant

    async def forget(self, _):
        live = [id for id, one in self.memories.items() if self.lives(one)]
        if live:
            id = self.random.choice(sorted(live))
            agent = self.memories.pop(id)[0]
            hard = self.random.random() < 0.3
            await ask(self.memory, "forget", agent, ids=[id], hard_delete=hard)

    def lives(self, one):
        return one[4] is None or self.clock.now < one[4]

    def lends(self, grant, id, agent):
        lender, borrower, user, chosen, end = grant
        owner, whose, kind, tag, _ = self.memories[id]
        return (
            (owner, borrower, whose) == (lender, agent, user)
            and (end is None or self.clock.now < end)
            and id in chosen.get("ids", [id])
            and kind in chosen.get("types", [kind])
            and tag in chosen.get("tags", [tag])
        )

    async def compare(self):
        """Every agent finds its own and what is lent to it at this moment: no more, and no less."""
        for agent in AGENTS:
            for user in USERS:
                expected = {
                    id: None if one[0] == agent else one[0]
                    for id, one in self.memories.items()
                    if self.lives(one)
                    and user in (None, one[1])
                    and (one[0] == agent or any(self.lends(it, id, agent) for it in self.grants.values()))
                }
                fields = {"query": "note", "k": 1000, "min_relevance": "off", "user_id": user}
                answer = await ask(self.memory, "recall", agent, **fields)
                hits = {hit["id"]: hit.get("lender") for hit in answer["results"]}
                assert {id: hits[id] for id in hits if id in self.memories} == expected
                assert not [id for id in hits if id not in self.memories and hits[id] is not None]


def live(url, seed, steps=40):
    async def story(memory, clock):
        await World(memory, clock, seed).live(steps)

    tell(url, story, embedder=Quick())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("url", STORES)
def test_a_recall_has_only_what_is_own_or_lent_at_that_moment(url, seed):
    """Proves LN-5."""
    live(url, seed)


@pytest.mark.parametrize("broken", ["users", "revocation"])
def test_control_a_grant_that_selects_too_much_or_outlives_its_end_is_noticed(monkeypatch, broken):
    if broken == "users":
        monkeypatch.setattr(sharing, "owned_by", lambda *_: sharing.And())
    else:
        kept: dict[str, Any] = {}
        read = sharing._read_grants

        async def read_and_keep(scope, ids, context):
            kept.update({record.id: record for record in await read(scope, ids, context)})
            return [kept[id] for id in ids if id in kept and kept[id].scope.agent == scope.agent]

        monkeypatch.setattr(sharing, "_read_grants", read_and_keep)
    with pytest.raises(AssertionError):
        live("memory://", seed=1, steps=120)


@pytest.mark.parametrize("url", STORES)
def test_a_context_and_a_profile_name_the_lender(url):
    """Proves LN-1."""

    async def story(memory, clock):
        fields = {"type": "semantic", "content": "Ana's favourite colour is green", "user_id": "ana"}
        await ask(memory, "remember", "ops", tags=["x"], kind="preference", slot="favourite_colour", **fields)
        await ask(memory, "share", "ops", borrower="support", user_id="ana", tags=["x"])
        question = {"prompt": "Which colour does Ana like?", "user_id": "ana"}
        block = await ask(memory, "context", "support", **question)
        assert [line.get("lender") for line in block["lines"]] == ["ops"]
        [slot] = (await ask(memory, "profile", "support", user_id="ana"))["slots"]
        assert [(value["lender"], slot["history"]) for value in slot["values"]] == [("ops", [])]
        assert not (await ask(memory, "context", "sales", **question))["lines"]  # control
        assert not (await ask(memory, "profile", "sales", user_id="ana"))["slots"]
        assert "lender" not in str(await ask(memory, "context", "ops", **question))

    tell(url, story)


@pytest.mark.parametrize(("level", "expected"), [("untrusted", "untrusted"), ("trusted", "standard")])
def test_trust_never_rises(tmp_path, level, expected):
    """Proves LN-3."""
    policy = tmp_path / "policy.toml"
    policy.write_text(f'profile = "open"\n[trust]\n"agent:ops" = "{level}"\n', encoding="utf-8")

    async def story(memory, clock):
        await ask(memory, "remember", "ops", type="semantic", content=KEY, tags=["x"])
        web = {"type": "semantic", "content": "The deploy key is a lie", "source": "web:evil", "tags": ["x"]}
        await ask(memory, "remember", "ops", **web)
        await ask(memory, "share", "ops", borrower="support", tags=["x"])
        hits = (await ask(memory, "recall", "support", query=ASKED, k=10, min_relevance="off"))["results"]
        levels = {hit["content"]: hit["trust"] for hit in hits}
        assert (levels[KEY], levels["The deploy key is a lie"]) == (expected, "untrusted")

    tell("memory://", story, policy=str(policy))


@pytest.mark.parametrize("url", STORES)
def test_a_grant_waits_for_review_like_any_change(url):
    """Proves LN-4."""

    async def story(memory, clock):
        await ask(memory, "remember", "ops", type="semantic", content=KEY, tags=["x"])
        fields = {"borrower": "support", "tags": ["x"], "reasoning": "they are on call"}
        held = await ask(memory, "share", "ops", approval_required=True, **fields)
        again = await ask(memory, "share", "ops", approval_required=True, **fields)
        assert (held["status"], again["proposal_id"]) == ("staged", held["proposal_id"])
        assert await recalled(memory, "support") == []
        shown = await memory.proposal(held["proposal_id"])
        assert shown.proposal.request.reasoning == "they are on call"
        decided = await memory.decide(held["proposal_id"], "approve")
        assert await recalled(memory, "support") == [(KEY, "ops")]
        [entry] = await memory.audit_log(operation="share", kind="committed")
        assert entry["details"]["borrower"] == "support"
        await memory.undo(decided.change_id)
        assert await recalled(memory, "support") == []
        given = await ask(memory, "share", "ops", **fields)
        late = await ask(memory, "unshare", "ops", share_id=given["share_id"], approval_required=True)
        assert await recalled(memory, "support") == [(KEY, "ops")]
        await memory.decide(late["proposal_id"], "approve")
        assert await recalled(memory, "support") == []

    tell(url, story)


def test_a_rule_refuses_a_grant(tmp_path):
    async def story(memory, clock):
        with pytest.raises(Refused):
            await ask(memory, "share", "ops", borrower="support", tags=["x"])
        assert (await ask(memory, "shares", "ops"))["items"] == []

    tell("memory://", story, policy=one_rule(tmp_path, "refuse", operation=["share"]))


def test_an_agent_that_shares_by_itself_waits_for_a_person():
    async def run():
        async with Memory("ops", ["memory://"], policy="balanced", caller="agent:ops") as memory:
            await memory.remember(KEY, tags=["x"])
            await ask(memory, "recall", "support", query=ASKED)
            return await memory.share("support", tags=["x"])

    assert asyncio.run(run()).rule == "agent-shares"


@pytest.mark.parametrize("url", STORES)
def test_an_export_of_the_borrower_has_nothing_of_the_lender(url):
    """Proves LN-5."""

    async def story(memory, clock):
        kept = await ask(memory, "remember", "ops", type="semantic", content=KEY, tags=["x"], user_id="ana")
        given = await ask(memory, "share", "ops", borrower="support", tags=["x"], user_id="ana")
        answer = await ask(memory, "recall", "support", query=ASKED)
        assert [hit["id"] for hit in answer["results"]] == [kept["id"]]
        assert KEY not in (await memory.export("ana", agent_id="support")).text
        assert KEY in (await memory.export("ana", agent_id="ops")).text  # control
        assert KEY not in str(await ask(memory, "list", "support"))
        for operation, fields in (("get", {"id": kept["id"]}), ("history", {"id": kept["id"]})):
            with pytest.raises(NotFound):
                await ask(memory, operation, "support", **fields)
        why = await ask(memory, "why", "support", recall_id=answer["recall_id"])
        assert [(one["lender"], one["memory"]["content"]) for one in why["results"]] == [("ops", KEY)]
        await ask(memory, "unshare", "ops", share_id=given["share_id"])
        why = await ask(memory, "why", "support", recall_id=answer["recall_id"])
        assert [one.get("memory") for one in why["results"]] == [None]
        assert why["query"] == ASKED

    tell(url, story)


@pytest.mark.parametrize("url", STORES)
def test_an_erase_at_the_lender_takes_the_query_that_found_it_with_the_borrower(url):
    async def story(memory, clock):
        await ask(memory, "remember", "ops", type="semantic", content=KEY, tags=["x"], id="key")
        await ask(memory, "share", "ops", borrower="support", tags=["x"])
        answer = await ask(memory, "recall", "support", query=ASKED)
        await ask(memory, "forget", "ops", ids=["key"], hard_delete=True)
        why = await ask(memory, "why", "support", recall_id=answer["recall_id"])
        assert "query" not in why
        assert ASKED not in str(why)

    tell(url, story)


def test_a_grant_of_an_erased_user_is_gone_and_can_be_given_anew():
    async def story(memory, clock):
        for content in (KEY, f"{KEY} again"):
            await ask(memory, "remember", "ops", type="semantic", content=content, tags=["x"], user_id="ana")
            await ask(memory, "share", "ops", borrower="support", tags=["x"], user_id="ana")
            assert await recalled(memory, "support") == [(content, "ops")]
            await memory.erase("ana")
            assert (await ask(memory, "shares", "ops"))["items"] == []
            assert await recalled(memory, "support") == []

    tell("sqlite://", story)


def test_a_grant_is_not_written_as_a_memory():
    async def story(memory, clock):
        mark = {"share": {"borrower": "support", "tags": ["x"]}}
        with pytest.raises(MemorywireError) as refused:
            await ask(memory, "remember", "ops", type="semantic", content="x", metadata=mark)
        assert refused.value.field == "metadata.share"
        kept = await ask(memory, "remember", "ops", type="semantic", content="y", metadata={"share": 5})
        assert kept["status"] == "committed"  # control: only the mark is reserved

    tell("memory://", story)


def test_without_a_journal_nothing_is_lent():
    async def story(memory, clock):
        for operation, fields in (("share", {"borrower": "support", "tags": ["x"]}), ("shares", {})):
            with pytest.raises(CapabilityUnsupported):
                await ask(memory, operation, "ops", **fields)
        assert (await recalled(memory, "ops", "who was here?"))[0][1] is None

    tell("memory://", story, policy=None)


def test_the_signature_of_a_lent_hit_covers_it_as_it_was_handed_out(tmp_path):
    async def story(memory, clock):
        await ask(memory, "remember", "ops", type="semantic", content=KEY, tags=["x"])
        await ask(memory, "share", "ops", borrower="support", tags=["x"])
        async with Memory("support", [f"sqlite:///{tmp_path}/m.db"], policy="open") as other:
            found = await other.recall(ASKED, sign=True)
            assert [(hit.lender, hit.record.trust) for hit in found] == [("ops", Trust.STANDARD)]
            assert await other.verify_hit(found.hits[0])

    tell(f"sqlite:///{tmp_path}/m.db", story)
