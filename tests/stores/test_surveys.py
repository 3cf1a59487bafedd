"""Stores that need no server say who has memories in them, and which are the newest."""

import asyncio
from pathlib import Path

import pytest

from memorywire.model.record import Scope
from memorywire.stores.contract import SupportsTally
from memorywire.stores.registry import open_store
from memorywire_testing.samples import SPACE, a_record, everything, keep, records, user_of
from tests.stores.surveys import names_owners_and_newest


@pytest.mark.parametrize("url", ["sqlite://{}/a.db", "graph://{}/a.db", "markdown://{}/notes"])
def test_a_store_names_its_owners_and_its_newest(url: str, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(url.format(tmp_path), space=SPACE)
        await names_owners_and_newest(store)
        await store.close()

    asyncio.run(main())


@pytest.mark.parametrize("url", ["sqlite://{}/a.db", "graph://{}/a.db"])
def test_a_store_counts_the_values_of_all_that_match(url: str, tmp_path: Path) -> None:
    async def main() -> None:
        store, scope = await open_store(url.format(tmp_path), space=SPACE), Scope(agent="ana")
        assert isinstance(store, SupportsTally)
        hers = a_record(user_of(scope, "zoe"), tags=("a",), source="mail")
        await keep(store, a_record(scope, tags=("a", "b")), hers, *records(scope, 2))
        counts = await store.tally(everything(scope))
        assert counts is not None
        assert (counts[""], counts["tags"], counts["user_id"]) == ({"": 4}, {"a": 2, "b": 1}, {"zoe": 1})
        of_hers = await store.tally(everything(user_of(scope, "zoe")))
        assert of_hers is not None
        assert (of_hers[""], of_hers["source"]) == ({"": 1}, {"mail": 1})
        await store.close()

    asyncio.run(main())
