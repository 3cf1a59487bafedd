"""The other contracts between two tenants: what is the other's is answered like what is not there."""

from collections.abc import Iterator

import pytest

from memorywire.app import Rules
from memorywire_server.http.openapi import openapi
from tests.engine.quick import Quick
from tests.http.server import Client, at, serving
from tests.http.tenants import AGENT, MARK, World, absent, plain, without_id, world_of

CELLS: tuple[tuple[str, str, object], ...] = (
    ("GET", "/v0/kv/agent/shared/{id}", None),
    ("PUT", "/v0/kv/agent/shared/{id}", {"value": 1, "if_version": 1}),
    ("DELETE", "/v0/kv/agent/shared/{id}", None),
    ("GET", "/v0/kv/agent/{id}", None),
    ("POST", "/v0/kv-search/agent/{id}", {"query": "the word"}),
    ("GET", "/v0/kv-stats/agent/{id}", None),
    ("POST", "/v0/kv-reembed/agent/{id}", {}),
    ("GET", "/v0/layer/events/{id}", None),
    ("GET", "/v0/backends/{id}", None),
    ("POST", "/v0/backends/{id}/fork", {"description": "mine"}),
    ("POST", "/v0/backends/{id}/retire", {}),
    ("DELETE", "/v0/bindings/{id}", None),
)
"""A method, an address and a body; `{id}` is where an id of the other tenant goes."""

HERE = frozenset({"/v0/kv/", "/v0/kv-", "/v0/layer/", "/v0/backends", "/v0/bindings"})


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with serving(policy="balanced", embedder=Quick(), backends=Rules()) as server:
        furnished = world_of(server)
        kept = furnished.theirs.put(at("kv", "agent", AGENT, MARK), {"value": MARK, "embed": True})
        assert kept.status == 200, kept.body
        said = {"agent_id": AGENT, "messages": [{"role": "user", "content": f"My name is {MARK}."}]}
        event = furnished.theirs.post("/v0/layer/add", {**said, "infer": False})
        assert event.status in (200, 202), event.body
        ids = {**furnished.ids, "key": MARK, "layer event": event.json["event_id"], "agent": AGENT}
        yield World(furnished.mine, furnished.theirs, furnished.of_tenant, ids)


def ask(client: Client, method: str, path: str, body: object, id: str) -> tuple[int, bytes]:
    head, _, tail = path.partition("{id}")
    address = f"{at(*head.removeprefix('/v0/').strip('/').split('/'), id)}{tail}"
    sent = {"GET": client.get, "DELETE": lambda where: client.send("DELETE", where)}.get(method)
    if sent is not None:
        reply = sent(address)
    else:
        reply = {"PUT": client.put, "POST": client.post}[method](address, body)
    return reply.status, plain(without_id(reply.body, id))


@pytest.mark.parametrize(("method", "path", "body"), CELLS, ids=lambda it: it if isinstance(it, str) else "")
def test_not_yours_is_answered_like_not_there(world: World, method: str, path: str, body: object):
    for kind, id in world.ids.items():
        theirs = ask(world.mine, method, path, body, id)
        nobodys = ask(world.mine, method, path, body, absent(id))
        assert theirs == nobodys, (method, path, kind)
        assert MARK.encode() not in theirs[1], (method, path, kind)


def test_every_route_with_an_id_is_among_them():
    paths = {path for path in openapi()["paths"] if "{" in path and path.startswith(tuple(HERE))}
    asked = {path.count("/") for _, path, _ in CELLS}
    assert {path.count("/") for path in paths} == asked
    assert {path.split("/")[2] for path in paths} == {path.split("/")[2] for _, path, _ in CELLS}


def test_they_still_have_what_is_theirs(world: World):
    assert world.theirs.get(at("kv", "agent", AGENT, MARK)).json["value"] == MARK
    assert world.theirs.get(at("layer", "events", world.ids["layer event"])).status == 200


def test_what_a_conversation_gave_away_is_told_to_its_own_tenant_alone(world: World):
    asked = {"agent_id": AGENT, "query": "what is the name?"}
    assert MARK.encode() not in world.mine.post("/v0/layer/recall", asked).body
