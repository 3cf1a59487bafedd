"""A dream that is killed leaves memory as it was, or as the whole dream would."""

import asyncio
import subprocess
import sys
from pathlib import Path

from memorywire_consolidate.run import ConsolidationRun, dream
from memorywire_consolidate.runs import list_runs
from tests.dreaming.scope import SCOPE, contents, open_app, remember_next
from tests.engine.stage import HandClock

AWAKE = ["Ben lives in Rome", "Ben lives in Rome now", "Ben moved to Oslo", "Ana works at Bosch"]
RESTED = ["Ben moved to Oslo", "Ana works at Bosch"]

DREAMER = """
import asyncio, os, signal, sys
from tests.dreaming.scope import SCOPE, open_app
from tests.engine.stage import NOON
from memorywire_consolidate.run import ConsolidationRun, dream

class Deadly:
    def __init__(self, calls):
        self.calls = calls
    def __call__(self):
        self.calls -= 1
        if not self.calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return NOON + 10**9

async def main():
    container = await open_app(sys.argv[1], Deadly(int(sys.argv[2])), policy="open")
    await dream(SCOPE, container.context, ConsolidationRun())
    await container.close()

asyncio.run(main())
"""


def test_killed_at_any_look_at_the_clock_it_does_all_or_nothing_and_never_twice(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/memory.db"
    asyncio.run(_fill(url))
    ends = []
    for calls in (4, 8, 12, 16):
        ended = subprocess.run([sys.executable, "-c", DREAMER, url, str(calls)], check=False)
        ends.append(ended.returncode)
        found, nights = asyncio.run(_look(url))
        assert (found, nights) in ((AWAKE, 0), (RESTED, 1))
    assert -9 in ends
    assert asyncio.run(_look(url, finish=True)) == (RESTED, 1)


async def _fill(url: str) -> None:
    clock = HandClock()
    container = await open_app(url, clock, policy="open")
    for text in AWAKE:
        await remember_next(container.context, clock, text)
    await container.close()


async def _look(url: str, *, finish: bool = False) -> tuple[list[object], int]:
    clock = HandClock()
    clock.pass_days(20)
    container = await open_app(url, clock, policy="open")
    if finish:
        await dream(SCOPE, container.context, ConsolidationRun())
    found = await contents(container.context, clock), len(await list_runs(SCOPE, container.context))
    await container.close()
    return found
