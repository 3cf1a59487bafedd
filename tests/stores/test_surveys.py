"""Stores that need no server say who has memories in them, and which are the newest."""

import asyncio
from pathlib import Path

import pytest

from memorywire.stores.registry import open_store
from memorywire_testing.samples import SPACE
from tests.stores.surveys import names_owners_and_newest


@pytest.mark.parametrize("url", ["sqlite://{}/a.db", "graph://{}/a.db", "markdown://{}/notes"])
def test_a_store_names_its_owners_and_its_newest(url: str, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(url.format(tmp_path), space=SPACE)
        await names_owners_and_newest(store)
        await store.close()

    asyncio.run(main())
