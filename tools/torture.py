"""Kills writers and cuts the power many times, and says what was lost: more of what the tests do a little of.

`python tools/torture.py --kills 500 --cuts 10000` is a night's worth.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.sqlite.crowd import Damage, damage, kill_trial
from tests.sqlite.test_powerloss import power_cuts, recorded_life

WRITERS = 3
LIFE = 50  # power cuts for each recorded life of a store


def kills(folder: Path, trials: int, dice: random.Random) -> tuple[int, list[Damage]]:
    acknowledged: set[str] = set()
    found = []
    for trial in range(trials):
        acknowledged |= kill_trial(folder / "kills.db", trial, WRITERS, dice)
        found.append(damage(folder / "kills.db", acknowledged))
    return len(acknowledged), found


def cuts(folder: Path, images: int, dice: random.Random) -> list[Damage]:
    found: list[Damage] = []
    while len(found) < images:
        with tempfile.TemporaryDirectory(dir=folder) as life:
            events = recorded_life(Path(life))
            found += power_cuts(Path(life), events, min(LIFE, images - len(found)), dice)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="how often to kill three writers")
    parser.add_argument("--cuts", type=int, default=600, help="how many power cuts to simulate")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dice = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder:
        acknowledged, killed = kills(Path(folder), asked.kills, dice)
        print(f"kills={asked.kills} writers={WRITERS} acknowledged={acknowledged} {_summary(killed)}")
        cut = cuts(Path(folder), asked.cuts, dice)
        print(f"cuts={asked.cuts} {_summary(cut)}")
    return int(any(killed) or any(cut))


def _summary(found: list[Damage]) -> str:
    lost = sum(len(one.lost) for one in found)
    torn = sum(len(one.torn) + one.unindexed for one in found)
    return f"lost={lost} torn={torn} corrupt={sum(bool(one.problems) for one in found)}"


if __name__ == "__main__":
    sys.exit(main())
