"""Memories that nearly say the same: what a reviewer wants to see beside a proposal."""

from collections.abc import Sequence

from memorywire.model.query import Query, Scored
from memorywire.model.record import Record
from memorywire.model.where import Where
from memorywire.pipeline.context import Context
from memorywire.search.admit import admit

_MOST = 3


async def nearest(record: Record, context: Context) -> Sequence[Scored]:
    """The live memories of the record's own scope that are closest to what it says, without itself."""
    now = context.clock()
    query = Query(
        where=Where(scope=record.scope, alive_at=now),
        text=record.text,
        vector=(await context.embedder.embed([record.meaning]))[0],
        times=(),
    )
    found = await context.store.search(query, _MOST + 1)
    admitted = admit(found, "auto", context.floors).admitted
    return [hit for hit in admitted if hit.record.id != record.id][:_MOST]
