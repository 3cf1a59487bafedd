"""Several stores as one: writes go to all of them, and searches query all of them."""

from memorywire.stores.router.router import DEADLINE, WRITE_DEADLINE, Mount, Router, name_mounts
from memorywire.stores.router.rules import Kind, LearnedRoute, Route, by_rules, learned, load_route

__all__ = [
    "DEADLINE",
    "WRITE_DEADLINE",
    "Kind",
    "LearnedRoute",
    "Mount",
    "Route",
    "Router",
    "by_rules",
    "learned",
    "load_route",
    "name_mounts",
]
