"""One memorywire behind another: through the client, behind a router, and only for those who may."""

import asyncio
import json
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client as Agent
from mcp.client.stdio import stdio_client

from memorywire import Memory
from memorywire.journal import ledger
from memorywire.model.capabilities import Feature
from memorywire.model.codec import dump
from memorywire.model.errors import InvalidRequest, SpaceMismatch, StoreUnavailable
from memorywire.model.query import Where
from memorywire.model.record import Scope
from memorywire.search.embed import open_embedder
from memorywire.stores.registry import open_store
from memorywire.stores.remote.client import locate
from memorywire.stores.remote.protocol import PATH, VERBS
from memorywire_testing.samples import SPACE
from tests.cli.shell import Shell
from tests.http.server import Client, Server, serving
from tests.mcp.clients import remembered
from tests.mcp.test_sessions import piped
from tests.remote.peer import peer

OURS = open_embedder("minilm", api_key=None).space


def asked(client: Client, verb: str, *arguments: object) -> Any:
    return client.post(f"{PATH}/{verb}", [dump(argument) for argument in arguments])


def actors(server: Server) -> list[str]:
    journal = server.container.journal
    assert journal is not None
    rows = server.run(journal.backend.read(lambda db: list(ledger.read_entries(db))))
    return [json.loads(row.body)["actor"] for row in rows if row.body is not None]


def with_token(server: Server, client: Client) -> str:
    assert client.token is not None
    return server.client.url.replace("http://", f"http://{client.token}@")


def test_memory_lives_in_another_memorywire_and_both_write_it_down(tmp_path: Path):
    with peer(f"sqlite://{tmp_path}/other.db") as other:
        url = with_token(other, other.operator("front", role="admin"))

        async def story() -> None:
            journal = f"sqlite://{tmp_path}/journal.db"
            async with Memory(agent_id="ana", stores=[url], journal=journal) as memory:
                kept = await memory.remember("Ana prefers green tea")
                assert kept.stores == ("remote",)
                assert [hit.id for hit in await memory.recall("what tea?")] == [kept.id]
                changed = await memory.remember("Ana prefers black tea", supersedes=kept.id)
                assert changed.change_id is not None
                await memory.undo(changed.change_id)
                assert (await memory.get(kept.id)).content == "Ana prefers green tea"

        asyncio.run(story())
        assert set(actors(other)) == {"person:test", "operator:front"}
        found = other.operator("reader", role="reader").post(
            "/v0/recall", {"agent_id": "ana", "query": "tea"}
        )
        assert [hit["content"] for hit in found.json["results"]] == ["Ana prefers green tea"]


def test_a_graph_behind_an_address_tells_its_edges(tmp_path: Path):
    with peer(f"graph://{tmp_path}/other.db") as other:
        url = with_token(other, other.operator("front", role="admin"))

        async def story() -> None:
            async with Memory(agent_id="ana", stores=[url]) as memory:
                assert (await memory.capabilities()).features >= {Feature.GRAPH}
                plan = await memory.remember("We ship the release on Friday")
                links = {"links": {"relates_to": [plan.id]}}
                aside = await memory.remember("Elephants are grey animals", metadata=links)
                assert [hit.id for hit in await memory.recall("release")] == [plan.id]
                assert [hit.id for hit in await memory.recall("release", hops=1)] == [plan.id, aside.id]

        asyncio.run(story())


def test_a_router_owes_another_memorywire_what_it_missed(tmp_path: Path):
    with peer(f"sqlite://{tmp_path}/other.db") as other:
        stores = [f"sqlite://{tmp_path}/own.db", other.client.url]

        async def story() -> None:
            async with Memory(agent_id="ana", stores=stores) as memory:
                kept = await memory.remember("Ana prefers green tea")
                assert sorted(kept.stores) == ["remote", "sqlite"]
                await asyncio.to_thread(other.end)
                missed = await memory.remember("Ana has two cats")
                assert missed.stores == ("sqlite",)
                assert [debt.store for debt in await memory.debts()] == ["remote"]
                found = await memory.recall("what tea?")
                assert [hit.id for hit in found] == [kept.id]

        asyncio.run(story())


@pytest.mark.parametrize("verb", VERBS)
def test_only_who_may_manage_reaches_the_store(verb: str, strict_peer: Server):
    for role in ("reader", "writer", "reviewer"):
        assert asked(strict_peer.operator(f"{role}-{verb}", role=role), verb).status == 403
    assert asked(strict_peer.client, verb).status == 401
    assert asked(strict_peer.operator(f"admin-{verb}"), verb).status in (200, 422)


@pytest.fixture(scope="module")
def strict_peer() -> Any:
    with peer("sqlite://") as server:
        server.operator("first")
        yield server


def test_a_token_reaches_its_tenants_and_agents_only(strict_peer: Server):
    limited = strict_peer.operator("limited", tenants=("t1",), agents=("ana",))
    for scope, status in (
        (Scope(agent="ana", tenant="t1"), 200),
        (Scope(agent="ana", tenant="t2"), 403),
        (Scope(agent="ben", tenant="t1"), 403),
    ):
        assert asked(limited, "get", scope, ("x",)).status == status


@pytest.mark.parametrize(
    "body", [b"{}", b"[1]", b'[{"$": "Scope"}, []]', b"[", b'[{"agent": "a"}, ["x"], 3]']
)
def test_what_is_no_message_of_a_store_is_a_problem(body: bytes, strict_peer: Server):
    admin = strict_peer.operator(f"body-{hash(body)}")
    reply = admin.post(f"{PATH}/get", body)
    assert reply.status in (400, 422)
    assert reply.json["code"]


