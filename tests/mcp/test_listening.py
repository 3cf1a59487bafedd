"""Following memory and completing what is typed: each client hears of its own scope alone."""

import asyncio
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from memorywire_server.mcp.mount import mcp_mount
from memorywire_server.mcp.resources import MEMORY, RECALL
from tests.http.server import serving
from tests.mcp.clients import a_house, both_eras, remembered, server_of, with_agent

BY_ID = ResourceTemplateReference(type="ref/resource", uri=MEMORY + "{id}")
BY_QUERY = ResourceTemplateReference(type="ref/resource", uri=RECALL + "{query}")
PROMPT = PromptReference(type="ref/prompt", name="memories")


async def heard(stream: Any) -> str:
    event = await anext(aiter(stream))
    assert isinstance(event, ResourceUpdated)
    return event.uri


def test_a_client_is_told_when_to_read_again_and_of_nothing_else():
    async def story() -> None:
        async with (
            a_house() as container,
            Client(server_of(container, "ana", "u1")) as mine,
            Client(server_of(container, "ben")) as ben,
            Client(server_of(container, "ana", "u2")) as other,
        ):
            kept = await remembered(mine, "Ana prefers green tea", id="tea")
            theirs = await remembered(ben, "Ben prefers coffee", id="coffee")
            uris = [MEMORY + kept["id"], MEMORY + theirs["id"], RECALL + "tea"]
            async with mine.listen(resource_subscriptions=uris) as stream:
                await ben.call_tool("forget", {"ids": ["coffee"]})
                await remembered(other, "Another user likes milk")
                await mine.call_tool("forget", {"ids": ["tea"]})
                assert [await heard(stream), await heard(stream)] == [uris[0], uris[2]]

    asyncio.run(story())


def test_a_revoked_token_hears_no_more():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        token = server.operator("bot", role="agent").token
        admin = server.operator("ana")

        async def story() -> None:
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60)
            pipe = streamable_http_client(f"{server.client.url}/mcp", http_client=http)
            async with (
                Client(pipe) as client,
                client.listen(resource_subscriptions=[RECALL + "tea"]) as stream,
            ):
                await asyncio.to_thread(admin.remember, "Ana prefers green tea", "default")
                assert await heard(stream) == RECALL + "tea"
                await asyncio.to_thread(server.run, server.registry.revoke("bot"))
                assert [event async for event in stream] == []

        asyncio.run(story())


@both_eras
def test_ids_and_tags_are_completed(era: str):
    async def story(client: Client) -> None:
        await remembered(client, "Ana prefers green tea", id="tea-1", tags=["drinks", "Dinner"])
        await remembered(client, "Ben prefers coffee", id="coffee-1", tags=["drinks"])

        async def values(ref: Any, name: str, typed: str) -> list[str]:
            return sorted((await client.complete(ref, {"name": name, "value": typed})).completion.values)

        assert await values(BY_ID, "id", "te") == ["tea-1"]
        assert await values(BY_ID, "id", "") == ["coffee-1", "tea-1"]
        assert await values(BY_QUERY, "query", "d") == ["Dinner", "drinks"]
        assert await values(PROMPT, "query", "dr") == ["drinks"]
        assert await values(PROMPT, "max_tokens", "1") == []
        with pytest.raises(MCPError, match="no such prompt"):
            await values(PromptReference(type="ref/prompt", name="other"), "query", "")

    with_agent(story, era=era)


def test_what_is_offered_is_the_agents_own():
    async def story() -> None:
        async with a_house() as container:
            async with Client(server_of(container, "ana")) as client:
                await remembered(client, "Ana prefers green tea", id="tea-1", tags=["drinks"])
            async with Client(server_of(container, "ben")) as client:
                for ref, name in ((BY_ID, "id"), (BY_QUERY, "query")):
                    assert (await client.complete(ref, {"name": name, "value": ""})).completion.values == []

    asyncio.run(story())
