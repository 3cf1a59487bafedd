"""The host's discovery document, the profiles that it satisfies, and its agents."""

from collections.abc import Iterable, Mapping
from typing import Final

from memorywire.model.capabilities import (
    LONG_TERM,
    degraded,
    openwop_agents,
    openwop_dimensions,
    openwop_memory,
)
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.wire import strict
from memorywire_openwop.entries import check_fields
from memorywire_openwop.host import Host

CORE: Final = "openwop-core"
MEMORY: Final = "openwop-memory"

_COUNTS = ("clarificationRounds", "schemaRounds", "envelopesPerTurn")
_TEXTS = ("agentId", "persona", "label", "modelClass", "packName", "packVersion")


def build_document(host: Host, extension: str) -> dict[str, Json]:
    """Build the document at `/.well-known/openwop`; repeats both families where earlier versions had them.

    Our own operations are named as RFC 0080 prescribes, with paths below `extension`.
    """
    memory, agents = _families(host)
    fields: dict[str, Json] = {
        "protocolVersion": "1.0",
        "implementation": {"name": "memorywire"},
        "supportedEnvelopes": [],
        "schemaVersions": {},
        "limits": dict.fromkeys(_COUNTS, 0),
        "memory": memory,
        "agents": agents,
        "replay": {"supported": host.serves.has_runs, "modes": ["replay"] if host.serves.has_runs else []},
        "multiAgent": {"executionModel": {"version": host.serves.execution_model}},
        "fixtures": list(host.fixtures),
        "capabilities": {"memory": memory, "agents": agents},
        **_name_extensions(host, memory, extension),
    }
    return {**fields, "profiles": list(profiles(fields))}


def _name_extensions(host: Host, memory: Mapping[str, Json], extension: str) -> dict[str, Json]:
    """Return the operations that OpenWOP does not define, each with its method and path."""
    if not memory["supported"]:
        return {}
    operations = {"query": ("GET", "/memory/{memoryRef}")}
    if host.serves.has_runs:
        operations["adapter"] = ("POST", "/runs/{runId}/memory/{list|get|put|delete}")
        operations["search"] = ("POST", "/runs/{runId}/memory/search")
    if memory["retention"]["forget"]:
        operations["forget"] = ("POST", "/memory/forget")
    return {
        f"x-host-memorywire-memory-{name}": {"method": method, "path": f"{extension}{path}"}
        for name, (method, path) in operations.items()
    }


def profiles(said: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the profiles that a discovery document satisfies."""
    if not _is_core(said):
        return ()
    memory, agents = said.get("memory", {}), said.get("agents", {})
    keeps = memory.get("supported") is True and memory.get("writable") is not False
    lasts = LONG_TERM in agents.get("memoryBackends", ())
    return (CORE, MEMORY) if keeps and lasts else (CORE,)


def parse_manifest(body: Mapping[str, Json]) -> dict[str, Json]:
    """Parse an agent's manifest as in its pack; raises InvalidRequest if something is missing."""
    check_fields(body, "agent", (*_TEXTS, "toolAllowlist", "hasHandoffSchemas", "memoryShape"))
    if not all(isinstance(body.get(name), str) and body[name] for name in _TEXTS):
        raise InvalidRequest(f"an agent needs the strings {', '.join(_TEXTS)}", field="agent")
    context, shape = body.get("toolAllowlist", []), body.get("memoryShape", {})
    if not isinstance(context, list) or not isinstance(shape, Mapping):
        raise InvalidRequest("toolAllowlist must be a list and memoryShape an object", field="agent")
    fields = {name: body[name] for name in _TEXTS}
    handoff = body.get("hasHandoffSchemas") is True
    return {**fields, "toolAllowlist": context, "hasHandoffSchemas": handoff, "memoryShape": dict(shape)}


def parse_manifests(data: bytes) -> tuple[dict[str, Json], ...]:
    """Parse the agent manifests of a file."""
    items = strict.parse(data)
    if not isinstance(items, list):
        raise InvalidRequest("agents must be a JSON list", field="openwop-agents")
    return tuple(map(parse_manifest, items))


def list_agents(host: Host, manifests: Iterable[Mapping[str, Json]]) -> dict[str, Json]:
    """Build the response of `/v1/agents`: each agent, and the memory features it needs and the host lacks."""
    dimensions = openwop_dimensions(*_families(host), host.serves, long_term=host.edition.long_term)
    agents = sorted(
        (_describe_agent(one, dimensions, host) for one in manifests), key=lambda one: one["agentId"]
    )
    return {"agents": agents, "total": len(agents)}


def _families(host: Host) -> tuple[dict[str, Json], dict[str, Json]]:
    """Return the families `memory` and `agents`."""
    wired = host.container.capabilities
    return openwop_memory(wired, host.serves), openwop_agents(wired, host.serves)


def _describe_agent(manifest: Mapping[str, Json], dimensions: tuple[str, ...], host: Host) -> dict[str, Json]:
    shape, word = manifest["memoryShape"], host.edition.long_term
    missing = degraded(shape, dimensions, long_term=word)
    fields = dict(manifest)
    return (
        {**fields, "memoryDegraded": True, "degradedMemoryDimensions": list(missing)} if missing else fields
    )


def _is_core(said: Mapping[str, Json]) -> bool:
    limits = said.get("limits", {})
    return (
        str(said.get("protocolVersion")).startswith("1.")
        and isinstance(said.get("supportedEnvelopes"), list)
        and isinstance(said.get("schemaVersions"), Mapping)
        and all(isinstance(limits.get(name), int) and limits[name] >= 0 for name in _COUNTS)
    )
