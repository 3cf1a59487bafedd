"""Policy around a store: each wrapper is a store with the optional protocols of the inner store."""

import warnings
from importlib import import_module

from memorywire.stores.wrappers.resilience import (
    Breaker,
    open_on_demand,
    with_breaker,
    with_hedge,
    with_timeout,
)
from memorywire.stores.wrappers.seal import with_seal
from memorywire.stores.wrappers.wrapper import with_name

__all__ = [
    "Breaker",
    "open_on_demand",
    "with_breaker",
    "with_hedge",
    "with_name",
    "with_seal",
    "with_timeout",
]


def __getattr__(name: str) -> object:
    """Return a name of `memorywire_testing.faults`, which was here in 0.1.0, with a DeprecationWarning."""
    if name not in ("Fault", "Faults", "with_faults"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name} is now in memorywire_testing.faults", DeprecationWarning, 2)
    return getattr(import_module("memorywire_testing.faults"), name)
