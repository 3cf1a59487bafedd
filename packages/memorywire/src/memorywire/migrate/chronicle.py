"""The past of a store as changes in commit order, ready to be repeated in another store."""

from collections.abc import AsyncIterator, Collection, Sequence

from msgspec.structs import replace

from memorywire.migrate.names import derived
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Record, Scope, Standing
from memorywire.model.where import Where
from memorywire.pipeline.context import Context
from memorywire.pipeline.outbox import mark_behind
from memorywire.stores.contract import Fanned, Store, SupportsChangeLog, SupportsListing

_PAGE = 256
_EVER = 0  # alive at the epoch: what has expired is kept too


def told_by(store: Store, late: Collection[str] = ()) -> Store:
    """The store that knows most of the past: the store itself, or always the same one of several.

    Of several it is the first that keeps a log; those that miss changes (`late`) come last.
    """
    if not isinstance(store, Fanned):
        return store
    children = {name: told_by(store.child(name)) for name in store.children}
    return children[
        min(children, key=lambda name: (name in late, not isinstance(children[name], SupportsChangeLog)))
    ]


async def told_here(context: Context) -> Store:
    """The store of this house that knows most of its past, preferring one that misses nothing."""
    store = context.store
    if not isinstance(store, Fanned) or context.office is None:
        return told_by(store)
    return told_by(store, await mark_behind(store, context))


async def agents_of(store: Store, tenant: str, named: Sequence[str]) -> Sequence[str]:
    """The agents that were named, or else all that have memories, where the store can list them."""
    if named:
        return named
    if isinstance(store, SupportsChangeLog):
        return await store.agents(tenant)
    if isinstance(store, SupportsListing):
        return [agent for agent, _ in await store.owners(tenant)]
    raise InvalidRequest(
        f"store {store.name} cannot say whose memories it keeps", field="agent", fix="name one with --agent"
    )


async def changes_of(store: Store, scope: Scope, *, vectors: bool = False) -> AsyncIterator[Change]:
    """Everything that happened to the memories of an agent, or of its one user if the scope names one.

    From a store without a log it is what is there now.
    """
    if not isinstance(store, SupportsChangeLog):
        async for change in _present(store, scope):
            yield change
        return
    after, narrowing = 0, Narrowing(scope)
    while page := await store.log(scope, after, _PAGE):
        changes = [*filter(None, (narrowing.narrow(relived(footprint)) for footprint in page))]
        for change in await _with_vectors(changes, store) if vectors else changes:
            yield change
        after = page[-1].sequence


class Narrowing:
    """Takes the part of one user out of an agent's changes, which may be about several users at once."""

    def __init__(self, scope: Scope) -> None:
        self._user = scope.user
        self._ids: set[str] = set()

    def narrow(self, change: Change) -> Change | None:
        """The user's part of the change, or None if it has none; call in commit order.

        A part has an id of its own: under the id of the whole, the parts of the other users would count as
        already written where this one went.
        """
        if self._user is None:
            return change
        puts = tuple(put for put in change.put if put.record.scope.user == self._user)
        self._ids.update(put.record.id for put in puts)
        ends = tuple(end for end in change.end if end.id in self._ids)
        if not (puts or ends):
            return None
        if (puts, ends) == (change.put, change.end):
            return change
        return replace(change, id=derived(change.id, self._user), put=puts, end=ends)


def relived(footprint: Footprint) -> Change:
    """The change that would do the same again; content that was erased since is left out."""
    ended = [version for version in footprint.ended if version.reason is not EndReason.ERASED]
    replaced = {(v.id, v.number) for v in ended if v.reason is EndReason.REPLACED}
    return replace(
        footprint.change,
        put=tuple(
            Put(record=version.record, base=_base(version, replaced))
            for version in footprint.began
            if version.record is not None
        ),
        end=tuple(
            End(id=version.id, version=version.number, reason=version.reason, into=version.into)
            for version in ended
            if version.reason is not None and (version.id, version.number) not in replaced
        ),
    )


def _base(version: Version, replaced: set[tuple[str, int]]) -> Base:
    if version.number == 1:
        return Base.NOTHING
    return Base.LIVE if (version.id, version.number - 1) in replaced else Base.ENDED


async def _with_vectors(changes: Sequence[Change], store: SupportsChangeLog) -> list[Change]:
    puts = [put for change in changes for put in change.put]
    if not puts:
        return list(changes)
    names = [(put.record.id, put.record.version) for put in puts]
    found = iter(await store.vectors(puts[0].record.scope.tenant, names))
    return [
        replace(change, put=tuple(replace(put, vector=next(found)) for put in change.put))
        for change in changes
    ]


async def _present(store: Store, scope: Scope) -> AsyncIterator[Change]:
    """Each memory as it is now, as a change whose id is derived from it, so that a repetition is known."""
    async for page in current(store, scope):
        for record in page:
            yield kept_so(record)


def kept_of(scope: Scope) -> Where:
    """Selects everything of the scope, archived and expired memories too."""
    return Where(scope=scope, alive_at=_EVER, standings=frozenset(Standing))


async def current(store: Store, scope: Scope) -> AsyncIterator[list[Record]]:
    """The memories that are there now, page by page, by id."""
    after: str | None = None
    while page := await store.find(kept_of(scope), after, _PAGE):
        yield page
        after = page[-1].id


def kept_so(record: Record) -> Change:
    """The change that begins a memory as it is now, with version 1, because nothing came before."""
    first = replace(record, version=1, recalled_at=None)
    return Change(
        id=derived(record.id, record.digest, str(record.updated_at)),
        operation="remember",
        scope=record.scope,
        at=record.updated_at,
        put=(Put(record=first, base=Base.NOTHING),),
    )
