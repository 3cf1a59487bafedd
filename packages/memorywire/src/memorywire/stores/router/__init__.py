"""Several stores as one: every write reaches all of them, every search asks all of them."""

from memorywire.stores.router.router import DEADLINE, WRITING, Mount, Router, mounted
from memorywire.stores.router.rules import Kind, Route, by_rules, learned

__all__ = ["DEADLINE", "WRITING", "Kind", "Mount", "Route", "Router", "by_rules", "learned", "mounted"]
