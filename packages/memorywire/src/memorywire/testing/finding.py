"""What is listed, in which order, and what no longer counts as alive."""

from memorywire.model.record import MemoryType, Record, Scope, Standing
from memorywire.stores.contract import Store
from memorywire.testing.expect import holds, same
from memorywire.testing.samples import (
    NOW,
    a_query,
    a_record,
    a_scope,
    a_vector,
    by_id,
    compare,
    end,
    everything,
    ids,
    keep,
    records,
)


async def _finds(store: Store, scope: Scope, wanted: list[Record], **conditions: object) -> None:
    """find, count and search agree on who meets these conditions."""
    where = everything(scope, **conditions)
    same(ids(await store.find(where)), by_id(wanted))
    same(await store.count(where), len(wanted))
    same(
        sorted(ids(await store.search(a_query(scope, "kettle", a_vector(1), **conditions), 100))),
        by_id(wanted),
    )


async def find_is_ordered_by_id(store: Store) -> None:
    kept = records(a_scope(), 12)
    for record in kept:
        await keep(store, record)
    same(ids(await store.find(everything(kept[0].scope))), by_id(kept))


async def paging_by_id_is_complete(store: Store) -> None:
    kept = records(a_scope(), 25)
    await keep(store, *kept)
    same(await _paged(store, kept[0].scope, size=7), by_id(kept))


async def paging_a_filtered_list_is_complete(store: Store) -> None:
    scope = a_scope()
    kept = [a_record(scope, f"kettle {n}", metadata={"even": n % 2 == 0}) for n in range(40)]
    await keep(store, *kept)
    even = [record for record in kept if record.metadata["even"]]
    same(await _paged(store, scope, size=6, filter=compare("metadata.even", "eq", True)), by_id(even))


async def paging_survives_changes_between_pages(store: Store) -> None:
    kept = sorted(records(a_scope(), 12), key=lambda record: record.id)
    scope = kept[0].scope
    await keep(store, *kept)
    first = await store.find(everything(scope), limit=5)
    await end(store, kept[0], kept[4], kept[7])
    rest = await store.find(everything(scope), after=first[-1].id, limit=50)
    same(ids(rest), [record.id for record in kept[5:] if record is not kept[7]])


async def a_page_begins_behind_any_id(store: Store) -> None:
    kept = records(a_scope(), 3)
    await keep(store, *kept)
    scope = kept[0].scope
    same(ids(await store.find(everything(scope), after="")), by_id(kept))
    same(ids(await store.find(everything(scope), after=max(by_id(kept)))), [])


async def a_memory_is_dead_from_the_moment_it_expires(store: Store) -> None:
    record = a_record(a_scope(), expires_at=NOW + 10)
    await keep(store, record, vector=a_vector(1))
    await _finds(store, record.scope, [record], alive_at=NOW + 9)
    await _finds(store, record.scope, [], alive_at=NOW + 10)
    await _finds(store, record.scope, [], alive_at=NOW + 11)


async def a_memory_without_an_end_outlives_every_moment(store: Store) -> None:
    record = a_record(a_scope())
    await keep(store, record, vector=a_vector(1))
    await _finds(store, record.scope, [record], alive_at=2**53)


async def archived_memories_answer_only_when_asked_for(store: Store) -> None:
    scope = a_scope()
    active, demoted, archived = (a_record(scope, f"kettle {s}", standing=s) for s in Standing)
    await keep(store, active, demoted, archived, vector=a_vector(1))
    await _finds(store, scope, [active, demoted])
    await _finds(store, scope, [archived], standings=frozenset({Standing.ARCHIVED}))
    await _finds(store, scope, [active, demoted, archived], standings=frozenset(Standing))


async def types_select(store: Store) -> None:
    scope = a_scope()
    kept = {kind: a_record(scope, f"kettle {kind}", type=kind) for kind in MemoryType}
    await keep(store, *kept.values(), vector=a_vector(1))
    await _finds(store, scope, list(kept.values()))
    await _finds(store, scope, [kept[MemoryType.EMOTIONAL]], types=frozenset({MemoryType.EMOTIONAL}))
    pair = frozenset({MemoryType.SEMANTIC, MemoryType.PROCEDURAL})
    await _finds(store, scope, [kept[kind] for kind in pair], types=pair)


async def bounds_of_creation_are_inclusive(store: Store) -> None:
    scope = a_scope()
    early, middle, late = (a_record(scope, f"kettle {t}", created_at=NOW + t) for t in (-1, 0, 1))
    await keep(store, early, middle, late, vector=a_vector(1))
    await _finds(store, scope, [middle, late], created_since=NOW)
    await _finds(store, scope, [early, middle], created_until=NOW)
    await _finds(store, scope, [middle], created_since=NOW, created_until=NOW)


async def confidence_below_is_strict(store: Store) -> None:
    scope = a_scope()
    low, edge, high = (a_record(scope, f"kettle {c}", confidence=c) for c in (0.0, 0.5, 1.0))
    await keep(store, low, edge, high, vector=a_vector(1))
    await _finds(store, scope, [low], confidence_below=0.5)
    await _finds(store, scope, [low, edge], confidence_below=0.51)


async def all_conditions_must_hold(store: Store) -> None:
    scope = a_scope()
    match = {"type": MemoryType.EPISODIC, "confidence": 0.2, "created_at": NOW - 9, "metadata": {"a": 1}}
    misses: list[dict[str, object]] = [
        {"type": MemoryType.SEMANTIC},
        {"confidence": 0.9},
        {"created_at": NOW},
        {"metadata": {}},
    ]
    wanted = a_record(scope, "kettle", **match)
    await keep(
        store,
        wanted,
        *(a_record(scope, f"kettle {miss}", **(match | miss)) for miss in misses),
        vector=a_vector(1),
    )
    await _finds(
        store,
        scope,
        [wanted],
        types=frozenset({MemoryType.EPISODIC}),
        confidence_below=0.5,
        created_until=NOW - 1,
        filter=compare("metadata.a", "eq", 1),
    )


async def _paged(store: Store, scope: Scope, size: int, **conditions: object) -> list[str]:
    seen: list[str] = []
    page = await store.find(everything(scope, **conditions), limit=size)
    while page:
        # Else a store whose pages overlap would be asked for ever.
        holds(not seen or page[0].id > seen[-1], f"the page behind {seen[-1:]} begins with {page[0].id}")
        seen += ids(page)
        page = await store.find(everything(scope, **conditions), after=seen[-1], limit=size)
    return seen
