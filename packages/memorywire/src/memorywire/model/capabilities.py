"""The capabilities of a memory, and the documents that announce them to clients of other protocols."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from memorywire.model.record import Json, MemoryType
from memorywire.model.space import NO_SPACE, Space


class Feature(StrEnum):
    """An optional feature of a store."""

    VECTOR = "vector"
    FTS = "fts"
    HISTORY = "history"
    AS_OF = "as_of"
    UNDO = "undo"
    IDEMPOTENCY = "idempotency"
    HARD_DELETE = "hard_delete"
    RECALL_TRACKING = "recall_tracking"
    DURABLE = "durable"
    GRAPH = "graph"


def working(features: frozenset[Feature], space: Space) -> frozenset[Feature]:
    """Return the features of a store that work with this embedding space; without vectors if it is empty."""
    return features - {Feature.VECTOR} if space == NO_SPACE else features


class StoreCapabilities(Struct, frozen=True, kw_only=True):
    name: str
    features: frozenset[Feature]
    types: tuple[MemoryType, ...] = tuple(MemoryType)


class Capabilities(Struct, frozen=True, kw_only=True):
    """The capabilities of a container. `overseen`: there is a journal, so people can review changes.

    `together` are the features of several stores combined. `extracts`: facts can be extracted from
    conversations. `hosting`: an OpenWOP host is mounted.
    """

    stores: tuple[StoreCapabilities, ...]
    space: Space
    overseen: bool = False
    together: frozenset[Feature] | None = None
    extracts: bool = False
    hosting: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        """The features that every store has."""
        if self.together is not None:
            return self.together
        return frozenset.intersection(*(store.features for store in self.stores))


LONG_TERM: Final = "long-term"
"""The backend of OpenWOP, and by its RFC 0080 also the dimension; see `Edition` for its other name."""


class Edition(StrEnum):
    """An edition of OpenWOP's conformance suite. Editions differ in the name of the long-term dimension."""

    V1_14 = "1.14"
    V1_15 = "1.15"

    @property
    def long_term(self) -> str:
        """The name of the dimension for memory that outlasts a run."""
        return LONG_TERM if self is Edition.V1_14 else "long-term-durability"


DIMENSIONS: Final = (
    "read",
    "write",
    "search",
    LONG_TERM,
    "compaction",
    "attribution",
    "replay-snapshot",
    "retention",
)
"""All dimensions of RFC 0080, in its order."""

REPLAYABLE: Final = 2
"""The version of OpenWOP's execution model whose runs can be replayed."""

_SHAPES = ("scratchpad", "conversation", "longTerm")


class Host(Struct, frozen=True, kw_only=True):
    """Optional features of an OpenWOP host; each is advertised only where it is served."""

    max_entry_bytes: int = 65_536
    max_sources: int = 100  # of a compaction: its tags name every one of them
    compacts: bool = False
    attributes: bool = False
    consolidates: bool = False
    execution_model: int = 1

    @property
    def has_runs(self) -> bool:
        return self.execution_model >= REPLAYABLE


def host_over(capabilities: Capabilities) -> Host:
    """Return the features of a host over this memory; runs need a store with history."""
    runs = Feature.HISTORY in capabilities.features
    model = REPLAYABLE if runs else 1
    return Host(compacts=runs, attributes=runs, consolidates=runs, execution_model=model)


def probe(capabilities: Capabilities) -> dict[str, bool]:
    """Return the answer to the capability probe of the key-value and message layer contracts.

    Every transport refuses operations whose capability is false. `stats` describe vectors by model; without
    an embedder the message layer cannot store or recall, so it is false.
    """
    vectors = Feature.VECTOR in capabilities.features
    layer = capabilities.extracts and capabilities.space != NO_SPACE
    return {"kv": True, "vector_search": vectors, "stats": vectors, "memory_layer": layer}


def openwop(capabilities: Capabilities) -> dict[str, Json]:
    """Return the capabilities of an OpenWOP host over this memory, and whether one is mounted."""
    host = host_over(capabilities)
    memory, agents = openwop_memory(capabilities, host), openwop_agents(capabilities, host)
    dimensions = openwop_dimensions(memory, agents, host)
    return {
        "served": capabilities.hosting,
        "memory": memory,
        "agents": agents,
        "dimensions": list(dimensions),
    }


def openwop_memory(capabilities: Capabilities, host: Host) -> dict[str, Json]:
    """Return the `memory` family. Without a journal it is unsupported; without runs it is read-only."""
    if not capabilities.overseen:
        return {"supported": False, "writable": False}
    semantic = ["semantic"] if Feature.VECTOR in capabilities.features else []
    family: dict[str, Json] = {
        "supported": True,
        "writable": host.has_runs,
        "maxEntrySizeBytes": host.max_entry_bytes,
        "ttlSupported": True,
        "search": {"supported": True, "modes": [*semantic, "filter"]},
        "retention": {"ttl": True, "forget": Feature.HARD_DELETE in capabilities.features},
        "compaction": {"supported": host.compacts},
    }
    if host.compacts:
        most = {"maxInputEntries": host.max_sources, "maxOutputBytes": host.max_entry_bytes}
        family["compaction"] |= {"trigger": "host-managed", **most}
    if host.attributes:
        family["attribution"] = {"supported": True, "emitsWriteEvents": True}
    return family


def openwop_agents(capabilities: Capabilities, host: Host) -> dict[str, Json]:
    """Return the `agents` family. Long-term memory needs a durable store, a journal and runs."""
    lasting = Feature.DURABLE in capabilities.features and capabilities.overseen and host.has_runs
    family: dict[str, Json] = {
        "supported": capabilities.overseen,
        "memoryBackends": [LONG_TERM] if lasting else [],
    }
    if host.consolidates and capabilities.overseen:
        family["memoryConsolidation"] = {"supported": True, "schedule": "on-demand"}
    return family


def openwop_dimensions(
    memory: Mapping[str, Json], agents: Mapping[str, Json], host: Host, *, long_term: str = LONG_TERM
) -> tuple[str, ...]:
    """Return the dimensions that the two families satisfy, in the order of RFC 0080."""
    if not memory["supported"]:
        return ()
    lasting = LONG_TERM in agents["memoryBackends"]
    support = {
        "read": memory["supported"],
        "write": memory["supported"] and memory["writable"],
        "search": memory["search"]["supported"],
        long_term: lasting,
        "compaction": memory["compaction"]["supported"],
        "attribution": "attribution" in memory,
        "replay-snapshot": lasting and host.has_runs,
        "retention": memory["retention"]["ttl"] or memory["retention"]["forget"],
    }
    return tuple(name for name, holds in support.items() if holds)


def degraded(
    shape: Mapping[str, Json], dimensions: tuple[str, ...], *, long_term: str = LONG_TERM
) -> tuple[str, ...]:
    """Return the missing dimensions that an agent's `memoryShape` needs."""
    operations = ["read", "write"] if any(shape.get(name) is True for name in _SHAPES) else []
    operations += [long_term] if shape.get("longTerm") is True else []
    return tuple(dimension for dimension in operations if dimension not in dimensions)
