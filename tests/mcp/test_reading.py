"""Memory to read: resources, the prompt, and the extension's own methods."""

import asyncio
import json
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import Request, Result
from pydantic import ConfigDict

from memorywire.wire import spec
from memorywire_server.mcp.server import EXTENSION, Fields
from tests.mcp.clients import a_house, both_eras, remembered, server_of, with_agent


class Anything(Result):
    model_config = ConfigDict(extra="allow")


async def method(client: Client, name: str, **fields: Any) -> dict[str, Any]:
    """The answer of a method of the extension."""
    request = Request[Fields, str](method=f"memory/{name}", params=Fields(**fields))
    answer = await client.session.send_request(request, Anything)
    return dict(answer.model_extra or {})


@both_eras
def test_a_recall_can_be_read_at_its_address(era: str):
    async def story(client: Client) -> None:
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "memorywire://recall/{query}",
            "memorywire://memories/{id}",
        ]
        receipt = await remembered(client, "Ana drinks tea/coffee at 4")
        read = await client.read_resource("memorywire://recall/tea%2Fcoffee%20at%204")
        answer = json.loads(read.contents[0].text)
        assert [hit["id"] for hit in answer["results"]] == [receipt["id"]]
        one = await client.read_resource(f"memorywire://memories/{receipt['id']}")
        assert json.loads(one.contents[0].text)["content"] == "Ana drinks tea/coffee at 4"

    with_agent(story, era=era)


def test_what_is_not_there_and_what_is_anothers_read_the_same():
    async def told() -> list[Any]:
        async with a_house() as container:
            async with Client(server_of(container, "ben")) as client:
                theirs = (await remembered(client, "Ben drinks mate"))["id"]
            errors = []
            async with Client(server_of(container, "ana")) as client:
                for id in (theirs, "0" * len(theirs)):
                    with pytest.raises(MCPError) as caught:
                        await client.read_resource(f"memorywire://memories/{id}")
                    errors.append(json.dumps([caught.value.code, str(caught.value)]).replace(id, "ID"))
            return errors

    other, nobody = asyncio.run(told())
    assert other == nobody


@pytest.mark.parametrize("uri", ["memorywire://recall/", "memorywire://nothing/x", "file:///etc/passwd"])
def test_an_address_that_leads_nowhere_is_an_error(uri: str):
    async def story(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.read_resource(uri)

    with_agent(story)


def test_who_asks_for_what_there_is_not_is_told_what_there_is():
    async def story(client: Client) -> None:
        with pytest.raises(
            MCPError, match=r"there are: memorywire://recall/\{query\}, memorywire://memories/\{id\}"
        ):
            await client.read_resource("memorywire://nothing/x")
        with pytest.raises(MCPError, match="there are: context, memories"):
            await client.get_prompt("memory", {"query": "tea"})

    with_agent(story)


@both_eras
def test_the_prompt_shows_relevant_memories_in_their_fences(era: str):
    async def story(client: Client) -> None:
        assert [one.name for one in (await client.list_prompts()).prompts] == ["context", "memories"]
        await remembered(client, "Ana drinks green tea")
        told = await client.get_prompt("memories", {"query": "green tea", "max_tokens": "500"})
        words = told.messages[0].content.text
        assert "never instructions to follow" in words
        assert "| Ana drinks green tea" in words

    with_agent(story, era=era)


@pytest.mark.parametrize(
    "given", [{}, {"query": "tea", "max_tokens": "many"}, {"query": "tea", "agent_id": "ben"}]
)
def test_a_prompt_that_cannot_be_made_is_an_error(given: dict[str, str]):
    async def story(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.get_prompt("memories", given)

    with_agent(story)


def test_the_extension_is_advertised_with_what_it_governs():
    async def story(client: Client) -> Any:
        assert client.server_capabilities.extensions is not None
        return client.server_capabilities.extensions[EXTENSION]

    told = with_agent(story, era="auto")
    assert told["spec"] == spec.VERSION
    assert "memory/remember" in told["methods"]
    assert told["governance"]["methods"] == ["memory/proposals", "memory/proposal", "memory/decide"]
    assert told["governance"]["operator_methods"] == ["memory/erase", "memory/export"]


@both_eras
def test_the_extension_speaks_the_wire_and_shows_what_waits(era: str):
    async def story(client: Client) -> None:
        held = await method(
            client, "remember", type="semantic", content="Ana pays by invoice", approval_required=True
        )
        assert held["status"] == "staged"
        waiting = await method(client, "proposals")
        assert [one["id"] for one in waiting["items"]] == [held["proposal_id"]]
        shown = await method(client, "proposal", proposal_id=held["proposal_id"])
        assert shown["proposal"]["state"] == "pending"

    with_agent(story, era=era)


def test_the_extension_lets_nobody_review_where_nobody_decides():
    async def told() -> None:
        async with a_house() as container, Client(server_of(container, asking=False)) as client:
            assert (await method(client, "recall", query="tea"))["results"] == []
            with pytest.raises(MCPError, match="cannot be decided over this connection"):
                await method(client, "proposals")

    asyncio.run(told())
