"""A graph lives through random changes as the reference does; the named checks are those of every store."""

import asyncio

from memorywire.stores.graph import GraphStore, open_store
from memorywire_testing import oracle
from memorywire_testing.report import Mark
from memorywire_testing.samples import SPACE


def test_it_lives_as_the_oracle_lives() -> None:
    async def opened() -> GraphStore:
        return await open_store("graph://", space=SPACE)

    report = asyncio.run(oracle.live(opened, seed=7, lives=2))
    assert [result.mark for result in report.results] == [Mark.PASSED, Mark.PASSED]
