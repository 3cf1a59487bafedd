"""What happens where an id is taken: what is there stays, or gives way, or both live, or become one."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec.structs import replace

from memorywire.migrate.existing import taken_in
from memorywire.migrate.names import derived
from memorywire.model.change import Base, Change, Put
from memorywire.model.record import Record
from memorywire.pipeline.context import Context
from memorywire.stores.contract import SupportsHistory


class OnConflict(StrEnum):
    """`skip` keeps what is there; `overwrite` and `merge` make a new version of it; `new-id` keeps both."""

    SKIP = "skip"
    OVERWRITE = "overwrite"
    NEW_ID = "new-id"
    MERGE = "merge"


class Fate(StrEnum):
    """What becomes of an id of the import: somebody else has it here, or it did not come in."""

    TAKEN = "taken"
    DROPPED = "dropped"


class Settling:
    """Knows which ids are in the way, and does about each what was asked for.

    Nothing is remembered from one run to the next: who began a memory here tells whether it is ours.
    """

    def __init__(self, context: Context, mode: OnConflict) -> None:
        self._tools = context
        self._mode = mode
        self.fates: dict[str, Fate] = {}
        self._renamed: dict[str, str] = {}

    async def look(self, changes: Sequence[Change]) -> None:
        """Find the ids that are taken by somebody else's change."""
        taken = await taken_in(changes, self._tools.store)
        self.fates |= dict.fromkeys(taken, Fate.TAKEN)

    def concerns(self, change: Change) -> bool:
        """Whether the change is about a memory that is in the way, or speaks of one that was renamed."""
        return any(id in self.fates or id in self._renamed for id in _ids(change))

    def drop(self, change: Change) -> None:
        """It does not come in, and so nothing can that builds on it."""
        self.fates |= dict.fromkeys((put.record.id for put in change.put), Fate.DROPPED)

    def standing(self, change: Change) -> Change | None:
        """The change without the ends of what did not come in; None when it builds on that or is no more."""
        if any(self.gone(put.record.id) for put in change.put):
            return None
        ends = tuple(end for end in change.end if not self.gone(end.id))
        if ends == change.end:
            return change  # also one of which nothing is left, because all it said was erased
        return replace(change, end=ends) if change.put or ends else None

    def gone(self, id: str) -> bool:
        """Whether it did not come in."""
        return self.fates.get(id) is Fate.DROPPED

    async def settle(self, change: Change) -> Change | None:
        """The change as it can be done here; None when nothing of it can."""
        if self._mode is OnConflict.NEW_ID:
            taken = {id for id in _ids(change) if self.fates.get(id) is Fate.TAKEN}
            self._renamed |= {id: derived(change.scope.agent, id) for id in taken}
        put = [await self._put(put) for put in change.put]
        settled = replace(
            change,
            put=tuple(one for one in put if one is not None),
            end=tuple(
                replace(end, id=self.name(end.id), into=end.into and self.name(end.into))
                for end in change.end
                if self._keeps(end.id)
            ),
            about=change.about and self.name(change.about),
        )
        return settled if settled.put or settled.end else None

    def _keeps(self, id: str) -> bool:
        return id not in self.fates or (id in self._renamed and self.fates[id] is Fate.TAKEN)

    def name(self, id: str) -> str:
        """What it is called here."""
        return self._renamed.get(id, id)

    def _links(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(self.name, ids))

    async def _put(self, put: Put) -> Put | None:
        record = replace(
            put.record,
            id=self.name(put.record.id),
            supersedes=self._links(put.record.supersedes),
            merged_from=self._links(put.record.merged_from),
            derived_from=self._links(put.record.derived_from),
        )
        if self._keeps(put.record.id):
            return replace(put, record=record)
        over = self._mode in (OnConflict.OVERWRITE, OnConflict.MERGE)
        if not over or self.fates[put.record.id] is Fate.DROPPED:
            return None
        return await self._over(put, record)

    async def _over(self, put: Put, record: Record) -> Put | None:
        """A version behind what is there now, which may be ours from an earlier run."""
        store, base = self._tools.store, Base.LIVE
        if isinstance(store, SupportsHistory):
            chain = await store.history(record.scope, record.id)
            if not chain or chain[-1].record is None:
                return None  # another agent's, or erased: neither can be written over
            there = chain[-1].record
            base = Base.LIVE if chain[-1].ended is None else Base.ENDED
        else:
            [there] = await store.get(record.scope, [record.id])
        said = _joined(there, record) if self._mode is OnConflict.MERGE else record
        return replace(put, record=replace(said, version=there.version + 1, scope=there.scope), base=base)


def _joined(there: Record, here: Record) -> Record:
    """One memory of two: the words of the newer one, the facts of both."""
    newer = max(there, here, key=lambda record: record.updated_at)
    older = here if newer is there else there
    return replace(
        newer,
        metadata={**older.metadata, **newer.metadata},
        tags=tuple(dict.fromkeys((*there.tags, *here.tags))),
        confidence=max(there.confidence, here.confidence),
        created_at=min(there.created_at, here.created_at),
    )


def _ids(change: Change) -> list[str]:
    links = [
        id
        for put in change.put
        for id in (*put.record.supersedes, *put.record.merged_from, *put.record.derived_from)
    ]
    return [*(put.record.id for put in change.put), *(end.id for end in change.end), *links]
