"""What one agent lends another in Postgres: as in every store, and at once in another process."""

import asyncio

import pytest

from memorywire import Memory
from tests.engine import test_share as sharing


@pytest.mark.parametrize("seed", range(2))
def test_a_recall_has_only_what_is_own_or_lent_at_that_moment(schema: str, seed: int) -> None:
    sharing.live(schema, seed, steps=25)


def test_a_revocation_by_another_process_counts_at_once(schema: str) -> None:
    async def run() -> list[list[str | None]]:
        async with Memory("ops", [schema]) as ops, Memory("support", [schema]) as support:
            await ops.remember(sharing.KEY, tags=["x"])
            await support.remember("Support answers fast")
            given = await ops.share("support", tags=["x"])
            await asyncio.sleep(1.1)  # a grant of another process counts within a second
            answers = [await support.recall(sharing.ASKED)]
            revoked = await ops.unshare(given.share_id)
            answers.append(await support.recall(sharing.ASKED))
            assert revoked.change_id is not None
            await ops.undo(revoked.change_id)
            answers.append(await support.recall(sharing.ASKED))
            return [[hit.lender for hit in answer] for answer in answers]

    assert asyncio.run(run()) == [["ops"], [], ["ops"]]
