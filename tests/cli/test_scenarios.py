"""Every scenario of the specification, one process per step, through `memorywire call`."""

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from memorywire.model.errors import MemorywireError
from memorywire.wire import spec
from tests.cli.shell import Shell
from tests.spec.scenario import HandClock, run

pytestmark = pytest.mark.long

# A process mints ids without knowing of the others, so two that write in one millisecond do so in no
# order. Here time passes between two processes, as it does outside.
NEED_ORDER = {"minted_ids_sort", "paging"}


class Told(MemorywireError):
    """A problem as the command printed it."""

    def __init__(self, problem: dict[str, str]) -> None:
        super().__init__(problem["detail"])
        self._problem = problem

    def problem(self) -> dict[str, str]:
        return self._problem


def converse(name: str, shell: Shell) -> None:
    clock = HandClock(0)

    def call(operation: str, payload: dict[str, Any]) -> Any:
        clock.now += name in NEED_ORDER
        request = json.dumps(payload).encode()
        done = shell(
            "call", operation, "-", "--json", "--clock", str(clock()), stdin=request, MEMORYWIRE_POLICY="open"
        )
        if done.code:
            raise Told(done.problem)
        return done.json

    run(spec.scenarios()[name], call, clock)


@pytest.fixture(scope="module")
def conversations(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[None]]]:
    """All scenarios that were asked for, as many at a time as there are processors."""
    items = [item for item in request.session.items if item.fspath == request.fspath]
    names = [item.callspec.params["name"] for item in items]
    homes = {name: tmp_path_factory.mktemp(name) for name in names}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {name: pool.submit(converse, name, Shell(homes[name])) for name in names}


@pytest.mark.parametrize("name", spec.scenarios())
def test_scenario(name: str, conversations: Mapping[str, Future[None]]):
    conversations[name].result()
