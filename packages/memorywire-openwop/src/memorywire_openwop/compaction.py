"""Compacts and consolidates a memory, outside of user runs and without a language model."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from memorywire.app.dispatch import perform
from memorywire.model.answers import Merged
from memorywire.model.capabilities import Host as Serves
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Record
from memorywire.model.requests import Merge
from memorywire_openwop.adapter import SOURCE, Adapter, Requester
from memorywire_openwop.entries import LIMIT_MOST, Draft, Listing, encode_entry
from memorywire_openwop.host import Host

COMPACTION = "memorywire.compaction"
CONSOLIDATION = "memorywire.consolidation"
_FEWEST = 2
_TRIGGER = "host-managed"


class PassResult(Struct, frozen=True, kw_only=True):
    """The event of a compaction or consolidation and, for a compaction, the entry that it wrote."""

    type: str
    payload: dict[str, Json]
    output: Record | None = None


async def compact(host: Host, caller: Requester, ref: str) -> PassResult:
    """Replace the oldest entries with one: their texts, one per line, in order.

    The new entry is written like any other, so its text is scanned for secrets again.
    """
    host.adapter(caller).writable(ref)
    async with host.passing(caller, COMPACTION, ref) as adapter:
        records = await _list_own_entries(adapter, ref)
        sources = list(_list_fitting(reversed(records), host.serves))
        if len(sources) < _FEWEST:
            raise InvalidRequest("a compaction needs at least two entries", field="memoryRef")
        text = "\n".join(_text(source) for source in sources)
        tags = ("source:compaction", *(f"compacted-from:{source.id}" for source in sources))
        output = await adapter.fold(ref, Draft(content=text, tags=tags), sources)
        payload: dict[str, Json] = {
            "memoryRef": ref,
            "outputId": output.id,
            "sourceCount": len(sources),
            "sourceIds": [source.id for source in sources],
            "trigger": _TRIGGER,
            "byteSize": len(_text(output).encode()),
        }
        return await _report(adapter, PassResult(type="memory.compacted", payload=payload, output=output))


async def consolidate(host: Host, caller: Requester, ref: str) -> PassResult:
    """Merge entries with the same content, tags and expiry into the oldest of them.

    Idempotent: a second run merges nothing.
    """
    host.adapter(caller).writable(ref)
    async with host.passing(caller, CONSOLIDATION, ref) as adapter:
        records = await _list_own_entries(adapter, ref)
        merged = [id for same in _group_equal(records) for id in await _merge_group(same, adapter)]
        payload: dict[str, Json] = {
            "memoryRef": ref,
            "inputCount": len(records),
            "outputCount": len(records) - len(merged),
            "trigger": _TRIGGER,
        }
        if merged:
            payload["mergedIds"] = merged
        return await _report(adapter, PassResult(type="agent.memory.consolidated", payload=payload))


async def _report(adapter: Adapter, passed: PassResult) -> PassResult:
    await adapter.tell(passed.type, passed.payload)
    return passed


async def _list_own_entries(adapter: Adapter, ref: str) -> list[Record]:
    """Return the entries written through this host, newest first; keys, procedures and others are skipped."""
    records = await adapter.list(ref, Listing(limit=LIMIT_MOST))
    return [record for record in records if record.source == SOURCE]


async def _merge_group(same: Sequence[Record], adapter: Adapter) -> tuple[str, ...]:
    oldest, *others = same
    request = Merge(scope=oldest.scope, canonical=oldest.id, duplicates=tuple(one.id for one in others))
    receipt = await perform(request, await adapter.context.serving(oldest.scope))
    waits = isinstance(receipt, Merged) and receipt.proposal_id is not None
    return () if waits else request.duplicates


def _group_equal(found: Sequence[Record]) -> Iterator[list[Record]]:
    """Yield groups of entries that differ only in id and time, each sorted oldest first."""
    ordered = sorted(found, key=lambda record: (_equality_key(record), record.created_at, record.id))
    for _, group in groupby(ordered, key=_equality_key):
        same = list(group)
        if len(same) > 1:
            yield same


def _equality_key(record: Record) -> tuple[str, tuple[str, ...], int, str]:
    return record.digest, tuple(sorted(record.tags)), record.expires_at or 0, record.scope.user or ""


def _list_fitting(oldest_first: Iterator[Record], most: Serves) -> Iterator[Record]:
    """Yield the oldest entries that fit into one; entries that expire are skipped."""
    lasting = (record for record in oldest_first if record.expires_at is None)
    size = 0
    for count, record in enumerate(lasting):
        size += len(_text(record).encode()) + 1
        if size > most.max_entry_bytes or count == most.max_sources:
            return
        yield record


def _text(record: Record) -> str:
    return str(encode_entry(record)["content"])
