"""Two tenants on one server: what is the other's is answered exactly like what is not there.

The matrix is made from the table of routes and from the schemas: every route, every field that takes an
id, every kind of id that the other tenant has.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from memorywire import spec
from memorywire.servers.http.openapi import openapi
from memorywire.servers.http.requests import resolved
from memorywire.servers.http.routes import EVERYWHERE, Wire, wire_routes
from tests.http.server import Client, at, serving

MARK = "umbrella-secret-word"
NOWHERE = "01936f5e-0c00-7000-8a11-5b1d5e0cffff"
AGENT = "shared"
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}")
_NUMBER = re.compile(rb"\d{10,}")
_numbers = count()

TEA = {"name": MARK, "initial": "cold", "states": ["cold", "hot"], "transitions": [["boil", "cold", "hot"]]}
LEAST: Mapping[str, dict[str, Any]] = {
    "remember": {"type": "semantic"},
    "recall": {"query": "umbrella"},
    "forget": {"ids": [NOWHERE]},
    "merge": {"canonical": NOWHERE, "duplicates": ["other"]},
    "expire": {"policy": {"older_than_days": 1}},
    "decide": {"verb": "approve"},
    "test_rule": {"rule": {"name": "r", "verdict": "hold", "source": ["x"]}},
}
"""What a request needs besides the agent and the ids under test."""


@dataclass(frozen=True)
class World:
    mine: Client
    spare: Client
    theirs: Client
    ids: Mapping[str, str]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with serving(policy="balanced") as server:
        mine = server.operator("of-acme", tenants=["acme"])
        theirs = server.operator("of-umbrella", tenants=["umbrella"])
        spare = server.operator("of-nobody", tenants=["nobody"])
        yield World(mine, spare, theirs, _furnished(theirs))


def _furnished(client: Client) -> dict[str, str]:
    kept = client.remember(f"the word is {MARK}", AGENT, tags=[MARK], idempotency_key=MARK)
    client.remember(f"another {MARK}", AGENT)
    walk = client.post("/v0/remember", {"agent_id": AGENT, "type": "procedural", "content": TEA}).json
    held = client.remember(f"held {MARK}", AGENT, approval_required=True)
    recalled = client.post("/v0/recall", {"agent_id": AGENT, "query": MARK}).json
    return {
        "memory": kept["id"],
        "procedure": walk["id"],
        "change": kept["change_id"],
        "proposal": held["proposal_id"],
        "recall": recalled["recall_id"],
    }


def absent() -> str:
    """An id that nobody has, and nobody had."""
    return f"01936f5e-0c00-7000-8a11-{next(_numbers):012x}"


def id_fields(operation: str) -> list[str]:
    """The fields of a request that take an id, or several."""
    fields = spec.schema(f"{operation}.request")["properties"]
    return [name for name in fields if _takes_id(operation, fields[name])]


def _takes_id(operation: str, schema: Mapping[str, Any]) -> bool:
    kind = resolved(operation, schema)
    named = schema.get("$ref", "").endswith(("/id", "/ids"))
    return named or ("$ref" in kind.get("items", {}) and kind["items"]["$ref"].endswith("/id"))


def _value(operation: str, field: str, id: str) -> Any:
    kinds = resolved(operation, spec.schema(f"{operation}.request")["properties"][field]).get("type")
    return [id] if kinds == "array" else id


def payload(operation: str, field: str, id: str) -> dict[str, Any]:
    known = spec.schema(f"{operation}.request")["properties"]
    named = {"agent_id": AGENT} if "agent_id" in known else {}
    body = {**named, **LEAST.get(operation, {}), field: _value(operation, field, id)}
    if operation == "remember":  # each into a memory of its own, so that none notices another
        number = next(_numbers)
        body |= {"content": f"note {number}", "agent_id": f"agent {number:04}"}
    return body


def cells() -> list[tuple[Wire, str]]:
    return [
        (route, field)
        for route in wire_routes()
        if route.operation not in EVERYWHERE
        for field in ([route.field] if route.field else id_fields(route.operation))
    ]


def ask(client: Client, route: Wire, field: str, id: str) -> tuple[int, bytes]:
    body = payload(route.operation, field, id)
    path = route.path
    if route.field:
        path = path.replace(f"{{{route.field}}}", quote(id, safe=""))
        del body[route.field]
    if route.by_query:
        reply = client.send("GET", f"{path}?{urlencode(body, doseq=True)}")
    else:
        reply = client.send(
            route.method, path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
    return reply.status, reply.body.replace(id.encode(), b"<id>")


def same(one: tuple[int, bytes], other: tuple[int, bytes]) -> bool:
    """Problems to the byte; answers but for the ids and moments that every answer mints."""
    if one[0] >= 400:
        return one == other
    return one[0] == other[0] and _plain(one[1]) == _plain(other[1])


def _plain(body: bytes) -> bytes:
    return _NUMBER.sub(b"<n>", _UUID.sub(b"<id>", body))


@pytest.mark.parametrize(("route", "field"), cells(), ids=lambda it: getattr(it, "path", it))
def test_not_yours_is_answered_like_not_there(world: World, route: Wire, field: str):
    client = world.spare if route.operation == "remember" else world.mine
    for kind, id in world.ids.items():
        theirs = ask(client, route, field, id)
        nobodys = ask(client, route, field, absent())
        assert same(theirs, nobodys), (route, field, kind, theirs, nobodys)
        assert MARK.encode() not in theirs[1]


def test_the_matrix_covers_every_route_with_an_id_and_is_of_some_size():
    with_id = {path for path in openapi()["paths"] if "{" in path} - {"/v0/procedures/{id}/trigger"}
    assert with_id == {route.path for route, _ in cells() if "{" in route.path}
    assert len(cells()) >= 20


def test_their_procedure_cannot_be_triggered(world: World):
    step = {"agent_id": AGENT, "trigger": "boil"}
    ids = (world.ids["procedure"], absent())
    replies = [world.mine.post(at("procedures", id, "trigger"), step) for id in ids]
    bodies = [reply.body.replace(id.encode(), b"<id>") for reply, id in zip(replies, ids, strict=True)]
    assert (replies[0].status, bodies[0]) == (404, bodies[1])


def test_what_is_theirs_is_in_no_list(world: World):
    paths = ["/v0/memories", "/v0/changes", "/v0/proposals", "/v0/audit", "/v0/debts", "/v0/capabilities"]
    for path in paths:
        named = {} if path in ("/v0/debts", "/v0/capabilities") else {"agent_id": AGENT}
        body = world.mine.get(path, **named).body.decode()
        assert not [id for id in world.ids.values() if id in body], path
        assert MARK not in body
    found = world.mine.post("/v0/recall", {"agent_id": AGENT, "query": MARK, "min_relevance": "off"}).json
    assert MARK not in json.dumps(found)


def test_their_idempotency_key_and_their_words_are_free(world: World):
    receipt = world.mine.remember(f"the word is {MARK}", "other-agent", idempotency_key=MARK)
    assert receipt["status"] == "committed"
    assert receipt["id"] not in world.ids.values()


def test_what_was_theirs_is_still_as_it_was(world: World):
    """The positive control: after all of the above, its owner finds everything, so the ids were real."""
    mine = world.theirs
    assert mine.get(at("memories", world.ids["memory"]), agent_id=AGENT).json["version"] == 1
    assert mine.get(at("memories", world.ids["procedure"]), agent_id=AGENT).json["version"] == 1
    assert mine.get(at("proposals", world.ids["proposal"])).json["proposal"]["state"] == "pending"
    assert mine.get(at("recalls", world.ids["recall"])).status == 200
    assert mine.post(at("undo", world.ids["change"]), {"agent_id": AGENT}).status == 200


def test_without_a_token_every_route_but_the_public_ones_is_closed(world: World):
    nobody = Client(world.mine.url)
    for path, methods in openapi()["paths"].items():
        for method, said in methods.items():
            reply = nobody.send(method.upper(), path.replace("{", "").replace("}", ""))
            assert (reply.status == 401) is ("security" not in said), (method, path)
    assert nobody.get("/v0/events").status == 401


def test_rules_of_one_tenant_are_not_shown_to_another(world: World):
    rule = {"name": MARK, "verdict": "hold", "source": ["x"], "tenant": ["umbrella"]}
    assert world.theirs.post("/v0/set_rules", {"rules": [rule]}).status == 200
    assert MARK in world.theirs.get("/v0/rules").body.decode()
    assert MARK not in world.mine.get("/v0/rules").body.decode()
