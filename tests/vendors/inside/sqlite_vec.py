"""What sqlite-vec does for us, and what the shared part of every product's room does when a product fails."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from memorywire.model.errors import CapabilityUnsupported, SpaceMismatch, StoreUnavailable
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.stores.registry import open_store
from memorywire_adapters.products import Entry, Ref, VendorStore, locate
from memorywire_adapters.sqlite_vec import SqliteVec
from memorywire_testing.expect import refused
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    a_vector,
    beginning,
    ending,
    everything,
    ids,
    keep,
    records,
    revising,
)
from tests.stores.surveys import names_owners_and_newest
from tests.vendors.inside import erasing


class Failing(SqliteVec):
    """A product that fails at its n-th writing call, before or after it did what it was told."""

    steps = 1_000_000
    after = False

    async def _step(self, call: Callable[[], Awaitable[object]]) -> None:
        self.steps -= 1
        if self.steps < 0 and not self.after:
            raise self.errors[0]("gone")
        await call()
        if self.steps < 0:
            raise self.errors[0]("gone")

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        await self._step(lambda: super(Failing, self).keep(entries))
        return [entry.key for entry in entries]

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._step(lambda: super(Failing, self).drop(refs))


async def a_room_names_its_owners_and_its_newest(folder: Path) -> None:
    store = await open_store(f"sqlite-vec://{folder}/memory.db", space=SPACE)
    await names_owners_and_newest(store)
    await store.close()


async def _opened(folder: Path) -> tuple[VendorStore, Failing]:
    place = locate(f"sqlite-vec://{folder}/memory.db")
    product = Failing(place)
    await product.open()
    return await VendorStore.opened(product, SPACE, books=place.path), product


async def a_change_is_whole_or_not_at_all(folder: Path) -> None:
    store, product = await _opened(folder)
    for after in (False, True):
        for steps in (0, 1, 2):
            first, second, third = records(a_scope(), 3)
            scope = first.scope
            await keep(store, first, second)
            put = revising(first, content="said again")
            change = a_change(scope, put, beginning(third), ending(second))
            product.steps, product.after = steps, after
            with suppress(StoreUnavailable):
                await store.write(change)
            product.steps = 1_000_000
            # The first step keeps, the books commit, the second step drops: then it is done.
            whole = sorted([put.record, third], key=lambda record: record.id)
            before = sorted([first, second], key=lambda record: record.id)
            assert await store.find(everything(scope)) == (before if steps == 0 else whole), (steps, after)
            await store.write(change)
            assert await store.find(everything(scope)) == whole
            assert (await store.health())["to_remove"] == 0
    await store.close()


async def an_erasure_that_failed_says_so_and_is_finished_by_a_retry(folder: Path) -> None:
    store, product = await _opened(folder)
    record = a_record(a_scope(), "archaeopteryx")
    await keep(store, record)
    product.steps = 0
    change = a_change(record.scope, erase=(record.id,))
    with refused(StoreUnavailable):
        await store.write(change)
    assert await store.get(record.scope, [record.id]) == []
    assert (await store.health())["to_remove"] == 1
    product.steps = 1_000_000
    await store.write(change)
    assert erasing.holding(folder, "archaeopteryx") == []
    await store.close()


async def what_a_dead_writer_left_is_never_seen_and_removed_by_the_next(folder: Path) -> None:
    store, product = await _opened(folder)
    record = a_record(a_scope(), "zebra")
    await keep(store, record, vector=a_vector(1))
    orphan = Entry(record=a_record(record.scope, "orphan"), vector=a_vector(1))
    # As far as a writer comes who dies before the sidecar database commits.
    await store._thread.do(lambda: store._sidecar.reserve([Ref(key=orphan.key, scope=orphan.record.scope)]))
    await product.keep([orphan])
    assert ids(await store.search(a_query(record.scope, "orphan", a_vector(1)), 9)) == [record.id]
    await store.close()
    store = await open_store(f"sqlite-vec://{folder}/memory.db", space=SPACE)
    await keep(store, a_record(record.scope, "the next"))
    assert (await store.health())["to_remove"] == 0
    await store.close()
    assert erasing.holding(folder, "orphan") == []


async def two_stores_on_one_file_see_each_other(folder: Path) -> None:
    first = await open_store(f"sqlite-vec://{folder}/memory.db", space=SPACE)
    second = await open_store(f"sqlite-vec://{folder}/memory.db", space=SPACE)
    record = a_record(a_scope(), "zebra")
    await keep(first, record, vector=a_vector(1))
    assert await second.get(record.scope, [record.id]) == [record]
    put = revising(record, content="kettle")
    await second.write(a_change(record.scope, put))
    assert await first.find(everything(record.scope)) == [put.record]
    await first.close()
    await second.close()


async def vectors_of_another_space_are_refused(folder: Path) -> None:
    url = f"sqlite-vec://{folder}/memory.db"
    await (await open_store(url, space=SPACE)).close()
    with refused(SpaceMismatch, field="store"):
        await open_store(url, space=Space(model="other", revision="1", dimension=8))
    await (await open_store(url, space=SPACE)).close()


async def the_past_is_refused_and_not_made_up(folder: Path) -> None:
    store = await open_store("sqlite-vec://", space=SPACE)
    record = a_record(a_scope())
    await keep(store, record, vector=a_vector(1))
    with refused(CapabilityUnsupported, field="as_of"):
        await store.find(everything(record.scope, as_of=1))
    with refused(CapabilityUnsupported, field="as_of"):
        await store.search(a_query(record.scope, "kettle", a_vector(1), as_of=1), 5)
    await store.close()


async def every_agent_of_many_gets_exactly_its_nearest(folder: Path) -> None:
    """Of 60 agents with 30 memories each, nobody's crowd pushes anybody's nearest out."""
    store = await open_store("sqlite-vec://", space=SPACE)
    scopes = [Scope(agent=f"agent-{number}") for number in range(60)]
    for scope in scopes:
        kept = [beginning(r, a_vector(1, n / 10)) for n, r in enumerate(records(scope, 30))]
        await store.write(a_change(scope, *kept))
        found = await store.search(a_query(scope, "", a_vector(1)), 5)
        assert ids(found) == [put.record.id for put in kept[:5]]
    await store.close()


async def erased_words_leave_every_file(folder: Path) -> None:
    await erasing.leaves_every_file(f"sqlite-vec://{folder}/memory.db", folder)
