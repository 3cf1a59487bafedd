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
            raise Told(reply.json)
        assert faults(f"{operation}.response", reply.json) == []
        return reply.json

    run(spec.scenarios()[name], call, clock)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Client, HandClock]]:
    clock = HandClock(0)
    with serving(clock=clock) as server:
        yield server.client, clock


@pytest.mark.parametrize("name", spec.scenarios())
def test_scenario(name: str, shared: tuple[Client, HandClock]):
    client, clock = shared
    converse(name, Client(client.url, headers={"Memorywire-Tenant": name}), clock)
