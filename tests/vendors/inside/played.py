"""The examples, run as somebody would run them who has the framework."""

import asyncio
import io
import runpy
from contextlib import redirect_stdout

from tests.gates.source import ROOT


async def example(name: str) -> str:
    """What examples/NAME.py prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        await asyncio.to_thread(runpy.run_path, str(ROOT / "examples" / f"{name}.py"), None, "__main__")
    return printed.getvalue()
