"""The examples, run as somebody would run them who has the framework."""

import asyncio
import io
import runpy
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tests.gates.source import ROOT


def holding_forgets(folder: Path) -> str:
    """The path of a policy that holds every forget for a person."""
    policy = folder / "policy.toml"
    policy.write_text('[[rule]]\nname = "look"\nverdict = "hold"\noperation = ["forget"]\n')
    return str(policy)


async def example(name: str) -> str:
    """What examples/NAME.py prints."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        await asyncio.to_thread(runpy.run_path, str(ROOT / "examples" / f"{name}.py"), None, "__main__")
    return printed.getvalue()


def parts_of(name: str) -> dict[str, Any]:
    """What examples/NAME.py defines, such as its model that needs no key."""
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))


SNACKS = "Which snacks can I eat?"
ALLERGY = "Ana is allergic to peanuts."
BLOCK = f"<memory data>\n- {ALLERGY}\n</memory>"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
