"""Several stores as one: every write reaches all of them, every search asks all of them."""

from memorywire.stores.router.router import DEADLINE, WRITE_DEADLINE, Mount, Router, name_mounts
from memorywire.stores.router.rules import Kind, Route, by_rules, learned

__all__ = [
    "DEADLINE",
    "WRITE_DEADLINE",
    "Kind",
    "Mount",
    "Route",
    "Router",
    "by_rules",
    "learned",
    "name_mounts",
]
