"""Reads the history of a store as changes in commit order, to apply to another store."""

import hashlib
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

from msgspec.structs import replace

from memorywire.journal.entries import Entry
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Where
from memorywire.model.record import Record, Scope, Standing
from memorywire.pipeline.context import Context
from memorywire.pipeline.transaction import mark_lagging
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsListing, SupportsReplicas

_NAMESPACE = uuid.UUID("6f1f6a52-7a0e-5d0b-9a57-1f0c2f5e8d11")
_PAGE = 256
_EPOCH = 0  # all memories were alive then, also those that have expired since


def derive_id(*names: str) -> str:
    """Derive an id from names; the same names always give the same id."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join(names)))


def build_entry(context: Context, scope: Scope, kind: str, **fields: Any) -> Entry:
    """Build a ledger entry about an import, with the present time."""
    actor = context.require_governance().caller
    return Entry(
        **{"at": context.clock(), "operation": "import", **fields}, scope=scope, actor=actor, kind=kind
    )


def derive_batch_id(name: str) -> str:
    """Derive the id of an import from its name; the same name always gives the same id."""
    return str(uuid.UUID(bytes=hashlib.sha256(name.encode()).digest()[:16]))


def find_history_store(store: Store, lagging: Collection[str] = ()) -> Store:
    """Return the store with the most history: the store itself, or always the same replica of a router.

    It is the first with a change log; stores with pending changes (`lagging`) come last.
    """
    if not isinstance(store, SupportsReplicas):
        return store
    replicas = {name: find_history_store(store.replica(name)) for name in store.replica_names}
    return replicas[
        min(replicas, key=lambda name: (name in lagging, not isinstance(replicas[name], SupportsChangeLog)))
    ]


async def find_own_history_store(context: Context) -> Store:
    """Return the store of this container with the most history, preferably without pending changes."""
    store = context.store
    if not isinstance(store, SupportsReplicas) or context.governance is None:
        return find_history_store(store)
    return find_history_store(store, await mark_lagging(store, context))


async def list_agents(store: Store, tenant: str, names: Sequence[str]) -> Sequence[str]:
    """Return these agents; if none are given, all agents with memories, if the store can list them."""
    if names:
        return names
    if isinstance(store, SupportsChangeLog):
        return await store.agents(tenant)
    if isinstance(store, SupportsListing):
        return [agent for agent, _ in await store.owners(tenant)]
    raise InvalidRequest(
        f"store {store.name} cannot list its agents", field="agent", fix="name one with --agent"
    )


async def list_exported_agents(
    store: Store, tenant: str, names: Sequence[str], user: str | None
) -> Sequence[str]:
    """Return the given agents; if none, all agents, or those with memories of the user if one is given."""
    agents = await list_agents(store, tenant, names)
    if names or user is None:
        return agents
    owners: list[str] = []
    for agent in agents:
        async for _ in read_changes(store, Scope(tenant=tenant, agent=agent, user=user)):
            owners.append(agent)
            break
    return owners


async def read_changes(store: Store, scope: Scope, *, vectors: bool = False) -> AsyncIterator[Change]:
    """Yield every change of the memories of an agent, or of one user if the scope has one.

    For a store without a change log, it yields one change for each current memory.
    """
    if not isinstance(store, SupportsChangeLog):
        async for page in read_current(store, scope):
            for record in page:
                yield build_snapshot_change(record)
        return
    # An agent-wide change has no user, and can still end memories of one: the filter reads all of them.
    agent_scope, after, user_filter = replace(scope, user=None), 0, UserFilter(scope.user)
    while footprints := await store.log(agent_scope, after, _PAGE):
        changes = [*filter(None, (user_filter.narrow(rebuild_change(one)) for one in footprints))]
        for change in await _add_vectors(changes, store) if vectors else changes:
            yield change
        after = footprints[-1].sequence


class UserFilter:
    """Extracts the part of one user from an agent's changes, without any data of other users.

    Call `narrow` in commit order.
    """

    def __init__(self, user: str | None) -> None:
        self._user = user
        self._memory_ids: set[str] = set()
        self._change_ids: dict[str, str] = {}  # of each change, the id of the user's part

    def narrow(self, change: Change) -> Change | None:
        """Return the user's part of the change, None if there is none.

        A part gets a new id: with the original id, the parts of other users would count as applied. The
        reason and the key of the original may concern other users, so a part has neither.
        """
        if self._user is None:
            return change
        puts = tuple(put for put in change.put if put.record.scope.user == self._user)
        self._memory_ids.update(put.record.id for put in puts)
        ends = tuple(
            replace(end, into=self._find_own(end.into)) for end in change.end if end.id in self._memory_ids
        )
        if not (puts or ends):
            return None
        part = replace(
            change,
            put=puts,
            end=ends,
            about=self._find_own(change.about),
            undoes=None if change.undoes is None else self._change_ids.get(change.undoes),
        )
        if (len(puts), len(ends)) != (len(change.put), len(change.end)):
            scope = replace(change.scope, user=self._user)
            part = replace(part, scope=scope, reason=None, key=None, fingerprint=None)
        if part != change:
            part = replace(part, id=derive_id(change.id, self._user))
        self._change_ids[change.id] = part.id
        return part

    def _find_own(self, id: str | None) -> str | None:
        return id if id in self._memory_ids else None


def rebuild_change(footprint: Footprint) -> Change:
    """Rebuild a change from its footprint, without content that was erased since."""
    ends = [version for version in footprint.ended if version.reason is not EndReason.ERASED]
    replacements = {(v.id, v.number) for v in ends if v.reason is EndReason.REPLACED}
    return replace(
        footprint.change,
        put=tuple(
            Put(record=version.record, base=_find_base(version, replacements))
            for version in footprint.began
            if version.record is not None
        ),
        end=tuple(
            End(id=version.id, version=version.number, reason=version.reason, into=version.into)
            for version in ends
            if version.reason is not None and (version.id, version.number) not in replacements
        ),
    )


def _find_base(version: Version, replacements: set[tuple[str, int]]) -> Base:
    if version.number == 1:
        return Base.NOTHING
    return Base.LIVE if (version.id, version.number - 1) in replacements else Base.ENDED


async def _add_vectors(changes: Sequence[Change], store: SupportsChangeLog) -> list[Change]:
    puts = [put for change in changes for put in change.put]
    if not puts:
        return list(changes)
    versions = [(put.record.id, put.record.version) for put in puts]
    vectors = iter(await store.vectors(puts[0].record.scope.tenant, versions))
    return [
        replace(change, put=tuple(replace(put, vector=next(vectors)) for put in change.put))
        for change in changes
    ]


def select_all(scope: Scope) -> Where:
    """Return the query for every memory of the scope, including archived and expired ones."""
    return Where(scope=scope, alive_at=_EPOCH, standings=frozenset(Standing))


async def read_current(store: Store, scope: Scope) -> AsyncIterator[list[Record]]:
    """Yield the current memories in pages, in id order."""
    after: str | None = None
    while page := await store.find(select_all(scope), after, _PAGE):
        yield page
        after = page[-1].id


def build_snapshot_change(record: Record) -> Change:
    """Build a change that creates the memory as it is now, as version 1, with an id derived from it."""
    first = replace(record, version=1, recalled_at=None)
    return Change(
        id=derive_id(record.id, record.digest, str(record.updated_at)),
        operation="remember",
        scope=record.scope,
        at=record.updated_at,
        put=(Put(record=first, base=Base.NOTHING),),
    )
