"""Every advertisement is read off what is wired, and claims nothing more."""

from typing import Any

import pytest
from msgspec.structs import replace

from memorywire.model.capabilities import (
    DIMENSIONS,
    Capabilities,
    Feature,
    Host,
    StoreCapabilities,
    degraded,
    host_over,
    openwop,
    openwop_agents,
    openwop_dimensions,
    openwop_memory,
    probe,
)
from memorywire.model.space import NO_SPACE, Space

_FULL = Host(compacts=True, attributes=True, consolidates=True, execution_model=2)


def _wired(*missing: Feature, **more: Any) -> Capabilities:
    store = StoreCapabilities(name="store", features=frozenset(Feature) - set(missing))
    space = Space(model="m", revision="1", dimension=8)
    return Capabilities(stores=(store,), space=space, **{"overseen": True, "extracts": True, **more})


def _dimensions(wired: Capabilities, host: Host) -> tuple[str, ...]:
    return openwop_dimensions(openwop_memory(wired, host), openwop_agents(wired, host), host)


def test_the_probe_tells_what_is_wired() -> None:
    assert probe(_wired()) == {"kv": True, "vector_search": True, "stats": True, "memory_layer": True}
    blind = probe(replace(_wired(Feature.VECTOR), space=NO_SPACE))
    assert blind == {"kv": True, "vector_search": False, "stats": False, "memory_layer": False}
    poor = probe(_wired(Feature.VECTOR, extracts=False))
    assert poor == {"kv": True, "vector_search": False, "stats": False, "memory_layer": False}


def test_a_full_host_has_all_eight_dimensions_in_their_order() -> None:
    assert _dimensions(_wired(), _FULL) == (
        "read",
        "write",
        "search",
        "long-term",
        "compaction",
        "attribution",
        "replay-snapshot",
        "retention",
    )


def test_a_host_over_what_is_wired_claims_runs_where_there_is_history() -> None:
    assert host_over(_wired()) == _FULL
    assert host_over(_wired(Feature.HISTORY)) == Host()


def test_an_open_host_is_told_from_one_that_could_be() -> None:
    told = openwop(_wired(hosting=True))
    assert (told["served"], tuple(told["dimensions"])) == (True, DIMENSIONS)
    assert openwop(_wired()) == {**told, "served": False}


def test_without_a_journal_there_is_no_host() -> None:
    told = openwop(_wired(overseen=False))
    assert (told["memory"], told["agents"]["supported"]) == ({"supported": False, "writable": False}, False)
    assert told["dimensions"] == []


@pytest.mark.parametrize(
    ("wired", "host", "missing"),
    [
        (_wired(Feature.DURABLE), _FULL, {"long-term", "replay-snapshot"}),
        (_wired(overseen=False), _FULL, set(DIMENSIONS)),
        (_wired(), Host(attributes=True, compacts=True), {"write", "long-term", "replay-snapshot"}),
        (_wired(), Host(execution_model=2), {"compaction", "attribution"}),
    ],
    ids=["forgetful", "unwatched", "old", "plain"],
)
def test_what_is_not_there_is_not_claimed(wired: Capabilities, host: Host, missing: set[str]) -> None:
    assert set(_dimensions(_wired(), _FULL)) - set(_dimensions(wired, host)) == missing


def test_meaning_is_searched_only_with_vectors() -> None:
    assert openwop_memory(_wired(), _FULL)["search"]["modes"] == ["semantic", "filter"]
    assert openwop_memory(_wired(Feature.VECTOR), _FULL)["search"]["modes"] == ["filter"]


@pytest.mark.parametrize(
    ("shape", "satisfied", "unmet"),
    [
        ({"longTerm": True}, ("read",), ("write", "long-term")),
        ({"longTerm": True}, ("read", "write", "long-term"), ()),
        ({"scratchpad": True}, (), ("read", "write")),
        ({"longTerm": "yes"}, (), ()),
        ({"longTerm": False}, (), ()),
        ({}, (), ()),
    ],
    ids=["read-only", "all", "nothing", "no boolean", "no", "none"],
)
def test_an_agent_is_degraded_exactly_by_what_it_asks_for_and_does_not_get(
    shape: dict[str, Any], satisfied: tuple[str, ...], unmet: tuple[str, ...]
) -> None:
    assert degraded(shape, satisfied) == unmet


def test_the_later_word_for_long_term_can_be_asked_for() -> None:
    word = "long-term-durability"
    wired = _wired()
    families = openwop_memory(wired, _FULL), openwop_agents(wired, _FULL)
    assert word in openwop_dimensions(*families, _FULL, long_term=word)
    assert degraded({"longTerm": True}, ("read", "write"), long_term=word) == (word,)
