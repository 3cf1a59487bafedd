"""What was acknowledged survives a power cut on a real file system, with all that stands beside the file."""

import random
from pathlib import Path

import pytest

from tests.sqlite import blackout, governed
from tests.sqlite.blackout import Machine

TRIALS, WRITERS = 2, 2

pytestmark = pytest.mark.skipif(not blackout.is_possible(), reason="no loop devices to mount here")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    with blackout.a_machine(tmp_path) as machine:
        yield machine


def test_a_blackout_takes_nothing_that_was_acknowledged(machine: Machine):
    path, dice, acknowledged = machine.folder / "m.db", random.Random(1), set[str]()
    for trial in range(TRIALS):
        acknowledged |= blackout.blackout(machine, path, trial, WRITERS, dice)
        assert not blackout.damage(path, acknowledged)
    assert {"change", "imported", "signed"} & {deed.split()[0] for deed in acknowledged}


def test_a_log_that_is_never_flushed_is_caught(machine: Machine):
    path, dice = machine.folder / "m.db", random.Random(2)
    governed.recovered(path)
    said = {
        deed
        for trial in range(3)
        for deed in blackout.blackout(machine, path, trial, 1, dice, blackout.unsynced)
    }
    assert blackout.damage(path, said)


def test_a_blackout_while_vectors_are_made_anew_leaves_all_of_one_space(machine: Machine):
    path = machine.folder / "m.db"
    governed.recovered(path)
    blackout.blackout(machine, path, 0, 1, random.Random(4))
    governed.recovered(path)
    assert blackout.reembedded_blackout(machine, path, random.Random(3)) == []
