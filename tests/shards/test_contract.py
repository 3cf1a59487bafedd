"""Every shipped check on two shards that share the agents."""

import asyncio
from collections.abc import Iterator

import pytest

from memorywire.stores.contract import RecallCounter, Store, SupportsHistory, SupportsListing, Tracker
from memorywire.stores.registry import open_store
from memorywire_testing.checks import CHECKS, Check
from memorywire_testing.expect import Broken
from memorywire_testing.run import load_exemptions
from memorywire_testing.samples import SPACE
from tests.postgres.desk import Server, rows
from tests.shards.spread import spread

EXEMPT = load_exemptions("shards+postgresql")


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    """One loop for all checks, as a pool of connections lives on the loop that opened it."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def group(servers: tuple[Server, Server], loop: asyncio.Runner) -> tuple[str, str, str]:
    one, other = servers
    urls = (one.url("kit_map"), one.url("kit"), other.url("kit"))
    loop.run(spread(*urls))
    return urls


@pytest.fixture(scope="module")
def store(group: tuple[str, str, str], loop: asyncio.Runner) -> Iterator[Store]:
    opened = loop.run(open_store(f"shards+{group[0]}", space=SPACE))
    yield opened
    loop.run(opened.close())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_shards_honour_the_contract(check: Check, loop: asyncio.Runner, store: Store) -> None:
    assert check.requires <= store.features
    if check.name in EXEMPT:
        with pytest.raises(Broken):
            loop.run(check.run(store))
    else:
        loop.run(check.run(store))


def test_both_shards_were_written(group: tuple[str, str, str], store: Store) -> None:
    for ability in (SupportsHistory, Tracker, RecallCounter, SupportsListing):
        assert isinstance(store, ability)
    agents = [{agent for (agent,) in rows(url, "SELECT agent FROM agent")} for url in group[1:]]
    assert all(agents)
    assert not agents[0] & agents[1]
