"""What a hard delete takes with it: proposals that would say again what it erases."""

from memorywire.journal.contract import Wanted
from memorywire.model.change import Change
from memorywire.model.record import Record, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import SupportsHistory


async def unsaid(change: Change, context: Context) -> tuple[tuple[Scope, str], ...]:
    """The scopes and digests of all that the change erases, to remove proposals with the same words."""
    if not change.erase:
        return ()
    wanted = Wanted(tenant=change.scope.tenant, agent=change.scope.agent)
    if not await context.governance.journal.count(wanted):
        return ()
    return tuple({(record.scope, record.digest) for record in await _versions(change, context)})


async def only_proposed(change: Change, context: Context) -> bool:
    """Whether a change only erases ids that no memory has, so that no store needs to hear of it."""
    if not change.erase or change.put or change.end:
        return False
    proposed = await context.governance.journal.proposed(change.scope, change.erase)
    return proposed.issuperset(change.erase) and not await _versions(change, context)


async def _versions(change: Change, context: Context) -> list[Record]:
    store = context.store
    if not isinstance(store, SupportsHistory):
        return list(await store.get(change.scope, change.erase))
    chains = [await store.history(change.scope, id) for id in change.erase]
    return [version.record for chain in chains for version in chain if version.record is not None]
