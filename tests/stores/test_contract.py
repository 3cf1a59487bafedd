"""Every shipped check, on every store that needs no server."""

import asyncio
from pathlib import Path

import pytest

from memorywire.stores.registry import open_store
from memorywire_testing.checks import CHECKS, Check
from memorywire_testing.samples import SPACE

URLS = {
    "memory": "memory://",
    "sqlite": "sqlite://",
    "file": "sqlite:///{folder}/memory.db",
    "graph": "graph:///{folder}/memory.db",
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
@pytest.mark.parametrize("kind", URLS)
def test_the_store_honours_the_contract(check: Check, kind: str, tmp_path: Path) -> None:
    async def examine() -> None:
        store = await open_store(URLS[kind].format(folder=tmp_path), space=SPACE)
        try:
            assert check.requires <= store.features
            await check.run(store)
        finally:
            await store.close()

    asyncio.run(examine())


def test_there_are_no_two_checks_of_one_name() -> None:
    names = [check.name for check in CHECKS]
    assert len(names) == len(set(names)) >= 45
