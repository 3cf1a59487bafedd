"""Workflows that the published conformance scenarios start; only a host under test has them."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from memorywire.model.record import Json, Record, Scope
from memorywire_openwop.adapter import Adapter
from memorywire_openwop.entries import Draft, Listing
from memorywire_openwop.host import Host, Workflow, name_record
from memorywire_openwop.refs import build_ref

_RESOLVED = "conformance-byok"
_SOON_MS = 50
_TENANT_B = "openwop-conformance-tenant-b"

AGENTS: Final[tuple[Mapping[str, Json], ...]] = tuple(
    {
        "agentId": f"conformance.{name}",
        "persona": "An agent of the conformance scenarios.",
        "label": name,
        "modelClass": "any",
        "packName": "conformance",
        "packVersion": "1.0.0",
        "toolAllowlist": [],
        "hasHandoffSchemas": False,
        "memoryShape": shape,
    }
    for name, shape in {"forgetful": {}, "long-term": {"longTerm": True, "conversation": True}}.items()
)


def workflows() -> dict[str, Workflow]:
    """Return the workflows by the ids that the scenarios use."""
    workflows_by_name = {
        "conformance-noop": _summarise,
        "conformance-agent-memory-roundtrip": _write_then_read,
        "conformance-agent-memory-redaction": _redact,
        "conformance-agent-memory-ttl": _expire,
        "conformance-agent-memory-cross-tenant": _look_across,
    }
    return {name: Workflow(refs=partial(_refs, name), work=work) for name, work in workflows_by_name.items()}


def _refs(name: str, tenant: str) -> list[str]:
    return [build_ref(Scope(tenant=tenant, agent=name))]


def _ref(adapter: Adapter) -> str:
    """Return the only memory that a run of these workflows is bound to."""
    return next(iter(adapter.run.moments)) if adapter.run is not None else ""


def _afterwards(adapter: Adapter) -> Adapter:
    """Return an adapter that sees memory after the run's writes, which the run itself does not see."""
    return replace(adapter, run=None)


async def _summarise(host: Host, adapter: Adapter) -> dict[str, Json]:
    await adapter.put(
        _ref(adapter), Draft(content="The run had nothing to do.", tags=("source:run-summary",))
    )
    return {}


async def _write_then_read(host: Host, adapter: Adapter) -> dict[str, Json]:
    return {"memoryReadback": await _read_back(adapter, Draft(content="hello", tags=("source:fixture",)))}


async def _redact(host: Host, adapter: Adapter) -> dict[str, Json]:
    value = f"byok-{host.container.context.mint()}"
    adapter.vault.add(_RESOLVED, value)
    readback = await _read_back(adapter, Draft(content=f"The key is {value}.", tags=("source:fixture",)))
    return {"memoryReadback": readback}


async def _expire(host: Host, adapter: Adapter) -> dict[str, Json]:
    """Write an entry that lasts and one that expires soon, and wait, since a past expiry would be refused."""
    ref, clock = _ref(adapter), host.container.context.clock
    fresh = await adapter.put(ref, Draft(content="still fresh"))
    expiring = await adapter.put(ref, Draft(content="soon gone", expires_at=clock() + _SOON_MS))
    await asyncio.sleep((_SOON_MS + 1) / 1000)
    records = await _afterwards(adapter).list(ref, Listing())
    return {"memoryList": list(map(name_record, records)), "freshId": fresh.id, "expiredId": expiring.id}


async def _look_across(host: Host, adapter: Adapter) -> dict[str, Json]:
    ref = _ref(adapter)
    own = await adapter.put(ref, Draft(content="mine alone"))
    records = await _afterwards(adapter).list(ref, Listing())
    theirs = await adapter.list(build_ref(Scope(tenant=_TENANT_B, agent="conformance")), Listing())
    return {
        "ownerProbe": list(map(name_record, records)),
        "ownerEntryId": own.id,
        "crossTenantProbe": list(map(name_record, theirs)),
    }


async def _read_back(adapter: Adapter, entry: Draft) -> Json:
    kept = await adapter.put(_ref(adapter), entry)
    record: Record | None = await _afterwards(adapter).get(_ref(adapter), kept.id)
    return None if record is None else name_record(record)
