"""A clock that was ahead once closes no proposal for good."""

import asyncio
from pathlib import Path

from memorywire import Memory

NOW, YEAR = 1_790_000_000_000, 365 * 24 * 3_600_000


def test_a_proposal_that_a_clock_ahead_closed_waits_again(tmp_path: Path) -> None:
    now = [NOW]

    async def main() -> None:
        async with Memory(stores=f"sqlite://{tmp_path}/m.db", clock=lambda: now[0]) as memory:
            held = await memory.remember("Ana drinks tea", approval_required=True)
            now[0] = NOW + 20 * YEAR
            assert (await memory.proposals()).items == ()
            now[0] = NOW + 1_000
            [waiting] = (await memory.proposals()).items
            assert waiting.id == held.proposal_id
            await memory.decide(held.proposal_id, "approve")
            assert [record.text for record in (await memory.list()).items] == ["Ana drinks tea"]
            assert (await memory.audit_verify()).report.fault is None

    asyncio.run(main())


def test_a_proposal_that_nobody_decided_in_time_stays_closed(tmp_path: Path) -> None:
    now = [NOW]

    async def main() -> None:
        async with Memory(stores=f"sqlite://{tmp_path}/m.db", clock=lambda: now[0]) as memory:
            await memory.remember("Ana drinks tea", approval_required=True)
            now[0] = NOW + YEAR
            assert (await memory.proposals()).items == ()
            now[0] += 1_000
            assert (await memory.proposals()).items == ()

    asyncio.run(main())
