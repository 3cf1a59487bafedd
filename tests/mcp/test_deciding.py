"""Who may decide over MCP: a person who answered a form about that very proposal, or an operator's token."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequestParams, ElicitResult

from memorywire_server.mcp.mount import mcp_mount
from memorywire_server.mcp.sessions import ELICITED
from tests.http.server import Client as HttpClient
from tests.http.server import serving
from tests.mcp.clients import Person, a_house, actors, both_eras, problem, server_of
from tests.mcp.test_isolation import said
from tests.mcp.test_reading import method

HELD = {"type": "semantic", "content": "Ana pays by invoice", "approval_required": True}
KEPT = {"type": "semantic", "content": "Ana pays by invoice"}


class Forms:
    """A person who answers each form with these fields, and remembers what was asked."""

    def __init__(self, **fields: str) -> None:
        self.asked: list[ElicitRequestParams] = []
        self._fields = fields

    async def __call__(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params)
        return ElicitResult(action="accept", content=self._fields)


async def staged(client: Client) -> str:
    """The id of a proposal that waits, as a client without forms leaves it."""
    return str((await client.call_tool("remember", HELD)).structured_content["proposal_id"])


async def refusal(client: Client, **fields: Any) -> Mapping[str, Any]:
    with pytest.raises(MCPError) as caught:
        await method(client, "decide", **fields)
    told: Mapping[str, Any] = caught.value.error.data["problem"]
    return told


@both_eras
@pytest.mark.parametrize("verb", ["approve", "reject", "reopen"])
def test_a_program_on_the_pipe_cannot_decide(era: str, verb: str):
    async def story() -> None:
        async with a_house() as container, Client(server_of(container), mode=era) as client:
            id = await staged(client)
            told = await refusal(client, proposal_ids=[id], verb=verb)
            assert told["code"] == "forbidden"
            assert f"memorywire review show {id}" in told["fix"]
            assert "console" in told["fix"]
            assert [kind for kind, _ in await actors(container)] == ["staged"]

    asyncio.run(story())


def test_an_agent_cannot_approve_its_own_erasure():
    async def story() -> None:
        async with a_house(policy="balanced") as container, Client(server_of(container)) as client:
            id = (await client.call_tool("remember", KEPT)).structured_content["id"]
            held = (await client.call_tool("forget", {"ids": [id], "hard_delete": True})).structured_content
            told = await refusal(client, proposal_ids=[held["proposal_id"]], verb="approve", confirm="erase")
            assert told["code"] == "forbidden"
            assert not (await client.call_tool("get", {"id": id})).is_error

    asyncio.run(story())


def test_a_decision_is_what_the_person_answered_about_that_very_proposal():
    async def story(person: Person, verb: str) -> tuple[Any, list[tuple[str, str]]]:
        async with a_house() as container:
            async with Client(server_of(container)) as silent:
                first = await staged(silent)
                other = {**HELD, "content": "Ben pays in cash"}
                assert not (await silent.call_tool("remember", other)).is_error
            async with Client(server_of(container), mode="legacy", elicitation_callback=person) as client:
                done = await method(client, "decide", proposal_ids=[first], verb=verb)
            return done, await actors(container)

    person = Person("approve")
    done, ledger = asyncio.run(story(person, "approve"))
    assert (done["state"], done["by"]) == ("approved", ELICITED)
    assert ("approved", ELICITED) in ledger
    assert ["Ana pays by invoice" in asked for asked in person.asked] == [True]
    done, ledger = asyncio.run(story(Person("reject"), "approve"))
    assert done["state"] == "rejected"
    assert ("approved", ELICITED) not in ledger


def test_a_form_that_was_closed_decides_nothing():
    async def story() -> None:
        async with a_house() as container:
            person = Person(None, "decline")
            async with Client(server_of(container), mode="legacy", elicitation_callback=person) as client:
                receipt = (await client.call_tool("remember", HELD)).structured_content
                told = await refusal(client, proposal_ids=[receipt["proposal_id"]], verb="approve")
                assert told["code"] == "forbidden"

    asyncio.run(story())


@both_eras
@pytest.mark.parametrize(("typed", "gone"), [("erase", True), ("yes", False), (None, False)])
def test_an_erasure_is_approved_with_a_typed_word(era: str, typed: str | None, gone: bool):
    answer = {"decision": "approve"} | ({} if typed is None else {"confirm": typed})
    person = Forms(**answer)

    async def story() -> None:
        async with (
            a_house(policy="balanced") as container,
            Client(server_of(container), mode=era, elicitation_callback=person) as client,
        ):
            id = (await client.call_tool("remember", KEPT)).structured_content["id"]
            result = await client.call_tool("forget", {"ids": [id], "hard_delete": True})
            assert (await client.call_tool("get", {"id": id})).is_error is gone
            if not gone:
                assert problem(result)["field"] == "confirm"

    asyncio.run(story())
    assert "confirm" in person.asked[0].requested_schema["properties"]


def proposals(client: HttpClient) -> list[str]:
    answer = json.loads(said(client, "memory/proposals", {}))
    return [one["id"] for one in answer["result"]["items"]]


def test_without_operators_a_program_over_http_cannot_decide_and_an_operators_token_can():
    with serving(policy="open", mounts=lambda container: [mcp_mount(container)]) as server:
        assert b"staged" in said(server.client, "tools/call", {"name": "remember", "arguments": HELD})
        decision = {"proposal_ids": proposals(server.client), "verb": "approve"}
        assert b'"forbidden"' in said(server.client, "memory/decide", decision)
        writer, reviewer = (server.operator(role, role=role) for role in ("writer", "reviewer"))
        assert b"cannot be decided over this connection" in said(writer, "memory/decide", decision)
        assert b'"operator:reviewer"' in said(reviewer, "memory/decide", decision)


def test_with_four_eyes_nobody_approves_through_the_connection_that_asked():
    person = Person("approve")

    async def story() -> None:
        async with (
            a_house(policy="strict") as container,
            Client(server_of(container), elicitation_callback=person) as client,
        ):
            result = await client.call_tool("remember", KEPT)
            assert result.structured_content["status"] == "staged"
            assert result.content[1].text.endswith(f"show {result.structured_content['proposal_id']}")

    asyncio.run(story())
    assert person.asked == []


def test_with_four_eyes_one_token_does_not_approve_what_it_asked_for():
    with serving(policy="strict", mounts=lambda container: [mcp_mount(container)]) as server:
        ana, ben = server.operator("ana"), server.operator("ben")
        assert b"staged" in said(ana, "tools/call", {"name": "remember", "arguments": KEPT})
        by_mcp = {"proposal_ids": proposals(ana), "verb": "approve"}
        assert b"two people" in said(ana, "memory/decide", by_mcp)
        over_http = ana.post("/v0/decide", {**by_mcp})
        assert (over_http.status, over_http.json["code"]) == (403, "forbidden")
        assert "four_eyes" in over_http.json["fix"]
        assert ben.post("/v0/decide", {**by_mcp}).status == 200


def test_only_an_operator_with_the_right_to_manage_erases_and_exports_a_person():
    with serving(policy="open", mounts=lambda container: [mcp_mount(container)]) as server:
        assert b"token of an operator" in said(server.client, "memory/erase", {"user_id": "ana"})
        admin, reviewer = (server.operator(role, role=role) for role in ("admin", "reviewer"))
        kept = admin.post(
            "/v0/remember", {"agent_id": "a", "user_id": "ana", "type": "semantic", "content": "tea"}
        )
        assert kept.status == 200
        for method_name in ("memory/erase", "memory/export"):
            assert b"right to manage" in said(reviewer, method_name, {"user_id": "ana"})
            assert b"user_id" in said(admin, method_name, {})
        assert b"tea" in said(admin, "memory/export", {"user_id": "ana"})
        assert b'"id_removed":true' in said(admin, "memory/erase", {"user_id": "ana"})
        assert b"tea" not in said(admin, "memory/export", {"user_id": "ana"})
