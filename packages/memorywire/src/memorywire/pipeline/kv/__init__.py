"""Key-value entries, which use the same pipeline, ledger and stores as every other memory."""

from importlib import import_module
from typing import TYPE_CHECKING

from memorywire.pipeline.kv.usage import Usage

if TYPE_CHECKING:  # imported lazily: every container needs Usage, few interfaces use the rest
    from memorywire.pipeline.kv.keys import Keys
    from memorywire.pipeline.kv.reading import entries, entry, stats
    from memorywire.pipeline.kv.searching import search
    from memorywire.pipeline.kv.set import keep, keep_each
    from memorywire.pipeline.kv.update import add, delete, reembed, touch

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
    "touch",
]

_ROOMS = {
    "Keys": "keys",
    **dict.fromkeys(("entries", "entry", "stats"), "reading"),
    **dict.fromkeys(("search",), "searching"),
    **dict.fromkeys(("keep", "keep_each"), "set"),
    **dict.fromkeys(("add", "delete", "reembed", "touch"), "update"),
}


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = globals()[name] = getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)
    return attribute
