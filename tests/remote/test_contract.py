"""The shipped checks on a store at the other end of a connection."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from memorywire.stores.contract import RecallCounter, Store, SupportsHistory, Tracker
from memorywire.stores.registry import open_store
from memorywire_testing.checks import CHECKS
from memorywire_testing.report import Mark
from memorywire_testing.run import examine
from memorywire_testing.samples import SPACE
from tests.http.server import Server
from tests.remote.peer import Mute, peer

NOT_SPOKEN = ("SupportsChangeLog", "SupportsBulkWrite", "SupportsPeek", "SupportsListing")
"""Verbs that a store in the process adds, and the wire has no words for."""


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with peer(f"sqlite://{tmp_path_factory.mktemp('other')}/memory.db", embedder=Mute()) as running:
        yield running


@pytest.fixture
def opening(other: Server) -> Callable[[], Awaitable[Store]]:
    return lambda: open_store(other.client.url, space=SPACE)


def test_every_check_holds_and_the_ledger_of_the_other_knows_what_came_in(
    other: Server, opening: Callable[[], Awaitable[Store]]
) -> None:
    report = asyncio.run(examine(opening))
    others = [result for result in report.results if result.mark is not Mark.PASSED]
    assert {result.mark for result in others} == {Mark.SKIPPED}
    assert {result.detail for result in others} == {f"needs the methods of {verbs}" for verbs in NOT_SPOKEN}
    assert other.client.get("/v0/audit/verify").json["entries"] > len(CHECKS)


def test_it_can_do_what_the_other_can(opening: Callable[[], Awaitable[Store]]) -> None:
    async def story() -> None:
        store = await opening()
        assert store.name == "remote"
        assert isinstance(store, SupportsHistory)
        assert isinstance(store, Tracker)
        assert isinstance(store, RecallCounter)
        await store.close()

    asyncio.run(story())
