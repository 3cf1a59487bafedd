"""Policy around a store: each wrapper is itself a store with the abilities of what it wraps."""

from memorywire.stores.wrappers.breaker import Breaker, with_breaker
from memorywire.stores.wrappers.faults import Fault, Faults, with_faults
from memorywire.stores.wrappers.hedge import with_hedge
from memorywire.stores.wrappers.patience import with_patience
from memorywire.stores.wrappers.seal import with_seal

__all__ = [
    "Breaker",
    "Fault",
    "Faults",
    "with_breaker",
    "with_faults",
    "with_hedge",
    "with_patience",
    "with_seal",
]
