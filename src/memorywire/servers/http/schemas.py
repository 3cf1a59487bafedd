"""The documents that only this door has: batches, the ledger, debts, events, health."""

import json
from functools import cache
from importlib.resources import files

from memorywire.model.record import Json


@cache
def own_schemas() -> dict[str, dict[str, Json]]:
    """Every schema of the door by name; shared between callers, so read only."""
    found: dict[str, dict[str, Json]] = json.loads(
        (files(__package__) / "schemas.json").read_text(encoding="utf-8")
    )
    return found
