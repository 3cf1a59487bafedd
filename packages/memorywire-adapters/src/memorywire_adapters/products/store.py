"""A store over a product, which holds the texts, and a sidecar, which holds versions and ids."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Put
from memorywire.model.errors import (
    MemorywireError,
    StoreUnavailable,
)
from memorywire.model.kv import saying
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.search.reference import Candidate, floats, rank
from memorywire.search.text import terms
from memorywire_adapters.products.product import Entry, Extractor, Kept, Product, Scrubber, Seen, answered
from memorywire_adapters.sidecar import (
    FEATURES,
    Draft,
    Line,
    OneThread,
    Ref,
    Sidecar,
    WriteLock,
    draft,
    fitting,
    floats_of,
    no_history,
    version_like,
)

T = TypeVar("T")

POOL = 500
"""The number of nearest entries to rank; in a scope with at most that many the ranking is exact."""

_PAGE = 200


class VendorStore:
    """Satisfies Store, Tracker, RecallCounter and SupportsListing.

    It keeps no history: ended versions are removed from the product.

    A change is committed by one transaction of the sidecar, after its new entries are in the product and
    before its old ones leave it. Readers never see what a crash leaves behind; the next writer removes it.
    """

    def __init__(
        self, product: Product, sidecar: Sidecar, write_lock: WriteLock, thread: OneThread, space: Space
    ) -> None:
        self._product = product
        self._sidecar = sidecar
        self._write_lock = write_lock
        self._thread = thread
        self._space = space
        self.name = product.name
        self.features: frozenset[Feature] = FEATURES

    @classmethod
    async def opened(
        cls, product: Product, space: Space, *, books: Path | None, lacks: frozenset[Feature] = frozenset()
    ) -> Self:
        """Return the store over an open product, with its sidecar in the file `books`, or in memory if None.

        `lacks` names features of FEATURES that this product does not have.
        """
        thread = OneThread(f"{product.name}-books")
        try:
            sidecar = await thread.do(lambda: Sidecar(books, space))
        except MemorywireError:
            thread.end()
            await product.close()  # the product may have locked its folder
            raise
        write_lock = WriteLock(None if books is None else books.with_name(f"{books.name}-turn"))
        store = cls(product, sidecar, write_lock, thread, space)
        durable = frozenset() if books is None else frozenset({Feature.DURABLE})
        store.features = (FEATURES | durable) - lacks
        return store

    async def write(self, change: Change) -> int:
        async with self._write_lock:
            sequence = await self._thread.do(lambda: self._sidecar.sequence(change))
            if sequence is None:
                plan = await self._thread.do(lambda: draft(change, self._sidecar))
                entries = [await self._entry(put) for put in plan.puts.values()]
                await self._sweep()
                sequence = await self._commit(change, plan, entries)
            await self._remove_ended(bool(change.erase))
            return sequence

    async def _remove_ended(self, for_good: bool) -> None:
        """Remove ended entries, or leave them for later if that fails; `for_good` also scrubs, and raises."""
        try:
            await self._sweep(for_good=for_good)
            if for_good and isinstance(self._product, Scrubber):
                await self._ask(self._product.scrub())
        except StoreUnavailable:
            if for_good:
                raise

    async def _commit(self, change: Change, plan: Draft, entries: Sequence[Entry]) -> int:
        handles = await self._keep(entries)
        lines = [
            replace(line, key=key, handle=handle)
            for line in plan.lines.values()
            for key, handle in [handles.get(line.id, (None, None))]
        ]
        old_refs = await self._find_old(change.scope.tenant, list(plan.lines))
        return await self._thread.do(lambda: self._sidecar.commit(change, lines, old_refs))

    async def _keep(self, entries: Sequence[Entry]) -> Mapping[str, tuple[str, str]]:
        if not entries:
            return {}
        refs = [Ref(key=entry.key, scope=entry.record.scope) for entry in entries]
        await self._thread.do(lambda: self._sidecar.reserve(refs))
        try:
            handles = await self._ask(self._product.keep(entries))
        except MemorywireError:
            with contextlib.suppress(StoreUnavailable):  # the next writer retries
                await self._sweep()
            raise
        pairs = zip(entries, handles, strict=True)
        return {entry.record.id: (entry.key, handle) for entry, handle in pairs}

    async def _find_old(self, tenant: str, ids: Sequence[str]) -> list[Ref]:
        lines = await self._thread.do(lambda: self._sidecar.lines(tenant, ids))
        return [_ref(line) for line in lines.values() if line.key is not None]

    async def _sweep(self, *, for_good: bool = False) -> None:
        """Remove entries marked for deletion; `for_good` checks that the product no longer has them."""
        litter = await self._thread.do(self._sidecar.list_garbage)
        if litter:
            await self._ask(self._product.drop(litter))
            remaining = await self._ask(self._product.fetch(litter)) if for_good else ()
            if remaining:
                raise StoreUnavailable(
                    f"{self.name} still has the memories that were to be erased",
                    fix="retry; if they stay, the product does not delete them: delete them by hand",
                )
            await self._thread.do(lambda: self._sidecar.forget_garbage(litter))

    async def _entry(self, put: Put) -> Entry:
        vector = put.vector
        if vector is None and put.like is not None:
            vector = await self._like(put.record, put.like)
        checked_vector = None if vector is None else fitting(vector, self._space)
        return Entry(record=replace(put.record, recalled_at=None), vector=checked_vector)

    async def _like(self, record: Record, version: int) -> bytes | None:
        line = await self._thread.do(lambda: self._sidecar.line(record.scope.tenant, record.id))
        same = version_like(version, line)
        if same is None:
            return None
        [entry] = await self._read_entries([same]) or [Kept(record=record)]
        return None if entry.vector is None else floats_of(entry.vector)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        lines = await self._thread.do(lambda: self._sidecar.lines(scope.tenant, ids))
        live = [line for line in lines.values() if line.live and scope.covers(line.scope)]
        records = {entry.record.id: entry.record for entry in await self._read_entries(live)}
        return [records[id] for id in ids if id in records]

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await _first(limit, self._matching(where, after))

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        return await _first(limit, self._matching(where, before, backwards=True))

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        return await self._thread.do(lambda: self._sidecar.owners(tenant))

    async def count(self, where: Where) -> int:
        return len([entry async for entry in self._matching(where)])

    async def search(self, query: Query, limit: int) -> list[Scored]:
        candidates = await self._candidates(query, limit)
        vector = None if query.vector is None else floats(query.vector)
        return rank([_candidate(entry) for entry in candidates], vector, query, limit)

    async def _candidates(self, query: Query, limit: int) -> list[Kept]:
        """Return the product's nearest entries, or all in the scope if these are too few."""
        where = query.where
        size = await self._thread.do(lambda: self._sidecar.size(where.scope))
        if query.vector is not None and size:
            _refuse_past(where)
            entries = await self._ask(self._product.nearest(query, max(POOL, 4 * limit)))
            current = await self._find_current(where.scope.tenant, entries)
            matching = [entry for entry in current if where.matches(entry.record)]
            if len(current) >= size or (size > POOL and len(matching) >= limit):
                return matching
        return [entry async for entry in self._matching(where)]

    async def _find_current(self, tenant: str, entries: Sequence[Seen]) -> list[Kept]:
        """Return the entries that are current versions of their memories, each once."""
        by_key = {one.key: Kept.read(one.payload) for one in entries}
        ids = [entry.record.id for entry in by_key.values()]
        lines = await self._thread.do(lambda: self._sidecar.lines(tenant, ids))
        current = {line.key: line for line in lines.values() if line.live}
        return [_with_recalled_at(entry, current[key]) for key, entry in by_key.items() if key in current]

    async def _matching(
        self, where: Where, after: str | None = None, *, backwards: bool = False
    ) -> AsyncIterator[Kept]:
        _refuse_past(where)
        page = partial(self._sidecar.page, where.scope, limit=_PAGE, backwards=backwards)
        while lines := await self._thread.do(partial(page, after)):
            for entry in await self._read_entries(lines):
                if where.matches(entry.record):
                    yield entry
            after = lines[-1].id

    async def _read_entries(self, lines: Sequence[Line]) -> list[Kept]:
        """Return the product's entries for these live rows, in order, without those that the product lost."""
        by_id = await self._fetch(lines)
        missing = [line for line in lines if line.id not in by_id]
        if missing:  # usually a change was committed in the meantime
            fresh = await self._thread.do(
                lambda: self._sidecar.lines(missing[0].scope.tenant, [line.id for line in missing])
            )
            by_id |= await self._fetch([line for line in fresh.values() if line.live])
        return [by_id[line.id] for line in lines if line.id in by_id]

    async def _fetch(self, lines: Sequence[Line]) -> dict[str, Kept]:
        if not lines:
            return {}
        current = {line.key: line for line in lines}
        entries = await self._ask(self._product.fetch([_ref(line) for line in lines]))
        by_key = {one.key: Kept.read(one.payload) for one in entries if one.key in current}
        return {current[key].id: _with_recalled_at(one, current[key]) for key, one in by_key.items()}

    async def duplicate(self, record: Record, at: int) -> Record | None:
        digest = saying(record)
        if digest is None:
            return None
        lines = await self._thread.do(lambda: self._sidecar.saying(record.scope, digest))
        same = [line for line in lines if line.id != record.id and line.alive(at)]
        entries = await self._read_entries(sorted(same, key=lambda line: line.id)[:1])
        return entries[0].record if entries else None

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        await self._thread.do(lambda: self._sidecar.touch(scope, ids, at))

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return await self._thread.do(lambda: self._sidecar.recalls(records))

    async def health(self) -> Mapping[str, Json]:
        product = await self._ask(self._product.health())
        return {**product, **await self._thread.do(self._sidecar.totals)}

    async def close(self) -> None:
        await self._product.close()
        await self._thread.do(self._sidecar.close)
        self._thread.end()
        self._write_lock.close()

    async def _ask(self, call: Awaitable[T]) -> T:
        return await answered(self._product, call)


class ExtractingStore(VendorStore):
    """A store whose product is an Extractor; also satisfies Ingester."""

    _product: Extractor

    async def ingest(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        return await self._ask(self._product.extract(scope, messages))


async def _first(limit: int, matching: AsyncIterator[Kept]) -> list[Record]:
    records: list[Record] = []
    if limit > 0:
        async for entry in matching:
            records.append(entry.record)
            if len(records) == limit:
                break
    return records


def _ref(line: Line) -> Ref:
    return Ref(key=str(line.key), scope=line.scope, handle=line.handle)


def _with_recalled_at(entry: Kept, line: Line) -> Kept:
    """Return the entry with the time of its last recall, which only the sidecar has."""
    return replace(entry, record=replace(entry.record, recalled_at=line.recalled_at))


def _candidate(entry: Kept) -> Candidate:
    vector = None if entry.vector is None else floats(floats_of(entry.vector))
    return Candidate(entry.record, vector, terms(entry.record.text))


def _refuse_past(where: Where) -> None:
    if where.as_of is not None:
        raise no_history()
