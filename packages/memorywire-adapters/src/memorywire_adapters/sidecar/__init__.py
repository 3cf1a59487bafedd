"""Stores with a sidecar: a small SQLite file with the ids, versions and vectors of texts kept elsewhere."""

from memorywire_adapters.sidecar.base import (
    FEATURES,
    Place,
    fitting,
    floats_of,
    half,
    locate,
    no_history,
    spelled,
)
from memorywire_adapters.sidecar.drafts import Draft, Line, Ref, State, draft, version_like
from memorywire_adapters.sidecar.sidecar import OneThread, Sidecar, WriteLock

__all__ = [
    "FEATURES",
    "Draft",
    "Line",
    "OneThread",
    "Place",
    "Ref",
    "Sidecar",
    "State",
    "WriteLock",
    "draft",
    "fitting",
    "floats_of",
    "half",
    "locate",
    "no_history",
    "spelled",
    "version_like",
]
