"""What the host does to memory when no run looks: compaction and consolidation, without any model."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from memorywire.model.answers import Merged
from memorywire.model.capabilities import Host as Serves
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Record
from memorywire.model.requests import Merge
from memorywire.pipeline.perform import perform
from memorywire_openwop.adapter import SOURCE, Adapter, Visitor
from memorywire_openwop.entries import LIMIT_MOST, Draft, Wanted, entry_of
from memorywire_openwop.host import Host

COMPACTION = "memorywire.compaction"
CONSOLIDATION = "memorywire.consolidation"
_FEWEST = 2
_TRIGGER = "host-managed"


class Passed(Struct, frozen=True, kw_only=True):
    """What a pass told, and, of a compaction, what it kept."""

    type: str
    payload: dict[str, Json]
    output: Record | None = None


async def compact(host: Host, visitor: Visitor, ref: str) -> Passed:
    """Make one entry of the oldest ones, in their place: their texts, each on its line, in order.

    It is put like any entry, so that no secret comes back by being folded into another text.
    """
    host.adapter(visitor).writable(ref)
    async with host.passing(visitor, COMPACTION, ref) as adapter:
        found = await _entries(adapter, ref)
        sources = list(_fitting(reversed(found), host.serves))
        if len(sources) < _FEWEST:
            raise InvalidRequest("there are not enough entries to make one of", field="memoryRef")
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
        return await _told(adapter, Passed(type="memory.compacted", payload=payload, output=output))


async def consolidate(host: Host, visitor: Visitor, ref: str) -> Passed:
    """Fold entries that say the same, with the same tags and the same end, into the oldest of them.

    A second pass finds nothing to fold.
    """
    host.adapter(visitor).writable(ref)
    async with host.passing(visitor, CONSOLIDATION, ref) as adapter:
        found = await _entries(adapter, ref)
        merged = [id for same in _alike(found) for id in await _folded(same, adapter)]
        payload: dict[str, Json] = {
            "memoryRef": ref,
            "inputCount": len(found),
            "outputCount": len(found) - len(merged),
            "trigger": _TRIGGER,
        }
        if merged:
            payload["mergedIds"] = merged
        return await _told(adapter, Passed(type="agent.memory.consolidated", payload=payload))


async def _told(adapter: Adapter, passed: Passed) -> Passed:
    await adapter.tell(passed.type, passed.payload)
    return passed


async def _entries(adapter: Adapter, ref: str) -> list[Record]:
    """What was put here, newest first. Keys, procedures and what else is in the memory are left alone."""
    found = await adapter.list(ref, Wanted(limit=LIMIT_MOST))
    return [record for record in found if record.source == SOURCE]


async def _folded(same: Sequence[Record], adapter: Adapter) -> tuple[str, ...]:
    oldest, *others = same
    request = Merge(scope=oldest.scope, canonical=oldest.id, duplicates=tuple(one.id for one in others))
    done = await perform(request, adapter.context)
    waits = isinstance(done, Merged) and done.proposal_id is not None
    return () if waits else request.duplicates


def _alike(found: Sequence[Record]) -> Iterator[list[Record]]:
    """Groups of entries that are one but for their ids, oldest first."""
    ordered = sorted(found, key=lambda record: (_sameness(record), record.created_at, record.id))
    for _, group in groupby(ordered, key=_sameness):
        same = list(group)
        if len(same) > 1:
            yield same


def _sameness(record: Record) -> tuple[str, tuple[str, ...], int, str]:
    return record.digest, tuple(sorted(record.tags)), record.expires_at or 0, record.scope.user or ""


def _fitting(oldest_first: Iterator[Record], most: Serves) -> Iterator[Record]:
    """The oldest entries that fit into one; entries with an end are left to end by themselves."""
    lasting = (record for record in oldest_first if record.expires_at is None)
    size = 0
    for count, record in enumerate(lasting):
        size += len(_text(record).encode()) + 1
        if size > most.max_entry_bytes or count == most.max_sources:
            return
        yield record


def _text(record: Record) -> str:
    return str(entry_of(record)["content"])
