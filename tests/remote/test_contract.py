"""The shipped checks on a store at the other end of a connection."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from memorywire.conformance.checks import CHECKS, Check
from memorywire.conformance.samples import SPACE
from memorywire.stores.contract import Historian, RecallCounter, Store, Tracker
from memorywire.stores.registry import open_store
from tests.http.server import Server
from tests.remote.peer import Mute, peer


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with peer(f"sqlite://{tmp_path_factory.mktemp('other')}/memory.db", embedder=Mute()) as running:
        yield running


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def store(loop: asyncio.Runner, other: Server) -> Iterator[Store]:
    opened = loop.run(open_store(other.client.url, space=SPACE))
    yield opened
    loop.run(opened.close())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_store_honours_the_contract(check: Check, loop: asyncio.Runner, store: Store) -> None:
    assert check.requires <= store.features
    loop.run(check.run(store))


def test_it_can_do_what_the_other_can(store: Store) -> None:
    assert store.name == "remote"
    assert isinstance(store, Historian)
    assert isinstance(store, Tracker)
    assert isinstance(store, RecallCounter)


def test_every_change_that_came_in_is_in_the_ledger_of_the_other(other: Server, tmp_path: Path) -> None:
    """Runs behind the checks, which wrote many."""
    verified = other.client.get("/v0/audit/verify").json
    assert verified["entries"] > len(CHECKS)
