"""Every scenario of the specification, through the Python client, on every built-in store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from memorywire import Memory
from memorywire.wire import spec

from .scenario import HandClock, run
from .schemas import faults

STORES = {"memory": "memory://", "sqlite": "sqlite:///{folder}/memories.db"}


@pytest.mark.parametrize("name", spec.scenarios())
@pytest.mark.parametrize("store", STORES)
def test_scenario(name: str, store: str, tmp_path: Path) -> None:
    """Proves G-7."""
    clock = HandClock(0)
    with asyncio.Runner() as runner:
        url = STORES[store].format(folder=tmp_path)
        memory = Memory(stores=[url], policy="open", clock=clock)

        def call(operation: str, payload: dict[str, Any]) -> dict[str, Any]:
            answer = runner.run(memory.call(operation, payload))
            assert faults(f"{operation}.response", answer) == []
            return answer

        try:
            run(spec.scenarios()[name], call, clock)
        finally:
            runner.run(memory.close())


@pytest.mark.parametrize("name", spec.scenarios())
def test_a_scenario_is_named_after_its_file_and_cites_requirements(name: str) -> None:
    scenario = spec.scenarios()[name]
    assert scenario["name"] == name
    assert scenario["requirements"]
    assert all({"operation", "payload"} <= set(step) <= STEP_KEYS for step in scenario["steps"])


STEP_KEYS = {"operation", "payload", "advance_ms", "save", "expect", "expect_problem"}
