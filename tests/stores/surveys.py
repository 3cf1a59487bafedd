"""What a store that surveys says of itself, on any store."""

from memorywire.model.record import Scope
from memorywire.stores.contract import Store, SupportsListing
from memorywire_testing.expect import same
from memorywire_testing.samples import a_name, a_record, everything, ids, keep, records, user_of


async def names_owners_and_newest(store: Store) -> None:
    """Who has current memories and how many; an agent's memories page by page, the greatest id first."""
    assert isinstance(store, SupportsListing)
    tenant = a_name("tenant")
    ana, ben = (Scope(tenant=tenant, agent=name) for name in ("ana", "ben"))
    mine = sorted(records(ana, 5), key=lambda record: record.id)
    hers = a_record(user_of(ana, "zoe"))
    await keep(store, *mine, hers)
    await keep(store, a_record(ben))
    await keep(store, a_record(Scope(tenant=a_name("tenant"), agent="carl")))
    same(await store.owners(tenant), [("ana", 6), ("ben", 1)])
    same(await store.owners(a_name("tenant")), [])
    whole = sorted([*ids(mine), hers.id], reverse=True)
    first = ids(await store.newest(everything(ana), None, 4))
    same(first, whole[:4])
    same(ids(await store.newest(everything(ana), first[-1], 4)), whole[4:])
    same(ids(await store.newest(everything(user_of(ana, "zoe")), None, 4)), [hers.id])
    same(await store.newest(everything(ana), None, 0), [])
