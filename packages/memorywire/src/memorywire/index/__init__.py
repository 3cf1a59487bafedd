"""The search index of an agent or a user, held in memory as arrays.

The stores for SQLite and Postgres fill it from their tables and rank with it. It runs no SQL and loads no
database driver. This module exports the names that stores in other packages need; each is loaded on first
use, because a process that only stores a memory needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorywire.index.agent_index import SMALL_INDEX, AgentIndex, Source
    from memorywire.index.arrays import Rows, Selection
    from memorywire.index.batch import ENTRY, Batch
    from memorywire.index.cache import IndexCache, needs_rows
    from memorywire.index.ranking import Ranked, Statistics, rank
    from memorywire.index.vectors import Float16Vectors, Vectors

__all__ = [
    "ENTRY",
    "SMALL_INDEX",
    "AgentIndex",
    "Batch",
    "Float16Vectors",
    "IndexCache",
    "Ranked",
    "Rows",
    "Selection",
    "Source",
    "Statistics",
    "Vectors",
    "needs_rows",
    "rank",
]

_MODULES = {
    **dict.fromkeys(("SMALL_INDEX", "AgentIndex", "Source"), "agent_index"),
    **dict.fromkeys(("Rows", "Selection"), "arrays"),
    **dict.fromkeys(("ENTRY", "Batch"), "batch"),
    **dict.fromkeys(("IndexCache", "needs_rows"), "cache"),
    **dict.fromkeys(("Ranked", "Statistics", "rank"), "ranking"),
    **dict.fromkeys(("Float16Vectors", "Vectors"), "vectors"),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
