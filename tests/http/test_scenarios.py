"""Every scenario of the specification, unchanged, over HTTP; those that share a server are tenants of it."""

from collections.abc import Iterator
from typing import Any

import pytest

from memorywire.wire import spec
from tests.cli.test_scenarios import Told
from tests.http.server import Client, serving
from tests.spec.scenario import HandClock, run
from tests.spec.schemas import faults


def converse(name: str, client: Client, clock: HandClock) -> None:
    def call(operation: str, payload: dict[str, Any]) -> Any:
        reply = client.post(f"/v0/{operation}", payload)
        assert reply.status < 500, reply.body
        if reply.status >= 400:
            assert faults("problem", reply.json) == []
            raise Told(_of_the_wire(reply.json, operation))
        assert faults(f"{operation}.response", reply.json) == []
        return reply.json

    run(spec.scenarios()[name], call, clock)


def _of_the_wire(problem: dict[str, str], operation: str) -> dict[str, str]:
    """An operation that does not exist has no address, which is how HTTP says that it does not exist."""
    if problem["detail"] == "no such address":
        return {**problem, "code": "unknown_operation", "field": "operation"}
    return problem


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Client, HandClock]]:
    clock = HandClock(0)
    with serving(clock=clock) as server:
        yield server.client, clock


@pytest.mark.parametrize("name", spec.scenarios())
def test_scenario(name: str, shared: tuple[Client, HandClock]):
    scenario = spec.scenarios()[name]
    if "policy" not in scenario:
        client, clock = shared
        converse(name, Client(client.url, headers={"Memorywire-Tenant": name}), clock)
        return
    clock = HandClock(scenario["clock"])
    with serving(policy=scenario["policy"], clock=clock) as server:
        converse(name, server.client, clock)
