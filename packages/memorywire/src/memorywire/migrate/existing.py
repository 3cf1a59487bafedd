"""What the target already has of what arrives, found by its log, its history, or by looking."""

from collections.abc import Mapping, Sequence

from memorywire.migrate.chronicle import told_by
from memorywire.model.change import Base, Change
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsHistory


async def owners_of(changes: Sequence[Change], store: Store) -> Mapping[str, str]:
    """The agent of each of these changes that was done here already, by change id."""
    told = told_by(store)
    if isinstance(told, SupportsChangeLog):
        return await told.known(changes[0].scope.tenant, [change.id for change in changes])
    if not isinstance(store, SupportsHistory):
        return {}
    return {
        change.id: change.scope.agent
        for change in changes
        if await store.footprint(change.scope, change.id) is not None
    }


async def taken_in(changes: Sequence[Change], store: Store) -> list[str]:
    """The ids that these changes would begin, but that another change has begun here already."""
    first = {put.record.id: change for change in changes for put in change.put if put.base is Base.NOTHING}
    if not first:
        return []
    told = told_by(store)
    if isinstance(told, SupportsChangeLog):
        origins = await told.origins(changes[0].scope.tenant, list(first))
        return [id for id, by in origins.items() if by != first[id].id]
    taken: list[str] = []
    for id, change in first.items():
        if isinstance(store, SupportsHistory):
            chain = await store.history(change.scope, id)
            taken += [id] if chain and chain[0].began_by != change.id else []
        elif await store.get(change.scope, [id]):
            taken.append(id)
    return taken
