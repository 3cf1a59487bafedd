"""Reads of key-value entries: one, a page, and statistics."""

from memorywire.model.capabilities import Feature, working
from memorywire.model.errors import EmbedderNotConfigured, VectorUnsupported
from memorywire.model.kv import MARK, Entry, Listing, ModelStats, Stats, entry_of
from memorywire.pipeline.kv.keys import Keys

_FLOAT_BYTES = 4
_BUILT_IN = "memorywire"
_ENDPOINT = "openai"


async def entry(keys: Keys, key: str) -> Entry | None:
    """Return the current entry; None if there is none or it has expired."""
    place = await keys.find(key)
    if place.current is None:
        place = await keys.trace(key)
    current = place.current
    return entry_of(current) if current is not None and current.alive(keys.context.clock()) else None


async def entries(keys: Keys, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
    """Return a page of entries in key order, starting after the key `after`."""
    entries = [entry_of(record) async for record in keys.every(prefix)]
    behind = sorted((one for one in entries if after is None or one.key > after), key=lambda one: one.key)
    page = tuple(behind[:limit])
    more = len(behind) > limit
    return Listing(entries=page, truncated=more, next=page[-1].key if more else None)


async def stats(keys: Keys) -> Stats:
    """Return the number of entries, their bytes, and the model of their vectors."""
    features, space = keys.context.store.features, keys.context.embedder.space
    if Feature.VECTOR not in features:
        raise VectorUnsupported("the store keeps no vectors, so it cannot report on them")
    if Feature.VECTOR not in working(features, space):
        raise EmbedderNotConfigured(
            "no embedder is configured, so there are no vectors",
            field="embedder",
            fix="set MEMORYWIRE_EMBEDDER=minilm, or list the entries",
        )
    marks = [record.metadata[MARK] async for record in keys.every()]
    embedded_count = sum(mark["embedded"] for mark in marks)
    provider = _ENDPOINT if space.revision == "remote" else _BUILT_IN
    model = ModelStats(
        provider=provider, model=space.model, dimension=space.dimension, entries=embedded_count
    )
    return Stats(
        entries=len(marks),
        value_bytes=sum(mark["bytes"] for mark in marks),
        quota_bytes=keys.limits.quota_bytes,
        embedding_bytes=embedded_count * space.dimension * _FLOAT_BYTES,
        models=(model,) if embedded_count else (),
    )
