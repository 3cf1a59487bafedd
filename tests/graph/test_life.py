"""A graph lives through random changes as the reference does; the named checks are those of every store."""

import asyncio

from memorywire.conformance import oracle
from memorywire.conformance.run import Mark
from memorywire.conformance.samples import SPACE
from memorywire.stores.graph import GraphStore, open_store


def test_it_lives_as_the_oracle_lives() -> None:
    async def opened() -> GraphStore:
        return await open_store("graph://", space=SPACE)

    report = asyncio.run(oracle.live(opened, seed=7, lives=2))
    assert [result.mark for result in report.results] == [Mark.PASSED, Mark.PASSED]
