"""A change that is held: the person behind the client is asked where the client can ask, and only there."""

import asyncio
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, InputRequiredResult

from memorywire_server.mcp.elicit import KEY, LONGEST
from memorywire_server.mcp.sessions import ELICITED
from tests.mcp.clients import ERAS, Person, a_house, actors, both_eras, problem, server_of, text

HELD = {"type": "semantic", "content": "Ana pays by invoice", "approval_required": True}


def told_to(
    person: Person | None, call: dict[str, Any], era: str = ERAS[-1], **options: Any
) -> tuple[Any, Any, Any]:
    """What the tool answered, what can be recalled after it, and what the ledger says."""

    async def story() -> tuple[Any, Any, Any]:
        async with a_house() as container:
            server = server_of(container, **options)
            async with Client(server, mode=era, elicitation_callback=person) as client:
                result = await client.call_tool("remember", call)
                found = await client.call_tool("recall", {"query": "invoice", "min_relevance": "off"})
                return result, found.structured_content["results"], await actors(container)

    return asyncio.run(story())


@both_eras
def test_what_a_person_approves_is_kept_at_once(era: str):
    person = Person("approve")
    result, found, ledger = told_to(person, HELD, era)
    receipt = result.structured_content
    assert (receipt["status"], receipt["pending_approval"]) == ("committed", False)
    assert [hit["id"] for hit in found] == [receipt["id"]]
    assert len(person.asked) == 1
    assert "Ana pays by invoice" in person.asked[0]
    assert ("staged", "agent:ana") in ledger
    assert ("approved", ELICITED) in ledger


@both_eras
def test_what_a_person_rejects_is_refused_and_leaves_nothing(era: str):
    result, found, ledger = told_to(Person("reject"), HELD, era)
    assert problem(result)["code"] == "refused_by_policy"
    assert found == []
    assert ("rejected", ELICITED) in ledger


@both_eras
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_whoever_closes_the_form_leaves_it_waiting(era: str, action: str):
    result, found, ledger = told_to(Person(None, action), HELD, era)
    assert result.structured_content["status"] == "staged"
    assert found == []
    assert [kind for kind, _ in ledger] == ["staged"]


@both_eras
def test_a_client_that_cannot_ask_is_told_how_a_person_decides(era: str):
    result, found, _ = told_to(None, HELD, era)
    receipt = result.structured_content
    assert (receipt["status"], receipt["pending_approval"]) == ("staged", True)
    assert receipt["approval_url"] is None  # nobody serves a console
    assert result.content[1].text.endswith(f": memorywire review show {receipt['proposal_id']}")
    assert found == []


def test_nobody_is_asked_when_the_server_must_not_ask():
    person = Person("approve")
    result, _, _ = told_to(person, HELD, asking=False)
    assert result.structured_content["status"] == "staged"
    assert person.asked == []


def test_nobody_is_asked_about_more_than_can_be_shown():
    person = Person("approve")
    result, _, _ = told_to(person, {**HELD, "content": "word " * LONGEST})
    assert result.structured_content["status"] == "staged"
    assert person.asked == []


def test_a_held_forget_shows_what_would_go():
    person = Person("approve")

    async def story() -> Any:
        async with (
            a_house(policy="balanced") as container,
            Client(server_of(container), elicitation_callback=person) as client,
        ):
            kept = {"type": "semantic", "content": "Ana pays by invoice", "tags": ["money"]}
            await client.call_tool("remember", kept)
            return await client.call_tool("forget", {"filter": {"tags": "money"}})

    receipt = asyncio.run(story()).structured_content
    assert receipt["status"] == "committed"
    assert receipt["stores"][0]["count"] == 1
    assert "goes (forgotten)" in person.asked[0]
    assert "Ana pays by invoice" in person.asked[0]


def test_an_approval_is_of_the_call_it_was_asked_for():
    async def story() -> None:
        async with (
            a_house() as container,
            Client(server_of(container), elicitation_callback=Person("approve")) as client,
        ):
            asked = await client.session.call_tool("remember", HELD, allow_input_required=True)
            assert isinstance(asked, InputRequiredResult)
            told = {KEY: ElicitResult(action="accept", content={"decision": "approve"})}
            other = {**HELD, "content": "Ben pays by invoice"}
            for arguments, state in ((other, asked.request_state), (HELD, "v1." + "A" * 80)):
                with pytest.raises(MCPError, match="requestState"):
                    await client.session.call_tool(
                        "remember", arguments, input_responses=told, request_state=state
                    )
            done = await client.session.call_tool(
                "remember", HELD, input_responses=told, request_state=asked.request_state
            )
            assert not done.is_error, text(done)

    asyncio.run(story())


def test_what_an_agent_would_erase_for_good_waits_and_what_it_forgets_does_not():
    async def story() -> None:
        async with a_house(policy="balanced") as container, Client(server_of(container)) as client:
            kept = {"type": "semantic", "content": "Ana pays by invoice"}
            id = (await client.call_tool("remember", kept)).structured_content["id"]
            held = (await client.call_tool("forget", {"ids": [id], "hard_delete": True})).structured_content
            assert (held["status"], held["rule"]) == ("staged", "erasure")
            assert (await client.call_tool("get", {"id": id})).structured_content["id"] == id
            gone = (await client.call_tool("forget", {"ids": [id]})).structured_content
            assert gone["status"] == "committed"

    asyncio.run(story())
