"""Agents for tests: the SDK's own client, talking to our server in this process, by pipe or by HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult

from memorywire.app import Container, Governance, open_container
from memorywire.journal import ledger
from memorywire.model.clock import Clock, system_clock
from memorywire_server.http.endpoint import Limits, Service
from memorywire_server.mcp.server import build_server
from memorywire_server.mcp.sessions import local_session

T = TypeVar("T")

ERAS = ("legacy", "2026-07-28")
"""With sessions and a handshake, and without."""

both_eras = pytest.mark.parametrize("era", ERAS)


@asynccontextmanager
async def a_house(
    store: str = "sqlite://", policy: str = "open", clock: Clock = system_clock
) -> AsyncIterator[Container]:
    container = await open_container(
        stores=[store],
        embedder="minilm",
        embedder_key=None,
        clock=clock,
        governance=Governance(policy=policy),
    )
    try:
        yield container
    finally:
        await container.close()


def server_of(
    container: Container, agent: str = "ana", user: str | None = None, *, asking: bool = True
) -> Server[Any]:
    service = Service(container, Limits())

    async def open_service() -> Service:
        return service

    return build_server(open_service, lambda _: local_session(agent, user, asking=asking))


def with_agent(
    story: Callable[[Client], Coroutine[Any, Any, T]],
    *,
    policy: str = "open",
    era: str = ERAS[-1],
    **options: Any,
) -> T:
    """Tell a story to one agent's client, over a new memory."""

    async def told() -> T:
        async with (
            a_house(policy=policy) as container,
            Client(server_of(container), mode=era, **options) as client,
        ):
            return await story(client)

    return asyncio.run(told())


class Person:
    """Answers every question with the same decision, and remembers what was asked."""

    def __init__(self, decision: str | None, action: str = "accept") -> None:
        self.asked: list[str] = []
        self._told = ElicitResult(action=action, content=None if decision is None else {"decision": decision})

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return self._told


def problem(result: CallToolResult) -> dict[str, str]:
    """The problem that a tool answered with."""
    assert result.is_error
    told: dict[str, str] = json.loads(text(result))
    return told


def text(result: Any) -> str:
    """The words of a result."""
    return str(result.content[0].text)


async def remembered(client: Client, content: str, **fields: Any) -> dict[str, Any]:
    """The receipt of a remember that succeeds."""
    result = await client.call_tool("remember", {"type": "semantic", "content": content, **fields})
    assert not result.is_error, text(result)
    receipt: dict[str, Any] = result.structured_content
    return receipt


async def actors(container: Container) -> list[tuple[str, str]]:
    """What the ledger says was done, and by whom."""
    assert container.journal is not None
    rows = await container.journal.backend.read(lambda db: list(ledger.read_entries(db)))
    entries = [json.loads(row.body) for row in rows if row.body is not None]
    return [(entry["kind"], entry["actor"]) for entry in entries]
