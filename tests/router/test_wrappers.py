"""Each wrapper does its one thing, around any store."""

import asyncio

import pytest
from msgspec.structs import replace

from memorywire.model.errors import Conflict, StoreCorrupt, StoreUnavailable
from memorywire.model.query import Query, Scored
from memorywire.stores.contract import Store, SupportsChangeLog
from memorywire.stores.memory import MemoryStore
from memorywire.stores.wrappers import open_on_demand, with_breaker, with_hedge, with_seal, with_timeout
from memorywire_testing.faults import Fault, Faults, with_faults
from memorywire_testing.samples import SPACE, a_query, a_record, a_scope, a_vector, beginning, ids, keep
from memorywire_testing.samples import a_change as changed
from tests.engine.stage import HandClock


def test_a_store_that_hangs_is_given_up_and_one_that_answers_is_not() -> None:
    async def story() -> None:
        faults = Faults()
        store = with_timeout(with_faults(MemoryStore(SPACE), faults), 0.05)
        assert (await store.health())["ok"] is True
        faults.now = Fault.HANGS
        with pytest.raises(StoreUnavailable, match=r"no answer in 0\.05 s"):
            await store.health()

    asyncio.run(story())


def test_a_store_that_keeps_failing_is_spared_until_its_rest_is_over() -> None:
    async def story() -> None:
        clock, faults = HandClock(), Faults(Fault.RAISES)
        store = with_breaker(with_faults(MemoryStore(SPACE), faults), clock=clock, failures=2, pause_ms=1_000)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="refused"):
                await store.health()
        faults.now = Fault.NONE
        with pytest.raises(StoreUnavailable, match="not asked to health"):
            await store.health()
        clock.now += 1_000
        assert (await store.health())["ok"] is True
        assert (await store.health())["ok"] is True

    asyncio.run(story())


def test_a_refusal_is_an_answer_and_does_not_count_against_a_store() -> None:
    async def story() -> None:
        store = with_breaker(MemoryStore(SPACE), clock=HandClock(), failures=1)
        record = a_record(a_scope())
        await keep(store, record)
        with pytest.raises(Conflict):
            await keep(store, record)
        assert await store.get(record.scope, [record.id]) == [record]

    asyncio.run(story())


class _SlowOnce(MemoryStore):
    """Takes for ever over its first search."""

    asked = 0

    async def search(self, query: Query, limit: int) -> list[Scored]:
        self.asked += 1
        if self.asked == 1:
            await asyncio.Event().wait()
        return await super().search(query, limit)


def test_a_slow_read_is_asked_again_and_the_faster_answer_counts() -> None:
    async def story() -> None:
        slow = _SlowOnce(SPACE)
        record = a_record(a_scope())
        await keep(slow, record, vector=a_vector(1))
        store = with_hedge(slow, 0.01)
        found = await store.search(a_query(record.scope, vector=a_vector(1)), 5)
        assert ids(found) == [record.id]
        assert slow.asked == 2
        await store.search(a_query(record.scope, vector=a_vector(1)), 5)
        assert slow.asked == 3, "a fast answer is not asked for twice"

    asyncio.run(story())


def test_what_a_store_changed_behind_our_back_is_not_believed() -> None:
    async def story() -> None:
        inner = MemoryStore(SPACE)
        store = with_seal(inner, b"ours")
        mine, forged = a_record(scope := a_scope()), a_record(scope, "the kettle is a trap")
        await store.write(changed(scope, beginning(mine, a_vector(1))))
        query = a_query(scope, vector=a_vector(1))
        assert [hit.record for hit in await store.search(query, 5)] == [mine]
        await inner.write(changed(scope, beginning(forged, a_vector(1))))
        with pytest.raises(StoreCorrupt, match="1 of its memories"):
            await store.search(query, 5)
        assert await store.get(scope, [mine.id, forged.id]) == [mine]
        assert await with_seal(inner, b"not ours").get(scope, [mine.id]) == []

    asyncio.run(story())


def test_the_past_of_a_sealed_store_is_told_without_seals_and_its_vectors_beside_what_was_asked() -> None:
    async def story() -> None:
        store = with_seal(MemoryStore(SPACE), b"ours")
        mine, bare = a_record(scope := a_scope()), a_record(scope)
        await store.write(changed(scope, beginning(bare), beginning(mine, a_vector(1))))
        assert isinstance(store, SupportsChangeLog)
        [footprint] = await store.log(scope, 0, 10)
        told = {version.id: version.record for version in footprint.began}
        assert told == {bare.id: bare, mine.id: mine}
        assert await store.vectors(scope.tenant, [(bare.id, 1), (mine.id, 1)]) == [None, a_vector(1)]

    asyncio.run(story())


def test_a_seal_cannot_be_carried_to_another_memory() -> None:
    async def story() -> None:
        inner = MemoryStore(SPACE)
        store = with_seal(inner, b"ours")
        mine = a_record(scope := a_scope())
        await store.write(changed(scope, beginning(mine)))
        (sealed,) = await inner.get(scope, [mine.id])
        copy = replace(sealed, id="another")
        await inner.write(changed(scope, beginning(copy)))
        assert await store.get(scope, [mine.id, "another"]) == [mine]

    asyncio.run(story())


def test_a_store_that_is_not_there_yet_is_opened_as_soon_as_it_is() -> None:
    async def story() -> None:
        open_now = False

        async def opener() -> Store:
            if not open_now:
                raise StoreUnavailable("nobody listens there")
            return MemoryStore(SPACE)

        store = open_on_demand("far", opener)
        with pytest.raises(StoreUnavailable, match="nobody listens"):
            await store.health()
        open_now = True
        record = a_record(a_scope())
        await keep(store, record)
        assert await store.get(record.scope, [record.id]) == [record]
        await store.close()

    asyncio.run(story())
