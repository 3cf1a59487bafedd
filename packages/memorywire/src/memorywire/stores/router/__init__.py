"""Several stores as one: every write reaches all of them, every search asks all of them."""

from memorywire.stores.router.router import DEADLINE, WRITE_DEADLINE, Mount, Router, name_mounts
from memorywire.stores.router.rules import Kind, Route, learn_route, route_by_rules

__all__ = [
    "DEADLINE",
    "WRITE_DEADLINE",
    "Kind",
    "Mount",
    "Route",
    "Router",
    "learn_route",
    "name_mounts",
    "route_by_rules",
]
