"""Runs a program to its end, or kills it with all processes it started."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct


class Ended(Struct, frozen=True):
    """The exit status (None on timeout), and the output."""

    code: int | None
    output: bytes
    complaint: bytes


def run_program(
    words: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    told: bytes = b"",
    seconds: float | None = None,
) -> Ended:
    """Run a program with this input and wait for it. Raises OSError if it cannot be started."""
    return asyncio.run(_run(words, cwd, env, told, seconds))


async def _run(
    words: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, told: bytes, seconds: float | None
) -> Ended:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *words, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, start_new_session=True
    )
    try:
        async with asyncio.timeout(seconds):
            output, complaint = await process.communicate(told)
    except TimeoutError:
        return Ended(None, b"", b"")
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return Ended(process.returncode, output, complaint)
