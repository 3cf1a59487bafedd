"""Kills governed writers and cuts their power many times, and says what was lost: more of what the tests do a
little of. Each campaign ends with a control, in which a rule is broken on purpose and must be caught.

`python tools/torture.py --kills 500 --cuts 10000 --blackouts 200` is the whole of it. The cuts come from a
model of one process and its database. The blackouts need root and loop devices: they cut the power of a real
file system with several processes and all of their files, directory entries, key, checkpoints and spools too.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sqlite import blackout, governed
from tests.sqlite.crowd import Damage
from tests.sqlite.desk import loose
from tests.sqlite.powerloss import Acknowledged
from tests.sqlite.test_governed import cut, recorded_life

WRITERS = 3
FILE = 25  # kills for each file, so that comparing it does not take longer than killing
LIFE = 100  # power cuts for each recorded life
DISK = 20  # blackouts for each disk
REEMBEDDING = 5  # every so many blackouts come while vectors are made anew
CONTROLS = 40


class Tally:
    """What was found so far, by name."""

    def __init__(self) -> None:
        self.trials = self.acknowledged = self.lost = self.torn = self.unindexed = self.problems = 0

    def add(self, found: Damage) -> None:
        self.trials += 1
        self.lost += len(found.lost)
        self.torn += len(found.torn)
        self.unindexed += found.unindexed
        self.problems += len(found.problems)
        if found:
            print(f"  trial {self.trials}: {found}", flush=True)

    @property
    def clean(self) -> bool:
        return not (self.lost or self.torn or self.unindexed or self.problems)

    def __str__(self) -> str:
        damage = f"lost={self.lost} torn={self.torn} unindexed={self.unindexed} problems={self.problems}"
        return f"trials={self.trials} acknowledged={self.acknowledged} {damage}"


def kills(folder: Path, trials: int, dice: random.Random) -> Tally:
    """Three writers killed in the middle of everything; the file is opened again and compared."""
    tally = Tally()
    for trial in range(trials):
        if trial % FILE == 0:
            path, acknowledged = folder / f"kills{trial}.db", set[str]()
        said = governed.kill_trial(path, trial, WRITERS, dice)
        acknowledged |= said
        tally.acknowledged += len(said)
        governed.recovered(path)
        tally.add(governed.damage(path, acknowledged))
        _progress("kills", trial + 1, trials)
    return tally


def cuts(folder: Path, images: int, dice: random.Random) -> Tally:
    """Images of a disk that lost power: what was not synced is there in part, in any order, torn."""
    tally = Tally()
    while tally.trials < images:
        with tempfile.TemporaryDirectory(dir=folder) as life:
            events = recorded_life(Path(life))
            tally.acknowledged += sum(isinstance(event, Acknowledged) for event in events)
            for found in cut(Path(life), events, min(LIFE, images - tally.trials), dice):
                tally.add(found)
        _progress("cuts", tally.trials, images)
    return tally


def blackouts(folder: Path, trials: int, dice: random.Random) -> Tally:
    """Power cuts on a real file system while several processes work; one in five while vectors are remade."""
    tally = Tally()
    while tally.trials < trials:
        with tempfile.TemporaryDirectory(dir=folder) as place, blackout.a_machine(Path(place)) as machine:
            path, acknowledged = machine.folder / "m.db", set[str]()
            for trial in range(min(DISK, trials - tally.trials)):
                if trial % REEMBEDDING == REEMBEDDING - 1:
                    wrong = blackout.reembedded_blackout(machine, path, dice)
                    tally.add(Damage(unindexed=len(wrong)))
                    continue
                said = blackout.blackout(machine, path, tally.trials, WRITERS, dice)
                acknowledged |= said
                tally.acknowledged += len(said)
                tally.add(blackout.damage(path, acknowledged))
        print(f"  blackouts: {tally.trials} of {trials}", file=sys.stderr, flush=True)
    return tally


def _dark_control(folder: Path, dice: random.Random) -> bool:
    """Whether a log that is never flushed was caught."""
    with tempfile.TemporaryDirectory(dir=folder) as place, blackout.a_machine(Path(place)) as machine:
        path = machine.folder / "m.db"
        governed.recovered(path)
        for trial in range(CONTROLS):
            if blackout.damage(path, blackout.blackout(machine, path, trial, 1, dice, blackout.unsynced)):
                return True
    return False


def controls(folder: Path, dice: random.Random) -> Iterator[tuple[str, bool]]:
    """The same with a rule switched off: whether it was caught."""
    path = folder / "loose.db"
    governed.recovered(path)
    yield "killed without transactions", any(_loose(path, dice))
    with tempfile.TemporaryDirectory(dir=folder) as life:
        events = recorded_life(Path(life), "synchronous = OFF")
        yield "power cut without syncs", any(cut(Path(life), events, CONTROLS, dice))


def _loose(path: Path, dice: random.Random) -> Iterable[bool]:
    for trial in range(CONTROLS):
        governed.kill_trial(path, trial, WRITERS, dice, loose)
        yield bool(governed.damage(path, set()))


def _progress(what: str, done: int, of: int) -> None:
    if done % 100 == 0:
        print(f"  {what}: {done} of {of}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="how often to kill three writers")
    parser.add_argument("--cuts", type=int, default=600, help="how many power cuts to simulate")
    parser.add_argument("--blackouts", type=int, default=0, help="how many power cuts of a real file system")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dice, started = random.Random(asked.seed), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        killed = kills(Path(folder), asked.kills, dice)
        print(f"kill -9 of {WRITERS} writers: {killed}", flush=True)
        dark = cuts(Path(folder), asked.cuts, dice)
        print(f"power cuts: {dark}", flush=True)
        dead = blackouts(Path(folder), asked.blackouts, dice)
        print(f"blackouts of {WRITERS} processes on ext4: {dead}", flush=True)
        caught = dict(controls(Path(folder), dice)) if asked.kills or asked.cuts else {}
        if asked.blackouts:
            caught["blackout without syncs"] = _dark_control(Path(folder), dice)
    for name, found in caught.items():
        print(f"control, {name}: {'caught' if found else 'NOT CAUGHT'}")
    print(f"{time.monotonic() - started:.0f} s")
    return int(not (killed.clean and dark.clean and dead.clean and all(caught.values())))


if __name__ == "__main__":
    sys.exit(main())
