"""An agent that is bound to a backend has its memories there, apart from other tenants, in every verb."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.app import Rules
from memorywire.app.backends import name_of
from memorywire.journal.acts import Act
from memorywire.model.answers import Status
from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import Forbidden, StoreUnavailable
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.transaction import redeliver
from memorywire.stores.sqlite import open_store
from memorywire_server.http.peers import store_mount
from tests.engine.quick import Quick
from tests.http.server import Server, serving

_PREFIX = {"kind": "shared_key_with_prefix", "pattern": "t-{tenant_id}-"}


class CliContext:
    """Memories of several tenants over one file, and the definitions in it."""

    def __init__(self, url: str, rules: Rules) -> None:
        self._url = url
        self._rules = rules
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "CliContext":
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.aclose()

    async def tenant(self, tenant: str, agent: str = "bot") -> Memory:
        memory = Memory(
            agent, [self._url], tenant=tenant, embedder=Quick(), backends=self._rules, policy="open"
        )
        return await self._stack.enter_async_context(memory)

    async def bind(self, memory: Memory, document: dict[str, Any]) -> None:
        container = await memory._open()
        assert container.backends is not None
        made = await container.backends.create(memory.tenant, document, "me")
        await container.backends.bind(memory.tenant, made.digest, memory.agent_id, "me")


async def _contents(memory: Memory) -> list[object]:
    return sorted(str(record.content) for record in await memory.list())


def test_tenants_that_share_a_key_are_kept_apart_in_every_verb(tmp_path: Path) -> None:
    shared = f"sqlite://{tmp_path}/shared.db"
    definition = {"name": "shared", "url": shared, "tenancy": _PREFIX}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            one, other = await cli.tenant("a"), await cli.tenant("a-b")
            for memory in (one, other):
                await cli.bind(memory, definition)
            mine = await one.remember("the tenant a keeps this")
            theirs = await other.remember("the tenant a-b keeps that")
            assert [name.partition("@")[0] for name in mine.stores] == ["backend:shared"]
            assert mine.stores != theirs.stores
            assert await _contents(one) == ["the tenant a keeps this"]
            assert await _contents(other) == ["the tenant a-b keeps that"]
            assert [hit.id for hit in await one.recall("keeps", min_relevance="off")] == [mine.id]
            assert (await one.forget(theirs.id)).missing_ids == (theirs.id,)
            assert (await other.history(theirs.id))[0].record is not None
            assert (await one.forget(mine.id)).forgotten_ids == (mine.id,)
            assert await _contents(one) == []
            await one.kv.set("k", 1)
            await other.kv.set("k", 2)
            assert [entry.value for entry in await one.kv.list()] == [1]

    asyncio.run(story())

    async def there() -> list[str]:
        store = await open_store(shared, space=Quick.space)
        found = [
            record.scope.agent
            for agent in ("t-a-/bot", "t-a-b-/bot")
            for record in await store.get(Scope(agent=agent), [])
        ]
        names = [agent for agent, _ in await store.owners("default")]
        await store.close()
        return [*found, *names]

    assert asyncio.run(there()) == ["t-a-/bot", "t-a-b-/bot"]


def test_only_bound_agents_are_elsewhere_and_unbinding_brings_them_back(tmp_path: Path) -> None:
    definition = {"name": "other", "url": f"sqlite://{tmp_path}/other.db", "tenancy": _PREFIX}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            bot, free = await cli.tenant("t"), await cli.tenant("t", "free")
            await bot.remember("kept here before")
            await cli.bind(bot, definition)
            there = await bot.remember("kept there")
            here = await free.remember("kept here")
            assert (there.stores[0].partition("@")[0], here.stores) == ("backend:other", ("sqlite",))
            assert await _contents(bot) == ["kept there"]
            container = await bot._open()
            assert container.backends is not None
            await container.backends.unbind("t", "bot", "me")
            assert await _contents(bot) == ["kept here before"]
            assert (await bot.audit_verify(state=True)).ok

    asyncio.run(story())


def test_what_a_person_approves_goes_where_the_agent_is_bound(tmp_path: Path) -> None:
    definition = {"name": "other", "url": f"sqlite://{tmp_path}/other.db", "tenancy": _PREFIX}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            bot = await cli.tenant("t")
            await cli.bind(bot, definition)
            held = await bot.remember("wait for it", approval_required=True)
            assert held.status is Status.STAGED
            done = await bot.decide(held.proposal_id or "", "approve")
            assert [outcome.store.partition("@")[0] for outcome in done.outcomes] == ["backend:other"]
            assert await _contents(bot) == ["wait for it"]

    asyncio.run(story())


@pytest.fixture
def far() -> Any:
    with serving(embedder=Quick(), mounts=lambda container: [store_mount(container)]) as server:
        yield server


def _definition(server: Server, **more: Any) -> dict[str, Any]:
    place = server.client.url.removeprefix("http://")
    return {
        "name": "far",
        "url": f"http://{{key}}@{place}",
        "tenancy": {"kind": "key_per_tenant", "pattern": "FAR_KEY_{tenant_id}"},
        **more,
    }


def test_every_tenant_brings_its_own_key(far: Server, tmp_path: Path) -> None:
    tokens = {
        f"FAR_KEY_{name.upper()}": far.operator(name, tenants=[name]).token or "" for name in ("one", "two")
    }
    rules = Rules(keys=("FAR_KEY_*",), hosts=frozenset({"127.0.0.1"}), env=tokens)

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", rules) as cli:
            one, two, three = [await cli.tenant(name) for name in ("one", "two", "three")]
            for memory in (one, two, three):
                await cli.bind(memory, _definition(far))
            await one.remember("one's")
            await two.remember("two's")
            assert (await _contents(one), await _contents(two)) == (["one's"], ["two's"])
            with pytest.raises(StoreUnavailable) as caught:
                await three.remember("three's")
            assert "FAR_KEY_THREE" in caught.value.detail
            assert not any(token in caught.value.detail for token in tokens.values())

    asyncio.run(story())


def test_no_name_of_a_tenant_spells_a_key_of_our_own(far: Server, tmp_path: Path) -> None:
    """Whatever is allowed: the pattern is looked at with any tenant in it, and again with this one."""
    secrets = {
        "MEMORYWIRE_EXTRACTOR_KEY": "of our own",
        "ONE": far.operator("one", tenants=["one"]).token or "",
    }
    rules = Rules(keys=("*",), hosts=frozenset({"127.0.0.1"}), env=secrets)
    own = {"kind": "key_per_tenant", "pattern": "{tenant_id}"}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", rules) as cli:
            one, spelt = await cli.tenant("one"), await cli.tenant("memorywire-extractor-key")
            for memory in (one, spelt):
                await cli.bind(memory, _definition(far, tenancy=own))
            await one.remember("one's")
            with pytest.raises(Forbidden):
                await spelt.remember("another's")

    asyncio.run(story())


def test_a_host_of_our_own_that_was_not_named_is_not_asked(far: Server, tmp_path: Path) -> None:
    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules(keys=("FAR_KEY_*",))) as cli:
            with pytest.raises(Exception, match="not a public address"):
                await cli.bind(await cli.tenant("one"), _definition(far))

    asyncio.run(story())


def test_falling_back_answers_and_brings_nothing_back_that_was_deleted(far: Server, tmp_path: Path) -> None:
    rules = Rules(
        keys=("FAR_KEY_*",),
        hosts=frozenset({"127.0.0.1"}),
        env={"FAR_KEY_ONE": far.operator("one", tenants=["one"]).token or ""},
    )

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", rules) as cli:
            bot = await cli.tenant("one")
            stays = await bot.remember("an old memory that stays")
            goes = await bot.remember("an old memory that goes")
            await cli.bind(bot, _definition(far, fallback=True))
            new = await bot.remember("a new memory")
            assert await _contents(bot) == ["a new memory"]
            assert (await bot.recall("a new memory", min_relevance="off")).degraded == ()
            await bot.forget(new.id)
            container = await bot._open()
            store = await container.context.serving(Scope(tenant="one", agent="bot"))
            await store.store.write(_end_of(goes.id, bot))
            far.end()
            assert await _contents(bot) == ["an old memory that stays"]
            assert (await bot.get(stays.id)).content == "an old memory that stays"
            recalled = await bot.recall("an old memory", min_relevance="off", rank={"frequency": 1})
            assert [hit.id for hit in recalled] == [stays.id]
            (outcome,) = recalled.outcomes
            assert outcome.error is not None
            legs = await bot.recall("an old memory", min_relevance="off", fusion="legs")
            assert [outcome.store in told.degraded for told in (recalled, legs)] == [True, True]
            late = await bot.remember("while it is away")
            assert late.status is Status.DEFERRED

    asyncio.run(story())


def test_a_lender_whose_backend_is_away_costs_the_borrower_no_answer(tmp_path: Path) -> None:
    folder, here = tmp_path / "there", f"sqlite://{tmp_path}/here.db"

    async def lend() -> None:
        folder.mkdir()
        async with CliContext(here, Rules()) as cli:
            lender, borrower = [await cli.tenant("default", agent) for agent in ("lender", "borrower")]
            await borrower.remember("its own memory")
            await cli.bind(lender, {"name": "far", "url": f"sqlite://{folder}/far.db", "tenancy": _PREFIX})
            await lender.remember("a lent memory", tags=["x"])
            await lender.share("borrower", tags=["x"])

    async def ask() -> tuple[set[tuple[object, str | None]], list[tuple[str, ...]]]:
        async with CliContext(here, Rules()) as cli:
            borrower = await cli.tenant("default", "borrower")
            found = await borrower.recall("memory", min_relevance="off")
            block = await borrower.context("memory")
            return {(hit.content, hit.lender) for hit in found}, [found.degraded, block.degraded]

    asyncio.run(lend())
    assert asyncio.run(ask()) == ({("its own memory", None), ("a lent memory", "lender")}, [(), ()])
    folder.rename(tmp_path / "away")
    folder.write_text("a file where the folder was")
    assert asyncio.run(ask()) == ({("its own memory", None)}, [("share:lender",)] * 2)


def test_a_process_that_never_reached_the_backend_falls_back_and_owes_the_write(tmp_path: Path) -> None:
    folder, here = tmp_path / "there", f"sqlite://{tmp_path}/here.db"
    definition = {"name": "far", "url": f"sqlite://{folder}/far.db", "tenancy": _PREFIX, "fallback": True}

    async def bind() -> None:
        folder.mkdir()
        async with CliContext(here, Rules()) as cli:
            bot = await cli.tenant("default")
            await bot.remember("an old memory that stays")
            await cli.bind(bot, definition)
            await bot.remember("kept there")

    async def ask_while_it_is_away() -> None:
        async with CliContext(here, Rules()) as cli:
            bot = await cli.tenant("default")
            recalled = await bot.recall("an old memory", min_relevance="off")
            assert [hit.content for hit in recalled] == ["an old memory that stays"]
            (outcome,) = recalled.outcomes
            assert outcome.store.startswith("backend:far@")
            assert outcome.store in recalled.degraded
            assert outcome.error is not None
            receipt = await bot.remember("while it is away")
            assert (receipt.status, receipt.stores) == (Status.DEFERRED, ())
            assert [debt.store for debt in await bot.debts()] == [outcome.store]
            with pytest.raises(StoreUnavailable):  # the versions are there, and only there
                await bot.history(receipt.id or "")

    asyncio.run(bind())
    folder.rename(tmp_path / "away")
    folder.write_text("a file where the folder was")
    asyncio.run(ask_while_it_is_away())
    with serving(here, embedder=Quick(), backends=Rules()) as server:
        listed = server.client.post("/v0/list", {"agent_id": "bot"}).json["items"]
        assert [one["content"] for one in listed] == ["an old memory that stays"]
        folder.unlink()
        (tmp_path / "away").rename(folder)
        while server.client.get("/v0/debts").json["debts"]:
            time.sleep(0.01)
        listed = server.client.post("/v0/list", {"agent_id": "bot"}).json["items"]
        assert sorted(one["content"] for one in listed) == ["kept there", "while it is away"]


def test_without_a_fallback_a_backend_that_is_away_is_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    definition = {"name": "far", "url": f"sqlite://{folder}/far.db", "tenancy": _PREFIX}

    async def story(*, is_away: bool) -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            bot = await cli.tenant("default")
            if not is_away:
                await cli.bind(bot, definition)
                return
            with pytest.raises(StoreUnavailable):
                await bot.recall("anything")

    asyncio.run(story(is_away=False))
    folder.rmdir()
    folder.write_text("a file where the folder was")
    asyncio.run(story(is_away=True))


def _end_of(id: str, memory: Memory) -> Any:
    scope = Scope(tenant=memory.tenant, agent=memory.agent_id)
    return Change(id="gone", operation="forget", scope=scope, at=1, erase=(id,))


def test_a_backend_is_asked_how_it_is(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path}/other.db"
    definition = {"name": "other", "url": url, "tenancy": _PREFIX, "health_seconds": 1}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            bot = await cli.tenant("t")
            await cli.bind(bot, definition)
            await bot.remember("x")
            container = await bot._open()
            assert container.backends is not None
            (edition,) = await container.backends.list("t")
            while True:
                if container.backends.healthy(edition) is not None:
                    break
                await asyncio.sleep(0.01)
            assert container.backends.healthy(edition) is True

    asyncio.run(story())


def test_what_one_tenant_is_owed_is_never_paid_to_another(tmp_path: Path) -> None:
    """Both call their backend the same, and it is the same place, under one key."""
    definition = {"name": "shared", "url": f"sqlite://{tmp_path}/shared.db", "tenancy": _PREFIX}

    async def story() -> None:
        async with CliContext(f"sqlite://{tmp_path}/here.db", Rules()) as cli:
            one, two = await cli.tenant("one"), await cli.tenant("two")
            for memory in (one, two):
                await cli.bind(memory, definition)
            for memory in (two, one):
                await _owe(memory, f"owed to {memory.tenant}")
            for memory in (one, two):
                assert await redeliver(await _serving(memory), all_of_them=True)
            assert (await _contents(one), await _contents(two)) == (["owed to one"], ["owed to two"])

    asyncio.run(story())


def test_what_a_backend_is_owed_is_paid_by_the_next_server_also_when_nobody_asks_for_it(
    tmp_path: Path,
) -> None:
    url, there = f"sqlite://{tmp_path}/here.db", f"sqlite://{tmp_path}/there.db"

    async def owing() -> None:
        async with CliContext(url, Rules()) as cli:
            bot = await cli.tenant("default")
            await cli.bind(bot, {"name": "files", "url": there, "tenancy": _PREFIX})
            await _owe(bot, "still to be written")

    asyncio.run(owing())
    with serving(url, embedder=Quick(), backends=Rules()) as server:
        while server.client.get("/v0/debts").json["debts"]:
            time.sleep(0.01)
        listed = server.client.post("/v0/list", {"agent_id": "bot"}).json["items"]
        assert [one["content"] for one in listed] == ["still to be written"]


async def _owe(memory: Memory, content: str) -> None:
    """Write down that the memory's backend missed this, without asking for the backend."""
    container = await memory._open()
    assert container.backends is not None
    (edition,) = await container.backends.list(memory.tenant)
    context = container.context
    now, scope = context.clock(), Scope(tenant=memory.tenant, agent=memory.agent_id)
    record = Record(
        id=context.mint(),
        scope=scope,
        type=MemoryType.SEMANTIC,
        content=content,
        created_at=now,
        updated_at=now,
    )
    put = Put(record=record, base=Base.NOTHING)
    change = Change(id=context.mint(), operation="remember", scope=scope, at=now, put=(put,))
    debt = OutboxEntry(store=name_of(edition), change=change, at=now, tries=1)
    await context.require_governance().journal.write(Act(outbox=(debt,)))


async def _serving(memory: Memory) -> Context:
    container = await memory._open()
    return await container.context.serving(Scope(tenant=memory.tenant, agent=memory.agent_id))


def test_the_capabilities_of_a_bound_agent_are_those_of_its_backend(tmp_path: Path) -> None:
    async def main() -> None:
        async with CliContext(f"sqlite://{tmp_path}/memory.db", Rules()) as cli:
            bot, other = await cli.tenant("t"), await cli.tenant("t", "other")
            await cli.bind(bot, {"name": "graph", "url": "graph://", "tenancy": _PREFIX})
            assert Feature.GRAPH in (await bot.capabilities()).features
            assert Feature.GRAPH not in (await other.capabilities()).features
            for agent, has_edges in (("bot", True), ("other", False)):
                answer = await other.call("capabilities", {"agent_id": agent})
                assert ("graph" in answer["features"]) is has_edges
                assert answer["contracts"]["memory_layer"] is True
            whole = await bot.call("capabilities", {})
            assert "graph" not in whole["features"]

    asyncio.run(main())
