"""A store over anything that keeps texts: a small SQLite file beside it has the ids, versions and vectors."""

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
