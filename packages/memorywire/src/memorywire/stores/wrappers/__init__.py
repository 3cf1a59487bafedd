"""Policy around a store: each wrapper is a store itself, with the abilities of the one inside."""

from memorywire.stores.wrappers.faults import Fault, Faults, with_faults
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
    "Fault",
    "Faults",
    "open_on_demand",
    "with_breaker",
    "with_faults",
    "with_hedge",
    "with_name",
    "with_seal",
    "with_timeout",
]
