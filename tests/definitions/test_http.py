"""Definitions of backends over real HTTP."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorywire.app import Rules
from memorywire_server.http.peers import store_mount
from tests.engine.quick import Quick
from tests.http.described import fits
from tests.http.server import Server, at, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(embedder=Quick(), backends=Rules()) as running:
        yield running


def _definition(tmp_path: Path) -> dict[str, Any]:
    tenancy = {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"}
    return {"name": "files", "url": f"sqlite://{tmp_path}/files.db", "tenancy": tenancy}


def test_a_backend_is_defined_forked_bound_and_retired(server: Server, tmp_path: Path) -> None:
    client = server.client
    made = client.post("/v0/backends", _definition(tmp_path))
    assert (made.status, fits("backend_create.response", made.json)) == (200, True)
    fork = client.post(at("backends", "files", "fork"), {"description": "more"})
    assert (fork.json["parent"], fork.json["edition"]) == (made.json["digest"], 2)
    bound = client.put(at("bindings", "bot"), {"definition": made.json["digest"]})
    assert bound.json["agents"] == ["bot"]
    assert client.remember("kept there", agent="bot")["stores"] == [made.json["store"]]
    assert client.remember("kept here", agent="free")["stores"] == ["sqlite"]
    busy = client.post(at("backends", made.json["digest"], "retire"), {})
    assert (busy.status, busy.json["code"]) == (409, "conflict")
    assert client.send("DELETE", at("bindings", "bot")).json == {"agent_id": "bot"}
    assert client.send("DELETE", at("bindings", "bot")).status == 404
    gone = client.post(at("backends", made.json["digest"], "retire"), {})
    assert "retired_at" in gone.json
    every = client.get("/v0/backends")
    assert fits("backend_list.response", every.json)
    assert [one["edition"] for one in every.json["definitions"]] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"url": "http://127.0.0.1:1"}, 403, "forbidden"),
        ({"url": "mem9://far.example"}, 422, "capability_unsupported"),
        ({"tenancy": {"kind": "shared_key_with_prefix", "pattern": "same"}}, 422, "validation_error"),
        ({"key_env": "HOME", "url": "sqlite:///{key}"}, 403, "forbidden"),
        ({"colour": 1}, 422, "validation_error"),
    ],
    ids=["address", "preview", "tenancy", "variable", "unknown"],
)
def test_what_is_unsafe_is_refused(
    server: Server, tmp_path: Path, changes: dict[str, Any], status: int, code: str
) -> None:
    refused = server.client.post("/v0/backends", {**_definition(tmp_path), **changes})
    assert (refused.status, refused.json["code"]) == (status, code)
    assert server.client.get("/v0/backends").json == {"definitions": []}


def test_only_who_manages_a_tenant_sees_its_definitions(server: Server, tmp_path: Path) -> None:
    ours, theirs = [server.operator(name, tenants=[name]) for name in ("t1", "t2")]
    writer = server.operator("writer", role="writer", tenants=["t1"])
    everybody = server.operator("everybody", tenants=["*"])
    assert ours.post("/v0/backends", _definition(tmp_path)).status == 403
    of_t1 = {"Content-Type": "application/json", "Memorywire-Tenant": "t1"}
    made = everybody.send("POST", "/v0/backends", json.dumps(_definition(tmp_path)).encode(), of_t1)
    assert made.status == 200
    assert ours.get(at("backends", made.json["digest"])).status == 200
    assert theirs.get(at("backends", made.json["digest"])).status == 404
    assert theirs.get("/v0/backends").json == {"definitions": []}
    assert writer.get("/v0/backends").status == 403
    assert theirs.put(at("bindings", "bot"), {"definition": made.json["digest"]}).status == 404


def test_only_who_is_of_every_tenant_says_where_a_key_of_this_machine_is_sent() -> None:
    """Whoever could choose the address of a backend with a key could have the key sent to themselves."""
    rules = Rules(keys=("FAR_*",), hosts=frozenset({"127.0.0.1"}), env={"FAR_KEY": "s3cret-value"})
    keyed = {"url": "http://{key}@127.0.0.1:1", "key_env": "FAR_KEY"}
    tenancy = {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"}
    own = {"kind": "key_per_tenant", "pattern": "FAR_{tenant_id}"}
    with serving(embedder=Quick(), backends=rules) as server:
        ours, everybody = server.operator("t1", tenants=["t1"]), server.operator("all", tenants=["*"])
        of_t1 = {"Content-Type": "application/json", "Memorywire-Tenant": "t1"}
        for body in (
            {"name": "far", **keyed, "tenancy": tenancy},
            {"name": "far", "url": keyed["url"], "tenancy": own},
        ):
            refused = ours.post("/v0/backends", body)
            assert (refused.status, refused.json["code"]) == (403, "forbidden")
            assert everybody.send("POST", "/v0/backends", json.dumps(body).encode(), of_t1).status == 200
        for change in (
            {"url": "http://{key}@127.0.0.1:2"},
            {"key_env": "FAR_OTHER"},
            {"tenancy": {**own, "pattern": "FAR_X{tenant_id}"}},
        ):
            assert ours.post(at("backends", "far", "fork"), change).status == 403
        assert ours.post(at("backends", "far", "fork"), {"health_seconds": 5}).status == 200
        plain = {"name": "open", "url": "http://127.0.0.1:1", "tenancy": tenancy}
        assert ours.post("/v0/backends", plain).status == 200
        assert ours.post(at("backends", "open", "fork"), keyed).status == 403


@pytest.mark.parametrize(
    "url",
    [
        "postgres://127.0.0.1/memories?host=10.0.0.1",
        "postgresql://127.0.0.1/memories?hostaddr=10.0.0.1",
        "postgres://127.0.0.1/memories?passfile=/etc/passwd",
        "postgres://127.0.0.1/memories?service=",
        "postgres:///memories",
        "http:///memories",
    ],
    ids=["host", "hostaddr", "passfile", "service", "socket", "nowhere"],
)
def test_a_url_cannot_lead_elsewhere_than_to_the_host_in_it(url: str) -> None:
    tenancy = {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"}
    with serving(embedder=Quick(), backends=Rules(hosts=frozenset({"127.0.0.1"}))) as server:
        refused = server.client.post("/v0/backends", {"name": "far", "url": url, "tenancy": tenancy})
        assert (refused.status, refused.json["code"], refused.json["field"]) == (
            422,
            "validation_error",
            "url",
        )
        sound = {"name": "far", "url": "postgres://127.0.0.1/memories?sslmode=require", "tenancy": tenancy}
        assert server.client.post("/v0/backends", sound).status == 200


def test_a_backend_that_is_asked_how_it_is_says_so(server: Server, tmp_path: Path) -> None:
    made = server.client.post("/v0/backends", {**_definition(tmp_path), "health_seconds": 1})
    assert "healthy" not in made.json
    server.client.put(at("bindings", "bot"), {"definition": "files"})
    server.client.remember("kept there", agent="bot")
    while "healthy" not in (found := server.client.get("/v0/backends").json["definitions"][0]):
        time.sleep(0.01)
    assert (found["healthy"], fits("backend_get.response", found)) == (True, True)


def test_a_key_that_waits_for_its_backend_is_accepted_and_no_more() -> None:
    rules = Rules(hosts=frozenset({"127.0.0.1"}))
    tenancy = {"kind": "shared_key_with_prefix", "pattern": "{tenant_id}"}
    mounted = serving(embedder=Quick(), mounts=lambda container: [store_mount(container)])
    with serving(embedder=Quick(), backends=rules) as server, mounted as far:
        client = server.client
        client.post(
            "/v0/backends", {"name": "far", "url": far.client.url, "tenancy": tenancy, "fallback": True}
        )
        client.put(at("bindings", "bot"), {"definition": "far"})
        place = at("kv", "agent", "bot", "k")
        assert client.put(place, {"value": 1}).status == 200
        far.end()
        waits = client.put(place, {"value": 2})
        assert (waits.status, waits.json["status"]) == (202, "deferred")
