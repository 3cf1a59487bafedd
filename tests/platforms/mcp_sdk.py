"""For scripts that run without POSIX and serve."""

import importlib
import sys
from typing import Any


def import_mcp() -> None:
    """Import the SDK of MCP, which asks `sys.platform` before it imports fcntl, so on Windows it does not."""
    modules: Any = sys.modules
    del modules["fcntl"]
    importlib.import_module("mcp.server.stdio")
    modules["fcntl"] = None
