"""Several stores as one: every write reaches all of them, every search asks all of them."""

from memorywire.stores.router.mounting import Mount, mounted
from memorywire.stores.router.router import DEADLINE, WRITING, Router

__all__ = ["DEADLINE", "WRITING", "Mount", "Router", "mounted"]
