"""Runs the claims of one module, each in an empty folder, and says as JSON what was wrong with which."""

import asyncio
import inspect
import json
import sys
import tempfile
import traceback
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import Any


def claims(module: str) -> list[str]:
    """The coroutine functions a module of this package defines: each is a sentence about the product."""
    found = import_module(f"tests.vendors.inside.{module}")
    members = inspect.getmembers(found, inspect.iscoroutinefunction)
    return [name for name, made in members if made.__module__ == found.__name__ and name[0] != "_"]


def judge(module: str) -> dict[str, str | None]:
    found = import_module(f"tests.vendors.inside.{module}")
    results: dict[str, str | None] = {}
    for name in claims(module):
        with tempfile.TemporaryDirectory() as folder:
            results[name] = asyncio.run(_outcome(getattr(found, name)(Path(folder))))
    return results


async def _outcome(claim: Coroutine[Any, Any, None]) -> str | None:
    """Whatever a product raises is what the claim came to."""
    (outcome,) = await asyncio.gather(claim, return_exceptions=True)
    return None if outcome is None else "".join(traceback.format_exception(outcome))


if __name__ == "__main__":
    print(json.dumps(judge(sys.argv[1])))
