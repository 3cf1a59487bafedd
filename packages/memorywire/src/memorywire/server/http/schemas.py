"""The documents that only this door has: batches, the ledger, debts, events, health, other contracts."""

import json
from functools import cache
from importlib.resources import files

from memorywire.model.record import Json

_FILES = ("schemas.json", "schemas_contracts.json")


@cache
def own_schemas() -> dict[str, dict[str, Json]]:
    """Every schema of the door by name; shared between callers, so read only."""
    return {name: schema for file in _FILES for name, schema in _read(file).items()}


def _read(file: str) -> dict[str, dict[str, Json]]:
    found: dict[str, dict[str, Json]] = json.loads((files(__package__) / file).read_text(encoding="utf-8"))
    return found
