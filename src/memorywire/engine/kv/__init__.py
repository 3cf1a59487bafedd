"""Keys and values over the same corridor, ledger and stores as every other memory."""

from memorywire.engine.kv.keys import Keys, Usage
from memorywire.engine.kv.reading import entries, entry, stats
from memorywire.engine.kv.searching import search
from memorywire.engine.kv.writing import add, delete, keep, keep_each, reembed

__all__ = [
    "Keys",
    "Usage",
    "add",
    "delete",
    "entries",
    "entry",
    "keep",
    "keep_each",
    "reembed",
    "search",
    "stats",
]
