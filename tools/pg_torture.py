"""Kills a Postgres in the middle of its work, many times, and counts what it lost.

python tools/pg_torture.py [TRIALS]
"""

import asyncio
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the trials are those of the tests

from tests.postgres.crash import CARELESS, crashes, serving


def main(trials: int) -> int:
    with serving("torture") as (folder, server):
        acknowledged, lost, torn = asyncio.run(crashes(folder, server, trials, random.Random(1)))
        print(f"{trials} deaths, {acknowledged} acknowledged changes, {lost} lost, {torn} torn", flush=True)
        some, missed, _ = asyncio.run(crashes(folder, server, 3, random.Random(2), **CARELESS))
        print(f"3 deaths without waiting for the disk: {missed} of {some} lost, as must be")
    return 1 if lost or torn or not missed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
