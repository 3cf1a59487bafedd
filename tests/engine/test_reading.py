"""Reading is governed too: what is handed out is counted, and a recall can wait for a person."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.errors import ApprovalPending, BudgetExceeded, Refused
from tests.engine.stage import HandClock

BUDGET = 'profile = "open"\n[budget."agent:*"]\nper_minute = 3\n'
RULE = 'profile = "open"\n[[rule]]\nname = "reading"\nverdict = "{}"\noperation = ["recall"]\n'
ASKED = "what does Ana drink?"


def play(tmp_path: Path, policy: str, story: Callable[[Memory, HandClock], Awaitable[None]]) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(policy)

    async def main() -> None:
        clock = HandClock()
        async with Memory("agent", ["sqlite://"], policy=str(file), clock=clock) as memory:
            await memory.remember("Ana drinks green tea")
            await story(memory, clock)

    asyncio.run(main())


def test_a_recall_over_the_budget_is_refused_with_the_wait(tmp_path: Path):
    async def story(memory: Memory, clock: HandClock) -> None:
        for _ in range(3):
            assert len((await memory.recall(ASKED, k=1)).hits) == 1
        with pytest.raises(BudgetExceeded) as refusal:
            await memory.recall(ASKED, k=1)
        assert refusal.value.retry_after is not None
        clock.now += refusal.value.retry_after * 1000
        assert len((await memory.recall(ASKED, k=1)).hits) == 1

    play(tmp_path, BUDGET, story)


def test_without_a_budget_nothing_is_refused(tmp_path: Path):
    async def story(memory: Memory, clock: HandClock) -> None:
        for _ in range(6):
            assert len((await memory.recall(ASKED, k=1)).hits) == 1

    play(tmp_path, 'profile = "open"\n', story)


def test_a_held_recall_answers_nothing_until_a_person_approves_it(tmp_path: Path):
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(ApprovalPending) as waiting:
            await memory.recall(ASKED)
        with pytest.raises(ApprovalPending) as again:
            await memory.recall(ASKED)
        assert again.value.proposal_id == waiting.value.proposal_id
        await memory.decide(waiting.value.proposal_id, "approve")
        assert len((await memory.recall(ASKED)).hits) == 1
        with pytest.raises(ApprovalPending):
            await memory.recall("what else does Ana drink?")

    play(tmp_path, RULE.format("hold"), story)


def test_a_refused_recall_answers_nothing(tmp_path: Path):
    async def story(memory: Memory, clock: HandClock) -> None:
        with pytest.raises(Refused):
            await memory.recall(ASKED)

    play(tmp_path, RULE.format("refuse"), story)


def test_what_was_asked_is_known_only_as_long_as_a_proposal_may_wait(tmp_path: Path):
    async def story(memory: Memory, clock: HandClock) -> None:
        old = (await memory.recall("where is the vault of Ben?")).recall_id
        clock.pass_days(5)
        young = (await memory.recall(ASKED)).recall_id
        await memory.proposals()
        assert [(await memory.why(id)).query for id in (old, young)] == ["where is the vault of Ben?", ASKED]
        clock.pass_days(3)
        await memory.proposals()
        reasons = [await memory.why(id) for id in (old, young)]
        assert [reason.query or None for reason in reasons] == [None, ASKED]
        assert len(await memory.audit_log(operation="recall")) == 2

    play(tmp_path, 'profile = "open"\npending_days = 7\n', story)
