"""Two tenants behind one server, as agents see it: what is the other's is answered like what is not there.

The matrix is made from the tools, the resources and the methods of the extension, from the fields that take
an id, and from every kind of id that the other tenant has.
"""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from memorywire_server.mcp.mount import mcp_mount
from memorywire_server.mcp.resources import MEMORY, RECALL
from memorywire_server.mcp.server import REVIEWS
from memorywire_server.mcp.tools import CARDS
from tests.http.server import Client, serving
from tests.http.tenants import AGENT, MARK, World, absent, id_fields, plain, with_id, without_id, world_of

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOOLS = [(operation, field) for operation in CARDS for field in id_fields(operation)]
METHODS = [(operation, field) for operation in (*CARDS, *REVIEWS) for field in id_fields(operation)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with serving(policy="balanced", mounts=lambda container: [mcp_mount(container)]) as server:
        yield world_of(server)


def said(client: Client, method: str, params: dict[str, Any], agent: str = AGENT, **headers: str) -> bytes:
    """What the protocol answers to one request without a session."""
    name = params.get("name") or params.get("uri")
    named = {} if name is None else {"Mcp_Name": name}
    reply = client.post(
        "/mcp",
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}},
        MCP_Protocol_Version="2026-07-28",
        Mcp_Method=method,
        Accept="application/json, text/event-stream",
        **{"Memorywire_Agent": agent, **headers, **named},
    )
    return reply.body


def tool_call(client: Client, operation: str, fields: dict[str, Any]) -> bytes:
    agent = fields["content"] if operation == "remember" else AGENT  # into a memory of its own
    return said(client, "tools/call", {"name": operation, "arguments": fields}, agent)


def same(one: bytes, other: bytes, id: str, nobodys: str) -> bool:
    return plain(without_id(one, id)) == plain(without_id(other, nobodys))


def test_a_user_without_a_name_is_not_everybody_and_an_agent_without_one_is_nobody(world: World):
    def asked(**headers: str) -> str:
        call = {"name": "recall", "arguments": {"query": "tea of the office", "min_relevance": "off"}}
        return said(world.mine, "tools/call", call, **headers).decode()

    for user in ("", "ana"):
        payload = {"agent_id": AGENT, "type": "semantic", "content": f"tea of the office for '{user}'"}
        assert world.mine.post("/v0/remember", {**payload, "user_id": user}).status == 200
    found = asked(Memorywire_User="")
    assert ("for ''" in found, "for 'ana'" in found) == (True, False)
    assert "agent_id must not be empty" in asked(Memorywire_Agent="")


def test_the_matrix_has_every_tool_that_takes_an_id():
    assert {operation for operation, _ in TOOLS} == set(CARDS) - {"recall", "expire", "context"}
    assert ("decide", "proposal_ids") in METHODS


@pytest.mark.parametrize(("operation", "field"), TOOLS)
def test_a_tool_answers_for_what_is_theirs_as_for_what_is_not_there(world: World, operation: str, field: str):
    client = world.of_tenant() if operation == "remember" else world.mine
    for kind, id in world.ids.items():
        nobodys = absent(id)
        theirs, nothing = (
            tool_call(client, operation, with_id(operation, field, one)) for one in (id, nobodys)
        )
        assert same(theirs, nothing, id, nobodys), (kind, theirs, nothing)
        assert MARK.encode() not in without_id(theirs, id)


@pytest.mark.parametrize(("operation", "field"), METHODS)
def test_a_method_of_the_extension_does_so_too(world: World, operation: str, field: str):
    client = world.of_tenant() if operation == "remember" else world.mine
    for kind, id in world.ids.items():
        nobodys = absent(id)
        theirs, nothing = (
            said(client, f"memory/{operation}", with_id(operation, field, one)) for one in (id, nobodys)
        )
        assert same(theirs, nothing, id, nobodys), (kind, theirs, nothing)
        assert MARK.encode() not in without_id(theirs, id)


def test_a_resource_of_theirs_is_not_there(world: World):
    for id in world.ids.values():
        nobodys = absent(id)
        theirs, nothing = (
            said(world.mine, "resources/read", {"uri": MEMORY + quote(one, safe="")}) for one in (id, nobodys)
        )
        assert same(theirs, nothing, id, nobodys)
        assert MARK.encode() not in without_id(theirs, id)


def test_what_is_theirs_is_not_recalled_and_not_prompted(world: World):
    for method, params in (
        ("tools/call", {"name": "recall", "arguments": {"query": "the word", "min_relevance": "off"}}),
        ("resources/read", {"uri": RECALL + "the%20word"}),
        ("prompts/get", {"name": "memories", "arguments": {"query": "the word"}}),
        ("memory/recall", {"query": "the word", "min_relevance": "off"}),
        ("memory/proposals", {}),
    ):
        answer = said(world.mine, method, params)
        assert "result" in json.loads(answer)
        assert MARK.encode() not in answer


def test_its_owner_finds_all_of_it(world: World):
    """The positive control: the ids are real, and the same requests give what they name."""
    get = {"name": "get", "arguments": {"id": world.ids["memory"]}}
    assert MARK.encode() in said(world.theirs, "tools/call", get)
    uri = MEMORY + world.ids["memory"]
    assert MARK.encode() in said(world.theirs, "resources/read", {"uri": uri})
    shown = said(world.theirs, "memory/proposal", {"proposal_id": world.ids["proposal"]})
    assert MARK.encode() in shown
    found = {"name": "recall", "arguments": {"query": "the word", "min_relevance": "off"}}
    assert MARK.encode() in said(world.theirs, "tools/call", found)
