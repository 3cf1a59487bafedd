"""Examines an endpoint that speaks the wire, in whatever language it is written: the scenarios of the spec.

Its clock and its policy are its own, so scenarios that move a clock, name a moment or ask for a policy are
skipped. Every answer is held against its schema.
"""

import asyncio
from collections.abc import Iterator
from functools import partial

from memorywire.model.errors import MemorywireError, StoreUnavailable, Unauthenticated
from memorywire.model.record import Json
from memorywire.stores.remote.client import Link, locate
from memorywire.testing.expect import Broken
from memorywire.testing.run import Mark, Report, Result, attempt
from memorywire.testing.samples import a_name
from memorywire.testing.scenario import Ticker, run
from memorywire.wire import spec

GROUP = "wire"
_A_MOMENT = 10**12
_NEEDS = {"ties_break_by_id": "a clock that stands still"}
_OWN = frozenset({"agent_id", "id"})


async def examine_endpoint(url: str) -> Report:
    """Every scenario that can be played there, by agents and with ids that nobody else has.

    Where nobody answers, or nobody without a token is let in, that is the answer: nothing was examined.
    """
    link = Link(locate(url))
    try:
        await _greeted(link)
        results = [await _examined(name, scenario, link) for name, scenario in spec.scenarios().items()]
    finally:
        await link.close()
    return Report(store=locate(url).host, results=tuple(results))


async def _greeted(link: Link) -> None:
    try:
        await link.post("/v0/capabilities", {})
    except (StoreUnavailable, Unauthenticated):
        raise
    except MemorywireError:
        return  # somebody is there; what they make of requests is what the scenarios are for


async def _examined(name: str, scenario: dict[str, Json], link: Link) -> Result:
    needs = _needs(scenario)
    if needs is not None:
        return Result(check=name, mark=Mark.SKIPPED, detail=f"needs {needs}", group=GROUP)
    loop = asyncio.get_running_loop()

    def call(operation: str, payload: dict[str, Json]) -> dict[str, Json]:
        asked = asyncio.run_coroutine_threadsafe(link.post(f"/v0/{operation}", payload), loop)
        answer: dict[str, Json] = asked.result()
        _meets_its_schema(operation, answer)
        return answer

    own = _renamed(scenario, a_name("")[1:9])
    return await attempt(name, partial(asyncio.to_thread, run, own, call, Ticker(0)), GROUP)


def _needs(scenario: dict[str, Json]) -> str | None:
    """What this scenario wants of the other side that only its keeper can give."""
    if scenario.get("policy", "open") != "open":
        return "a policy of its own"
    if any("advance_ms" in step for step in scenario["steps"]):
        return "a clock that can be moved"
    if any(isinstance(value, int) and value >= _A_MOMENT for value in _values(scenario["steps"])):
        return "a clock that can be set"
    if any(step["operation"] == "agents" for step in scenario["steps"]):
        return "a memory that nobody else uses"
    if any(f"{step['operation']}.request" not in spec.schemas() for step in scenario["steps"]):
        return "a door that takes operations by name"
    return _NEEDS.get(scenario["name"])


def _values(document: Json) -> Iterator[Json]:
    if isinstance(document, dict):
        for inner in document.values():
            yield from _values(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from _values(inner)
    else:
        yield document


def _renamed(scenario: dict[str, Json], mark: str) -> dict[str, Json]:
    """The scenario with its agents and ids marked, wherever they are named."""
    names = {name for step in scenario["steps"] for name in _names(step["payload"])}
    return {**scenario, "steps": _marked(scenario["steps"], names, mark)}


def _names(payload: Json) -> Iterator[str]:
    if isinstance(payload, dict):
        for key, value in payload.items():
            if key in _OWN and isinstance(value, str) and value and not value.startswith("${"):
                yield value


def _marked(document: Json, names: set[str], mark: str) -> Json:
    if isinstance(document, dict):
        return {key: _marked(value, names, mark) for key, value in document.items()}
    if isinstance(document, list):
        return [_marked(value, names, mark) for value in document]
    return f"{document}-{mark}" if isinstance(document, str) and document in names else document


def _meets_its_schema(operation: str, answer: Json) -> None:
    for fault in spec.shape(f"{operation}.response").faults(answer):
        raise Broken(f"the answer to {operation} breaks its schema: {fault}")
