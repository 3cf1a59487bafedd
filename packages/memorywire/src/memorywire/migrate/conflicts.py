"""Resolves conflicts: ids of imported memories that another memory of the target already has."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec.structs import replace

from memorywire.migrate.history import derive_id, find_history_store
from memorywire.model.change import Base, Change, Put
from memorywire.model.record import Record
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsHistory

_LINKS = ("supersedes", "merged_from", "derived_from")


async def find_applied(changes: Sequence[Change], store: Store) -> Mapping[str, str]:
    """Return the agent of each of these changes that was applied here before, by change id."""
    log = find_history_store(store)
    if isinstance(log, SupportsChangeLog):
        return await log.known(changes[0].scope.tenant, [change.id for change in changes])
    if not isinstance(store, SupportsHistory):
        return {}
    return {
        change.id: change.scope.agent
        for change in changes
        if await store.footprint(change.scope, change.id) is not None
    }


async def find_conflicts(changes: Sequence[Change], store: Store) -> list[str]:
    """Return the ids of memories that these changes create, but that another change created before."""
    beginnings = {
        put.record.id: change for change in changes for put in change.put if put.base is Base.NOTHING
    }
    if not beginnings:
        return []
    log = find_history_store(store)
    if isinstance(log, SupportsChangeLog):
        origins = await log.origins(changes[0].scope.tenant, list(beginnings))
        return [id for id, change_id in origins.items() if change_id != beginnings[id].id]
    conflicts: list[str] = []
    for id, change in beginnings.items():
        if isinstance(store, SupportsHistory):
            chain = await store.history(change.scope, id)
            conflicts += [id] if chain and chain[0].began_by != change.id else []
        elif await store.get(change.scope, [id]):
            conflicts.append(id)
    return conflicts


class OnConflict(StrEnum):
    """`skip` keeps the stored memory; `overwrite` and `merge` give it a new version; `new-id` keeps both."""

    SKIP = "skip"
    OVERWRITE = "overwrite"
    NEW_ID = "new-id"
    MERGE = "merge"


class ConflictResolver:
    """Tracks the ids that cannot be used, and adapts changes to them by the conflict rule.

    It has no state between imports: the change that created a memory shows whether this import wrote it.
    """

    def __init__(self, context: Context, mode: OnConflict) -> None:
        self._context = context
        self._mode = mode
        self._conflicts: set[str] = set()  # ids that another memory has
        self._dropped: set[str] = set()  # ids whose change was not applied
        self._new_ids: dict[str, str] = {}

    async def look(self, changes: Sequence[Change]) -> None:
        """Find the ids in these changes that other memories have, and record them."""
        conflicts = await find_conflicts(changes, self._context.store)
        self._conflicts.update(conflicts)
        self._dropped.difference_update(conflicts)

    def concerns(self, change: Change) -> bool:
        """Whether the change mentions an id that cannot be used or was renamed."""
        return any(id in self._new_ids or not self._is_usable(id) for id in _list_ids(change))

    def drop(self, change: Change) -> None:
        """Mark the memories of a change that is not applied, so that later changes do not build on it."""
        ids = {put.record.id for put in change.put}
        self._dropped |= ids
        self._conflicts -= ids

    def drop_missing(self, change: Change) -> Change | None:
        """Return the change without ends of dropped memories; None if it puts one or becomes empty."""
        if any(self.is_dropped(put.record.id) for put in change.put):
            return None
        ends = tuple(end for end in change.end if not self.is_dropped(end.id))
        if ends == change.end:
            return change  # keeps one that was empty before, by an erasure
        return replace(change, end=ends) if change.put or ends else None

    def is_dropped(self, id: str) -> bool:
        return id in self._dropped

    async def resolve(self, change: Change) -> Change | None:
        """Return the change as the conflict rule allows it; None if nothing is left of it."""
        if self._mode is OnConflict.NEW_ID:
            conflicts = self._conflicts.intersection(_list_ids(change))
            self._new_ids |= {id: derive_id(change.scope.agent, id) for id in conflicts}
        puts = [await self._resolve_put(put) for put in change.put]
        resolution = replace(
            change,
            put=tuple(put for put in puts if put is not None),
            end=tuple(
                replace(end, id=self.new_id(end.id), into=end.into and self.new_id(end.into))
                for end in change.end
                if self._is_usable(end.id)
            ),
            about=change.about and self.new_id(change.about),
        )
        return resolution if resolution.put or resolution.end else None

    def _is_usable(self, id: str) -> bool:
        return id not in self._dropped and (id not in self._conflicts or id in self._new_ids)

    def new_id(self, id: str) -> str:
        """Return the id here of a memory of the import."""
        return self._new_ids.get(id, id)

    async def _resolve_put(self, put: Put) -> Put | None:
        links = {name: tuple(map(self.new_id, getattr(put.record, name))) for name in _LINKS}
        record = replace(put.record, id=self.new_id(put.record.id), **links)
        if self._is_usable(put.record.id):
            return replace(put, record=record)
        replaces = self._mode in (OnConflict.OVERWRITE, OnConflict.MERGE)
        if not replaces or self.is_dropped(put.record.id):
            return None
        return await self._replace_stored(put, record)

    async def _replace_stored(self, put: Put, record: Record) -> Put | None:
        """Put a new version of the stored memory; None if it is another agent's or erased."""
        store, base = self._context.store, Base.LIVE
        if isinstance(store, SupportsHistory):
            chain = await store.history(record.scope, record.id)
            if not chain or chain[-1].record is None:
                return None  # neither can be overwritten
            existing = chain[-1].record
            base = Base.LIVE if chain[-1].ended is None else Base.ENDED
        else:
            [existing] = await store.get(record.scope, [record.id])
        version = _merge(existing, record) if self._mode is OnConflict.MERGE else record
        return replace(
            put, record=replace(version, version=existing.version + 1, scope=existing.scope), base=base
        )


def _merge(existing: Record, record: Record) -> Record:
    """Merge two memories: the text of the newer one, the metadata and tags of both."""
    newer = max(existing, record, key=lambda one: one.updated_at)
    older = record if newer is existing else existing
    return replace(
        newer,
        metadata={**older.metadata, **newer.metadata},
        tags=tuple(dict.fromkeys((*existing.tags, *record.tags))),
        confidence=max(existing.confidence, record.confidence),
        created_at=min(existing.created_at, record.created_at),
    )


def _list_ids(change: Change) -> list[str]:
    links = [id for put in change.put for name in _LINKS for id in getattr(put.record, name)]
    return [*(put.record.id for put in change.put), *(end.id for end in change.end), *links]
