"""Definitions of backends over real HTTP."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memorywire.house import Rules
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
    assert client.remember("kept there", agent="bot")["stores"] == ["backend:files"]
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
