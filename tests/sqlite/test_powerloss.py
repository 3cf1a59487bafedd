"""A power cut takes nothing that was acknowledged; a disk that fails once fails one write, and says so."""

import asyncio
import itertools
import random
from pathlib import Path

import pytest

from memorywire.model.errors import StoreUnavailable
from memorywire.stores.sqlite import SqliteStore
from memorywire_testing.samples import everything
from tests.sqlite.crowd import PUTS, SCOPE, Damage, damage, the_change
from tests.sqlite.desk import opened, run
from tests.sqlite.powerloss import Acknowledged, Disk, Event, power_cuts, recording

IMAGES = 150
FREQUENT_CHECKPOINTS = "wal_autocheckpoint = 12"


def recorded_life(folder: Path, *settings: str, changes: int = 60) -> list[Event]:
    """What the disk saw while a store wrote `changes` changes and acknowledged each."""
    disk = Disk()

    async def one(store: SqliteStore, number: int) -> None:
        await store.write(the_change(f"c{number}"))
        disk.acknowledge(f"c{number}")

    async def main() -> None:
        with recording(disk, FREQUENT_CHECKPOINTS, *settings) as connect:
            async with opened(folder / "m.db", connect=connect) as store:
                opened_at = len(disk.events)
                for number in range(0, changes, 3):
                    await asyncio.gather(*(one(store, n) for n in range(number, number + 3)))
                written = len(disk.events)
        assert any(isinstance(event, Acknowledged) for event in disk.events[opened_at:written])
        del disk.events[written:]

    run(main())
    return disk.events


def cut(folder: Path, events: list[Event], seed: int = 1) -> list[Damage]:
    return power_cuts(folder, events, IMAGES, random.Random(seed), damage)


@pytest.mark.parametrize("seed", range(2))
def test_a_power_cut_takes_nothing_that_was_acknowledged(tmp_path: Path, seed: int) -> None:
    events = recorded_life(tmp_path)
    assert not any(cut(tmp_path, events, seed))


def test_durability_given_up_by_name_loses_the_last_changes_but_tears_none(tmp_path: Path) -> None:
    events = recorded_life(tmp_path, "synchronous = NORMAL")
    found = cut(tmp_path, events)
    assert any(image.lost for image in found)
    assert not any(image.torn or image.unindexed or image.problems for image in found)


def test_a_store_that_never_syncs_is_caught(tmp_path: Path) -> None:
    events = recorded_life(tmp_path, "synchronous = OFF")
    assert any(cut(tmp_path, events))


def test_a_disk_that_fails_once_fails_one_write_and_is_used_again(tmp_path: Path) -> None:
    """Whichever call fails: the error is ours, no part of the change is seen, and the retry writes once."""
    refused = 0

    async def trial(call: int) -> bool:
        nonlocal refused
        disk = Disk()
        path = tmp_path / f"{call}.db"
        with recording(disk, FREQUENT_CHECKPOINTS) as connect:
            async with opened(path, connect=connect) as store:
                for number in range(2):
                    await store.write(the_change(f"before{number}"))
                disk.calls_until_failure = call
                for number in range(2):
                    try:
                        await store.write(the_change(f"then{number}"))
                    except StoreUnavailable:
                        refused += 1
                        assert await store.count(everything(SCOPE)) % PUTS == 0
                        await store.write(the_change(f"then{number}"))
                assert await store.count(everything(SCOPE)) == 4 * PUTS
                has_failed, disk.calls_until_failure = disk.failed, None  # closing is not a write
        assert not damage(path, {f"{name}{number}" for name in ("before", "then") for number in range(2)})
        return has_failed

    failed = list(itertools.takewhile(lambda call: run(trial(call)), itertools.count(1)))
    assert len(failed) > 20
    assert refused > 5