def test_a_verb_that_no_store_has_is_not_found(strict_peer: Server):
    assert asked(strict_peer.operator("curious"), "close").status == 404


def test_a_refused_token_says_what_to_do_and_not_what_it_was(strict_peer: Server):
    url = strict_peer.client.url.replace("http://", "http://mw_wrong@")
    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(open_store(url, space=OURS))
    assert "mw_wrong" not in str(caught.value.problem())
    assert "https://TOKEN@HOST" in str(caught.value.fix)
    assert "mw_wrong" not in repr(locate(url))


@pytest.mark.parametrize(
    ("tenants", "agents", "fix"),
    [
        (("t1",), ("*",), "Memory(tenant=...)"),
        (("t1", "t2"), ("*",), "https://TOKEN@HOST?tenant=NAME"),
        (("default",), ("somebody",), "a token of this agent"),
    ],
    ids=["of a tenant", "of several", "of an agent"],
)
def test_a_token_for_others_says_what_to_set(
    strict_peer: Server, tenants: Sequence[str], agents: Sequence[str], fix: str
):
    name = f"far-{'-'.join(tenants)}"
    url = with_token(strict_peer, strict_peer.operator(name, tenants=tenants, agents=agents))

    async def story(tenant: str, agent: str) -> int:
        store = await open_store(url, space=OURS)
        try:
            return await store.count(Where(scope=Scope(agent=agent, tenant=tenant), alive_at=1))
        finally:
            await store.close()

    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(story("default", "ana"))
    assert fix in str(caught.value.fix)
    if len(tenants) == 1:
        assert asyncio.run(story(tenants[0], agents[0])) == 0


def test_another_space_is_refused():
    with peer("sqlite://") as other, pytest.raises(SpaceMismatch):
        asyncio.run(open_store(other.client.url, space=SPACE))


def test_a_server_that_does_not_serve_its_store_is_unavailable():
    with serving() as plain, pytest.raises(StoreUnavailable):
        asyncio.run(open_store(plain.client.url, space=OURS))


def test_nobody_there_is_unavailable():
    with serving() as gone:
        pass
    with pytest.raises(StoreUnavailable, match="did not answer") as caught:
        asyncio.run(open_store(gone.client.url, space=OURS))
    assert str(caught.value.fix).startswith("start it with")


def test_a_url_says_which_tenant_a_token_of_several_asks_for(strict_peer: Server, tmp_path: Path):
    token = strict_peer.operator("of-both", tenants=("t1", "t2"))
    one, other = (f"{with_token(strict_peer, token)}?tenant={tenant}" for tenant in ("t1", "t2"))

    async def asked(url: str, tenant: str) -> list[str]:
        async with Memory("ana", [url], tenant=tenant, journal=f"sqlite://{tmp_path}/journal.db") as memory:
            return [str(record.content) for record in await memory.list()]

    shell = Shell(tmp_path)
    kept = shell("remember", "Ana prefers tea", "--agent", "ana", "--store", one)
    assert kept.code == 0, kept.err
    assert asyncio.run(asked(one, "t1")) == ["Ana prefers tea"]
    assert "Ana prefers tea" in shell("list", "--agent", "ana", "--store", f"{one}#far").out
    assert asyncio.run(asked(other, "t2")) == []
    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(asked(other, "t1"))
    assert "Memory(tenant=...)" in str(caught.value.fix)
    stranger = shell("list", "--store", one.replace("?tenant=t1", "?tenant=t3"), "--json")
    assert (stranger.code, "?tenant=NAME" in stranger.problem["fix"]) == (4, True)


def test_an_agent_on_a_pipe_is_of_the_tenant_that_the_url_names(strict_peer: Server, tmp_path: Path):
    token = strict_peer.operator("piped", tenants=("t4", "t5"))
    url = f"{with_token(strict_peer, token)}?tenant=t4"

    async def story() -> None:
        async with Agent(stdio_client(piped(tmp_path, "--agent", "ana", "--store", url))) as client:
            await remembered(client, "Ana prefers green tea")

    asyncio.run(story())
    for tenant, kept in (("t4", 1), ("t5", 0)):
        chosen = replace(token, headers={"Memorywire-Tenant": tenant})
        assert chosen.post("/v0/list", {"agent_id": "ana"}).json["total"] == kept


def test_stores_of_several_tenants_are_not_one_memory(tmp_path: Path):
    stores = ["--store", "http://host?tenant=t1", "--store", "http://other?tenant=t2"]
    refused = Shell(tmp_path)("list", *stores, "--json")
    assert (refused.code, "t1, t2" in refused.problem["detail"]) == (2, True)


_NO_ADDRESSES = (
    "http://",
    "http://host:port",
    "http://host?x=1",
    "http://host?tenant",
    "http://host?tenant=",
    "http://host?tenant=t1&tenant=t2",
    "http://host?tenant=t%0a1",
)


@pytest.mark.parametrize("url", _NO_ADDRESSES)
def test_what_is_no_address_is_refused_before_anything_is_sent(url: str):
    with pytest.raises(InvalidRequest, match="not the address"):
        asyncio.run(open_store(url, space=OURS))


def test_a_connection_that_was_closed_while_idle_is_replaced(tmp_path: Path):
    async def story() -> None:
        scope = Scope(agent="ana")
        with peer(f"sqlite://{tmp_path}/other.db") as first:
            store = await open_store(first.client.url, space=OURS)
            assert await store.get(scope, ["x"]) == []
            for connection in store._link._http._idle:
                connection.sock.shutdown(socket.SHUT_RDWR)
            assert await store.get(scope, ["x"]) == []
        await store.close()
        with pytest.raises(StoreUnavailable):
            await store.get(scope, ["x"])

    asyncio.run(story())
