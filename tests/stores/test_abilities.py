"""What a store can do is found out from its class, once; work goes to threads and comes back in order."""

import asyncio
import threading

import pytest

from memorywire.runtime.threadpool import Dismissed, ThreadPool
from memorywire.stores.contract import RecallCounter, SupportsHistory, SupportsReplicas, Tracker


class Touched:
    async def touch(self, scope, ids, at): ...


def test_a_class_has_the_abilities_whose_members_it_has():
    def able(store):
        return [
            kind
            for kind in (SupportsReplicas, SupportsHistory, RecallCounter, Tracker)
            if isinstance(store, kind)
        ]

    assert able(Touched()) == able(Touched()) == [Tracker]
    assert able(object()) == []


def test_classes_of_one_name_are_told_apart():
    first = type("Store", (), {"touch": Touched.touch})
    second = type("Store", (), {})
    assert isinstance(first(), Tracker)
    assert not isinstance(second(), Tracker)


def test_works_are_done_at_once_and_answered_in_order():
    async def story():
        thread_pool, both = ThreadPool(2, "crew"), threading.Barrier(2)

        def work(answer):
            both.wait(timeout=10)  # nobody gets past it alone
            return answer

        assert await thread_pool.do_each([lambda: work("a"), lambda: work("b")]) == ["a", "b"]
        thread_pool.dismiss()
        with pytest.raises(Dismissed):
            await thread_pool.do_each([lambda: "c"])

    asyncio.run(story())


def test_the_error_of_one_work_is_the_error_of_all():
    async def story():
        thread_pool = ThreadPool(2, "crew")
        with pytest.raises(ZeroDivisionError):
            await thread_pool.do_each([lambda: 1, lambda: 1 // 0])
        assert await thread_pool.do_each([lambda: 1, lambda: 2]) == [1, 2]
        thread_pool.dismiss()

    asyncio.run(story())
