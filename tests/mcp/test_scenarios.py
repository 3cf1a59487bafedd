"""The scenarios of the specification through tools: each request goes to the server of its agent and user."""

import asyncio
import json
from typing import Any

import pytest
from mcp.client.client import Client

from memorywire.app import Container
from memorywire.app.dispatch import dispatch
from memorywire.model.record import DEFAULT_TENANT
from memorywire.wire import spec
from memorywire.wire.codec import encode
from memorywire_server.mcp.schemas import SCOPE
from memorywire_server.mcp.tools import CARDS
from tests.cli.test_scenarios import Told
from tests.mcp.clients import a_house, server_of, text
from tests.spec.scenario import HandClock, run


async def by_tool(container: Container, operation: str, payload: dict[str, Any]) -> Any:
    """The answer, and the agent that the connection stands for."""
    arguments = {name: value for name, value in payload.items() if name not in SCOPE}
    server = server_of(container, payload["agent_id"], payload.get("user_id"), asking=False)
    async with Client(server) as client:
        result = await client.call_tool(operation, arguments)
    if result.is_error:
        raise Told(json.loads(text(result)))
    return {**result.structured_content, "agent_id": payload["agent_id"]}


def applies(operation: str, payload: Any) -> bool:
    """Requests that a tool has, and whose scope is one that a connection can have."""
    return (
        operation in CARDS
        and isinstance(payload.get("agent_id"), str)
        and 0 < len(payload["agent_id"]) <= 256
        and not {"scope", "team", "run_id", "trace_id"} & set(payload)
    )


@pytest.mark.parametrize("name", spec.scenarios())
def test_scenario(name: str):
    clock, scenario = HandClock(0), spec.scenarios()[name]
    used = [applies(step["operation"], step["payload"]) for step in scenario["steps"]]

    with asyncio.Runner() as runner:
        opening = a_house(policy="open", clock=clock)
        container = runner.run(opening.__aenter__())

        def call(operation: str, payload: dict[str, Any]) -> Any:
            if applies(operation, payload):
                return runner.run(by_tool(container, operation, payload))
            return encode(runner.run(dispatch(operation, payload, container, tenant=DEFAULT_TENANT)))

        try:
            run(scenario, call, clock)
        finally:
            runner.run(opening.__aexit__(None, None, None))
    assert any(used) or name in {"rules", "unknown_operation"}
