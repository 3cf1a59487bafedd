"""Every scenario of the specification, unchanged, through the TypeScript client."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from memorywire.wire import spec
from tests.cli.test_scenarios import Told
from tests.gates.source import ROOT
from tests.http.server import serving
from tests.spec.scenario import HandClock, run
from tests.spec.schemas import faults

CLIENT = ROOT / "clients" / "typescript"

pytestmark = [
    pytest.mark.products,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Node"),
]


class Bridge:
    """A Node process that asks with the client what it is told to ask."""

    def __init__(self, url: str) -> None:
        self._url = url
        words = ("node", str(CLIENT / "tests" / "bridge.mjs"))
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def call(self, tenant: str, operation: str, payload: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"url": self._url, "tenant": tenant, "operation": operation, "payload": payload}
        self._process.stdin.write(f"{json.dumps(asked)}\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        if "problem" in said:
            assert faults("problem", said["problem"]) == []
            raise Told(said["problem"])
        assert faults(f"{operation}.response", said["answer"]) == []
        return said["answer"]

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def bridge() -> Iterator[tuple[Bridge, HandClock]]:
    if not (CLIENT / "node_modules").exists():
        subprocess.run(("npm", "install", "--no-audit", "--no-fund"), cwd=CLIENT, check=True)
    subprocess.run(("npm", "run", "--silent", "build"), cwd=CLIENT, check=True)
    clock = HandClock(0)
    with serving(clock=clock) as server:
        bridge = Bridge(server.client.url)
        try:
            yield bridge, clock
        finally:
            bridge.close()


@pytest.mark.parametrize("name", spec.scenarios())
def test_scenario(name: str, bridge: tuple[Bridge, HandClock]):
    client, clock = bridge

    def call(operation: str, payload: dict[str, Any]) -> Any:
        return client.call(name, operation, payload)

    run(spec.scenarios()[name], call, clock)
