"""Every shipped check, and random lives beside the oracle, on a real server."""

import asyncio
from typing import ClassVar

import psycopg
import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from memorywire.stores.contract import RecallCounter, Store, SupportsHistory, Tracker
from memorywire.stores.registry import open_store
from memorywire_postgres.location import locate
from memorywire_postgres.store import PostgresStore
from memorywire_testing.checks import ABLE, CHECKS, LASTING, Check
from memorywire_testing.run import examine
from memorywire_testing.samples import SPACE
from tests.postgres.desk import Server
from tests.stores.lives import Lives
from tests.stores.test_machine import PROFILE, PROFILES


@pytest.fixture(scope="module")
def loop() -> "asyncio.Runner":
    """One loop for all checks, as a pool of connections lives on the loop that opened it."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def store(loop: asyncio.Runner, shared: str) -> Store:
    opened = loop.run(open_store(shared, space=SPACE))
    yield opened
    loop.run(opened.close())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_store_honours_the_contract(check: Check, loop: asyncio.Runner, store: Store) -> None:
    assert check.requires <= store.features
    loop.run(check.run(store))


def test_what_it_adds_and_what_lasts_honours_the_contract(loop: asyncio.Runner, shared: str) -> None:
    report = loop.run(examine(lambda: open_store(shared, space=SPACE), (*ABLE, *LASTING)))
    assert [(one.check, one.detail) for one in report.failures] == []


def test_it_keeps_versions_and_recalls(store: Store) -> None:
    assert store.name == "postgres"
    assert isinstance(store, SupportsHistory)
    assert isinstance(store, Tracker)
    assert isinstance(store, RecallCounter)


class InPostgres(Lives):
    """Every life begins in empty tables; above `exact` memories an agent is searched by index."""

    url: ClassVar[str]
    exact: ClassVar[int] = 20_000

    async def opened(self) -> PostgresStore:
        location = locate(self.url)
        store = await PostgresStore.opened(location, SPACE, exact=self.exact)
        async with await psycopg.AsyncConnection.connect(location.dsn, autocommit=True) as db:
            tables = ("agent", "change", "version", "posting", "recall")
            await db.execute(f"TRUNCATE {', '.join(f'{location.schema}.{name}' for name in tables)}")
        return store


def test_it_lives_like_the_oracle(server: Server, schema: str) -> None:
    life = type("Life", (InPostgres,), {"url": schema})
    short = settings(PROFILE, max_examples=12) if PROFILE is PROFILES["default"] else PROFILE
    run_state_machine_as_test(life, settings=short)
