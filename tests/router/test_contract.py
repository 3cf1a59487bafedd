"""A router, and any store inside its wrappers, honours the contract that every store honours."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from memorywire.model.clock import system_clock
from memorywire.stores.contract import (
    RecallCounter,
    Store,
    SupportsChangeLog,
    SupportsHistory,
    SupportsListing,
    SupportsReplicas,
    Tracker,
)
from memorywire.stores.memory import MemoryStore
from memorywire.stores.router import Mount, Router
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.location import Location
from memorywire.stores.wrappers import open_on_demand, with_breaker, with_hedge, with_seal, with_timeout
from memorywire_testing.checks import CHECKS, Check
from memorywire_testing.faults import Faults, with_faults
from memorywire_testing.samples import SPACE


def _mounts(*stores: Store) -> list[Mount]:
    return [Mount(name=f"s{place}", store=store, backend=str(place)) for place, store in enumerate(stores)]


def _router() -> Router:
    return Router(_mounts(MemoryStore(SPACE), SqliteStore(Location(path=None), SPACE)))


def _nested() -> Router:
    return Router(_mounts(_router(), MemoryStore(SPACE)))


def _wrapped() -> Store:
    sealed = with_seal(MemoryStore(SPACE), b"a key of our own")
    patient = with_timeout(with_hedge(with_faults(sealed, Faults()), 5), 60)
    return with_breaker(patient, clock=system_clock)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("make", [_router, _nested, _wrapped], ids=["router", "nested", "wrapped"])
def test_several_stores_honour_the_contract_of_one(check: Check, make: Callable[[], Store]) -> None:
    async def examine() -> None:
        store = make()
        try:
            assert check.requires <= store.features
            await check.run(store)
        finally:
            await store.close()

    asyncio.run(examine())


def test_a_wrapper_shows_the_abilities_of_what_it_wraps_and_no_others(tmp_path: Path) -> None:
    whole = with_timeout(MemoryStore(SPACE), 1)
    assert isinstance(whole, SupportsHistory)
    assert isinstance(whole, Tracker)
    assert isinstance(whole, RecallCounter)
    assert isinstance(whole, SupportsChangeLog)
    assert isinstance(whole, SupportsListing)
    assert not isinstance(whole, SupportsReplicas)

    async def opener() -> Store:
        return MemoryStore(SPACE)

    bare = with_timeout(open_on_demand("later", opener), 1)
    assert not isinstance(bare, SupportsHistory)
    assert not isinstance(bare, Tracker)
    assert not isinstance(bare, SupportsChangeLog)
    assert bare.name == "later"


def test_a_router_is_a_store_of_every_ability_and_says_what_it_is_made_of() -> None:
    router = _router()
    assert isinstance(router, SupportsReplicas)
    assert isinstance(router, SupportsHistory)
    assert router.replica_names == ("s0", "s1")
    asyncio.run(router.close())
