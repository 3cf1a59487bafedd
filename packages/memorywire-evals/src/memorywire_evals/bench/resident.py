"""Measures the resident memory of a process that has opened a store and recalled from it."""

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from memorywire.client.memory import Memory
from memorywire.model.errors import Conflict
from memorywire_evals.bench.report import Resident
from memorywire_evals.bench.stage import AGENT, Stage

_STATUS = Path("/proc/self/status")
_QUESTIONS = 5


async def resident(stage: Stage) -> list[Resident]:
    """Measure the resident memory of a process at this size; empty if the system does not report it."""
    if not has_status():
        return []
    asked = json.dumps([stage.url, *stage.asked(_QUESTIONS)])
    command = (sys.executable, "-m", "memorywire_evals.bench.resident", asked)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    if process.returncode:
        raise Conflict("the memory of a process could not be measured: it failed")
    return [Resident(size=stage.size, mb=float(said))]


async def _recall(url: str, questions: Sequence[str]) -> float:
    """Ask all questions; return the resident megabytes."""
    async with Memory(AGENT, [url]) as memory:
        for question in questions:
            await memory.recall(question, scope="all")
        return read_resident()


def has_status() -> bool:
    """Return whether the system reports the memory of this process."""
    return _STATUS.is_file()


def read_resident() -> float:
    """Return the resident megabytes of this process."""
    lines = _STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    url, *questions = json.loads(sys.argv[1])
    sys.stdout.write(f"{asyncio.run(_recall(url, questions)):.1f}")
