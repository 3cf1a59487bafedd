"""A crash leaves memories, ledger, proposals and search index telling one story, and loses nothing of it."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import apsw
import pytest

from memorywire.journal.acts import Act
from memorywire.journal.journal import Journal
from memorywire.model.change import Change
from tests.sqlite import governed
from tests.sqlite.crowd import Damage
from tests.sqlite.desk import loose, run
from tests.sqlite.powerloss import Disk, Event, power_cuts, recording

FREQUENT_CHECKPOINTS = "wal_autocheckpoint = 24"
TRIALS, WRITERS, IMAGES = 4, 3, 60


def recorded_life(folder: Path, *settings: str, rounds: int = 4) -> list[Event]:
    """What the disk saw while a governed memory lived and acknowledged each of its deeds."""
    disk = Disk()

    def say(what: str) -> None:
        if not what.startswith(
            "recalled"
        ):  # a recall waits for no disk: only the process may die, not the power
            disk.acknowledge(what)

    async def main() -> None:
        with recording(disk, FREQUENT_CHECKPOINTS, *settings) as how:
            async with governed.a_house(folder / "m.db", how) as container:
                await asyncio.gather(
                    *(governed.live(container, f"r{number}", say) for number in range(rounds))
                )
                written = len(disk.events)
        del disk.events[written:]

    run(main())
    return disk.events


def cut(
    folder: Path, events: list[Event], images: int = IMAGES, dice: random.Random | None = None
) -> list[Damage]:
    """The damage after power cuts."""
    return power_cuts(folder, events, images, dice or random.Random(1), _damage)


def _damage(path: Path, acknowledged: set[str]) -> Damage:
    return governed.damage(path, acknowledged, signed=False)  # checkpoints are no part of the recorded disk


def test_what_was_acknowledged_survives_being_killed(tmp_path: Path) -> None:
    path, dice = tmp_path / "m.db", random.Random(1)
    acknowledged: set[str] = set()
    for trial in range(TRIALS):
        acknowledged |= governed.kill_trial(path, trial, WRITERS, dice)
        governed.recovered(path)
        assert not governed.damage(path, acknowledged)
    assert {said.split()[0] for said in acknowledged} == {"change", "staged", "approved", "recalled"}


def test_a_file_without_transactions_is_caught(tmp_path: Path) -> None:
    path, dice = tmp_path / "m.db", random.Random(3)
    governed.recovered(path)
    for trial in range(3 * TRIALS):
        governed.kill_trial(path, trial, WRITERS, dice, loose)
        if governed.damage(path, set()).torn:
            return
    raise AssertionError("nothing was torn, so the other trials prove nothing")


def test_a_power_cut_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    events = recorded_life(tmp_path)
    assert not any(cut(tmp_path, events))


def test_a_disk_that_is_never_synced_is_caught(tmp_path: Path) -> None:
    events = recorded_life(tmp_path, "synchronous = OFF")
    assert any(cut(tmp_path, events))


def test_an_entry_that_is_not_written_with_its_change_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = Journal.commit

    async def apart(
        journal: Journal, acts: Sequence[Act], changes: Sequence[Change]
    ) -> list[int | Exception]:
        results = await together(journal, [Act() for _ in acts], changes)
        for act in acts:
            await journal.write(act)
        return results

    monkeypatch.setattr(Journal, "commit", apart)
    found = cut(tmp_path, recorded_life(tmp_path))
    assert any(image.torn for image in found)


BREAK = {
    "a word that is not indexed": "UPDATE version SET terms = x'' WHERE content IS NOT NULL",
    "a vector of other words": "UPDATE version SET vector = zeroblob(16) WHERE content IS NOT NULL",
    "a change that is gone": "DELETE FROM change WHERE seq = 3",
    "an entry that is gone": "DROP TRIGGER ledger_keeps; DELETE FROM ledger WHERE seq = 5",
    "a proposal that is gone": "DELETE FROM proposal",
    "an approval that never was": "UPDATE proposal SET state = 'pending'",
    "a recall that is gone": "DELETE FROM recalled",
}


@pytest.mark.parametrize("broken", BREAK)
def test_the_examination_sees(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "m.db"
    said: set[str] = set()

    async def main() -> None:
        async with governed.a_house(path) as container:
            await governed.live(container, "r", said.add)

    run(main())
    assert not governed.damage(path, said)
    db = apsw.Connection(str(path))
    db.execute(BREAK[broken])
    db.close()
    assert governed.damage(path, said)
