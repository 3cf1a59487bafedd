"""Writes to several stores: who must hold them, who is owed them, and that nothing is lost or comes back."""

import asyncio
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.answers import Status
from memorywire.model.errors import (
    CapabilityUnsupported,
    Conflict,
    InvalidRequest,
    NotFound,
    StoreUnavailable,
)
from memorywire.stores.wrappers.resilience import PAUSE_MS
from memorywire_testing.faults import Fault
from tests.engine.stage import HandClock
from tests.router.desk import FACTS, SHORT, Scene, Ward, kept, play


@pytest.fixture(params=["anchor", "no anchor"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """With an embedded store that shares its file with the journal, and without one."""
    return tmp_path / "memory.db" if request.param == "anchor" else None


def test_every_store_keeps_what_is_remembered_and_the_receipt_names_them(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        receipt = await scene.memory.remember(FACTS[0])
        assert receipt.status is Status.COMMITTED
        assert set(receipt.stores) >= {"left", "right"}
        assert not receipt.degraded
        for store in scene.ward.stores.values():
            assert await kept(store) == [(receipt.id, 1, FACTS[0])]

    play(story, file=file)


@pytest.mark.parametrize("fault", [Fault.RAISES, Fault.CRASHES, Fault.LOSES_ANSWERS])
def test_what_a_store_misses_is_owed_to_it_and_paid_when_it_is_back(fault: Fault, file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        memory, sick = scene.memory, scene.ward.faults["right"]
        sick.now = fault
        receipts = [await memory.remember(fact) for fact in FACTS[:3]]
        assert [receipt.status for receipt in receipts] == [Status.DEFERRED] * 3
        assert receipts[0].degraded == ("right",)
        assert [outcome.error is None for outcome in receipts[0].outcomes][-2:] == [True, False]
        assert len(await memory.debts()) == 3
        sick.now = Fault.NONE
        scene.clock.now += 60_000
        assert await memory.pay_debts()
        assert await memory.debts() == ()
        assert await kept(scene.ward.stores["right"]) == await kept(scene.ward.stores["left"])
        assert len(await kept(scene.ward.stores["right"])) == 3

    play(story, file=file)


def test_asking_for_payment_while_a_store_is_left_alone_is_no_try(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        memory, sick = scene.memory, scene.ward.faults["right"]
        sick.now = Fault.RAISES
        await memory.remember(FACTS[0])
        for _ in range(3):
            assert not await memory.pay_debts()
        sick.now = Fault.NONE
        before = await memory.debts()
        for _ in range(3):
            assert not await memory.pay_debts()
        assert await memory.debts() == before
        scene.clock.now += PAUSE_MS
        assert await memory.pay_debts()

    play(story, file=file)


def test_the_receipt_of_an_undo_names_the_store_that_missed_it(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        receipt = await scene.memory.remember(FACTS[0])
        scene.ward.faults["right"].now = Fault.RAISES
        undone = await scene.memory.undo(receipt.change_id or "")
        assert (undone.status, undone.degraded) == (Status.DEFERRED, ("right",))
        told = {outcome.store: outcome.error is None for outcome in undone.outcomes}
        assert (told["left"], told["right"]) == (True, False)
        assert undone.stores == tuple(name for name, well in told.items() if well)

    play(story, file=file)


def test_a_change_that_two_stores_are_owed_is_given_up_for_the_one_that_is_named(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        memory, faults = scene.memory, scene.ward.faults
        faults["left"].now = faults["right"].now = Fault.RAISES
        change = (await memory.remember(FACTS[0])).change_id or ""
        with pytest.raises(InvalidRequest) as caught:
            await memory.write_off(change, why="it was sold")
        assert (caught.value.field, "left, right" in str(caught.value.fix)) == ("store", True)
        with pytest.raises(NotFound):
            await memory.write_off(change, why="it was sold", store="middle")
        assert len(await memory.debts()) == 2
        assert (await memory.write_off(change, why="it was sold", store="right")).store == "right"
        assert [debt.store for debt in await memory.debts()] == ["left"]
        faults["left"].now = faults["right"].now = Fault.NONE
        assert await memory.pay_debts()
        assert [len(await kept(scene.ward.stores[name])) for name in ("left", "right")] == [1, 0]

    play(story, file=tmp_path / "memory.db")


def test_a_store_that_hangs_is_owed_the_write_too(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        scene.ward.faults["right"].now = Fault.HANGS
        receipt = await scene.memory.remember(FACTS[0])
        assert receipt.degraded == ("right",)
        assert (await scene.memory.recall("what does Ana drink?")).hits[0].id == receipt.id

    play(story, file=tmp_path / "memory.db", writing=SHORT, deadline=SHORT)


def test_debts_are_paid_in_order_also_after_a_restart(tmp_path: Path, file: Path | None) -> None:
    ward, clock, journal = Ward(), HandClock(), tmp_path / "journal.db"

    async def before(scene: Scene) -> None:
        ward.faults["right"].now = Fault.RAISES
        first = await scene.memory.remember(FACTS[0])
        second = await scene.memory.remember(FACTS[1], id=first.id, if_version=1)
        assert second.version == 2
        await scene.memory.forget(first.id)
        await scene.memory.remember(FACTS[2])

    async def after(scene: Scene) -> None:
        ward.faults["right"].now = Fault.NONE
        clock.now += 60_000
        assert await scene.memory.pay_debts()
        assert await kept(ward.stores["right"]) == await kept(ward.stores["left"])
        assert [content for _, _, content in await kept(ward.stores["right"])] == [FACTS[2]]

    if file is None:
        # The stores of the ward are not durable, so only an embedded one makes the journal last.
        file = tmp_path / "other.db"
    play(before, ward=ward, file=file, clock=clock, journal=journal)
    play(after, ward=ward, file=file, clock=clock, journal=journal)


@pytest.mark.parametrize(
    ("write", "sick", "status"),
    [
        ("all", ["left"], Status.DEFERRED),
        ("primary", ["left"], Status.COMMITTED),
        ("quorum", ["left"], Status.COMMITTED),
        ("quorum", ["left", "right"], Status.DEFERRED),
    ],
)
def test_the_write_policy_says_when_a_write_counts(
    tmp_path: Path, write: str, sick: list[str], status: Status
) -> None:
    async def story(scene: Scene) -> None:
        for name in sick:
            scene.ward.faults[name].now = Fault.RAISES
        receipt = await scene.memory.remember(FACTS[0])
        assert receipt.status is status
        assert receipt.degraded == tuple(sick)
        assert {debt.store for debt in await scene.memory.debts()} == set(sick)

    play(story, file=tmp_path / "memory.db", write=write)


def test_when_nobody_takes_it_a_write_is_still_not_lost() -> None:
    async def story(scene: Scene) -> None:
        for faults in scene.ward.faults.values():
            faults.now = Fault.RAISES
        with pytest.raises(StoreUnavailable):
            await scene.memory.recall("anything")
        receipt = await scene.memory.remember(FACTS[0])
        assert (receipt.status, receipt.stores) == (Status.DEFERRED, ())
        for faults in scene.ward.faults.values():
            faults.now = Fault.NONE
        scene.clock.now += 60_000
        assert await scene.memory.pay_debts()
        assert (await scene.memory.recall("what does Ana drink?")).hits[0].id == receipt.id

    play(story)


def test_a_refused_change_reaches_nobody_and_is_owed_to_nobody(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        receipt = await scene.memory.remember(FACTS[0])
        with pytest.raises(Conflict):
            await scene.memory.remember(FACTS[1], id=receipt.id, if_version=7)
        again = await scene.memory.remember(FACTS[0])
        assert (again.status, again.id) == (Status.DUPLICATE, receipt.id)
        assert await scene.memory.debts() == ()
        for store in scene.ward.stores.values():
            assert len(await kept(store)) == 1

    play(story, file=file)


@pytest.mark.parametrize("hard", [False, True])
def test_a_store_that_was_away_during_a_forget_cannot_bring_it_back(file: Path | None, hard: bool) -> None:
    async def story(scene: Scene) -> None:
        memory, sick = scene.memory, scene.ward.faults["right"]
        receipt = await memory.remember(FACTS[0])
        sick.now = Fault.RAISES
        gone = await memory.forget(receipt.id, hard_delete=hard)
        assert gone.degraded == ("right",)
        sick.now = Fault.NONE
        found = await memory.recall("what does Ana drink?")
        assert not found.hits
        assert "right" in found.degraded
        scene.clock.now += 60_000
        assert await memory.pay_debts()
        assert await kept(scene.ward.stores["right"]) == []
        assert not (await memory.recall("what does Ana drink?")).degraded

    play(story, file=file)


def test_what_is_erased_does_not_wait_in_a_debt(tmp_path: Path) -> None:
    file = tmp_path / "memory.db"

    async def story(scene: Scene) -> None:
        scene.ward.faults["right"].now = Fault.RAISES
        receipt = await scene.memory.remember("the canary sings at midnight")
        await scene.memory.remember(FACTS[1])
        assert any("canary" in str(debt.change) for debt in await scene.memory.debts())
        await scene.memory.forget(receipt.id, hard_delete=True)
        assert not any("canary" in str(debt.change) for debt in await scene.memory.debts())
        scene.ward.faults["right"].now = Fault.NONE
        scene.clock.now += 60_000
        assert await scene.memory.pay_debts()
        assert await kept(scene.ward.stores["right"]) == await kept(scene.ward.stores["left"])

    play(story, file=file)
    assert b"canary" not in b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_changes_made_at_once_reach_every_store(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        receipts = await asyncio.gather(*(scene.memory.remember(fact) for fact in FACTS))
        assert {receipt.status for receipt in receipts} == {Status.COMMITTED}
        assert await kept(scene.ward.stores["left"]) == await kept(scene.ward.stores["right"])
        assert len(await kept(scene.ward.stores["left"])) == len(FACTS)

    play(story, file=file)


def test_one_file_mounted_twice_is_one_store(tmp_path: Path) -> None:
    async def story() -> None:
        url = f"sqlite://{tmp_path}/memory.db"
        (tmp_path / "link.db").symlink_to(tmp_path / "memory.db")
        async with Memory(
            "agent", [url, f"{url}?synchronous=full", f"sqlite://{tmp_path}/link.db"]
        ) as memory:
            receipt = await memory.remember(FACTS[0])
            assert len(receipt.stores) == 1
            found = await memory.recall("what does Ana drink?")
            assert len(found.stores_queried) == 1
        async with Memory("agent", [f"{url}#one", f"sqlite://{tmp_path}/other.db#two"]) as memory:
            assert (await memory.remember(FACTS[1])).stores == ("one", "two")

    asyncio.run(story())


def test_several_stores_without_a_journal_are_refused() -> None:
    async def story() -> None:
        with pytest.raises(CapabilityUnsupported, match="need a journal"):
            await Memory("agent", ["memory://", "memory://"], policy=None).remember(FACTS[0])
        with pytest.raises(InvalidRequest, match="two stores have the name one"):
            await Memory("agent", ["memory://#one", "sqlite://#one"]).remember(FACTS[0])
        with pytest.raises(InvalidRequest, match="no write policy"):
            Memory("agent", write="most")

    asyncio.run(story())


def test_changes_that_depend_on_each_other_reach_every_store_in_their_order(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        first = await scene.memory.remember(FACTS[0])

        async def revise(number: int) -> bool:
            try:
                await scene.memory.remember(f"{FACTS[0]}, {number}", id=first.id, if_version=number)
            except Conflict:
                return False
            return True

        won = await asyncio.gather(*(revise(number) for number in (1, 1, 2, 2, 3)))
        assert any(won)
        scene.clock.now += 60_000
        assert await scene.memory.pay_debts()
        current = await scene.memory.get(first.id)
        for store in scene.ward.stores.values():
            assert await kept(store) == [(first.id, current.version, current.content)]

    play(story, file=tmp_path / "memory.db")


def test_a_store_that_cannot_be_reached_at_first_is_owed_everything(tmp_path: Path) -> None:
    async def story() -> None:
        far = tmp_path / "far"
        urls = [f"sqlite://{tmp_path}/near.db#near", f"sqlite://{far}/memory.db#far"]
        far.write_text("not a folder", encoding="utf-8")
        async with Memory("agent", urls) as memory:
            receipt = await memory.remember(FACTS[0])
            assert (receipt.stores, receipt.degraded) == (("near",), ("far",))
            far.unlink()
            far.mkdir()
            assert await memory.pay_debts()
            assert set((await memory.recall("what does Ana drink?")).hits[0].stores) == {"near", "far"}

    asyncio.run(story())
