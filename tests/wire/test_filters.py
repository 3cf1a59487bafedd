"""A filter on a name that is nearly that of a field: whoever asked is told, through whichever door."""

import asyncio
from typing import Any

import pytest

from memorywire import Memory
from memorywire.client.remote import BlockingClient
from tests.engine.quick import Quick
from tests.http.server import Client, serving
from tests.mcp.clients import text, with_agent

FILTER: dict[str, Any] = {"not": {"sorce": "wiki"}, "tags": "x"}
NOTES = ("the filter looks for sorce in the metadata; did you mean the field source?",)
PLAIN: dict[str, Any] = {"source": "wiki", "colour": "red", "metadata.sorce": "x"}


async def _by_the_sdk() -> list[Any]:
    async with Memory("a", ["memory://"], policy="open", embedder=Quick()) as memory:
        return [
            answer.notes
            for wanted in (FILTER, PLAIN)
            for answer in (
                await memory.recall("tea", filter=wanted),
                await memory.list(filter=wanted),
                await memory.forget(filter=wanted),
            )
        ]


def _by_http(client: Client) -> list[Any]:
    asked = {"agent_id": "a", "filter": FILTER}
    return [
        tuple(client.post(f"/v0/{operation}", {**asked, **more}).json["notes"])
        for operation, more in (("recall", {"query": "tea"}), ("list", {}), ("forget", {}))
    ]


def _by_the_client(url: str) -> list[Any]:
    with BlockingClient(url, "a") as client:
        return [client.recall("tea", filter=FILTER).notes, client.list(filter=FILTER).notes]


def test_every_door_tells_of_a_field_that_is_nearly_spelt() -> None:
    """Proves FL-12."""
    assert asyncio.run(_by_the_sdk()) == [NOTES] * 3 + [None] * 3
    with serving() as server:
        assert _by_http(server.client) == [NOTES] * 3
        assert _by_the_client(server.client.url) == [NOTES] * 2

    async def story(agent: Any) -> None:
        found = await agent.call_tool("recall", {"query": "tea", "filter": FILTER})
        assert found.structured_content["notes"] == list(NOTES)
        assert NOTES[0] in text(found)

    with_agent(story)


@pytest.mark.parametrize("wanted", [PLAIN, {"and": [{"type": "semantic"}, {"user_id": "ana"}]}])
def test_what_is_spelt_as_it_is_has_no_notes(wanted: dict[str, Any]) -> None:
    with serving() as server:
        found = server.client.post("/v0/recall", {"agent_id": "a", "query": "tea", "filter": wanted}).json
    assert "notes" not in found
