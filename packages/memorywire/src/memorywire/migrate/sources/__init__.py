"""Readers of what other products keep: each turns a file or a folder into memories."""

from importlib import import_module

from memorywire.migrate.sources.found import Origin, Source
from memorywire.model.errors import InvalidRequest

_READERS = {
    "mcp-memory": "mcp_memory",
    "mem0": "mem0",
    "openmemory": "openmemory",
    "letta": "letta",
    "langgraph": "langgraph",
    "chroma": "chroma",
    "chatgpt": "chatgpt",
    "claude": "claude",
    "memorywire-0": "memorywire_0",
    "csv": "table",
    "markdown": "sheets",
    "okf": "okf",
    "basic-memory": "notes",
    "notes": "notes",
}
"""In the order in which a file is tried: the last takes any text."""

PRODUCTS = tuple(_READERS)


def read_source(kind: str, origin: Origin) -> Source:
    """The memories of a file, which is of that kind, or of the first kind that recognises it. Blocks."""
    if origin.path.is_file() and not origin.path.stat().st_size:
        raise InvalidRequest(
            f"{origin.path.name} is empty", field="file", fix="name another file, or export it again"
        )
    if kind != "auto":
        return _reader(kind, origin)
    for name in _READERS:
        module = import_module(f"{__name__}.{_READERS[name]}")
        if module.recognises(origin.path):
            return _reader(name, origin)
    raise InvalidRequest(
        f"nobody here knows what {origin.path.name} is",
        field="file",
        fix=f"say --from: {', '.join(_READERS)}; a memory a line is for `memorywire import-lines`",
    )


def _reader(kind: str, origin: Origin) -> Source:
    module = import_module(f"{__name__}.{_READERS[kind]}")
    if not module.recognises(origin.path):
        raise InvalidRequest(f"{origin.path.name} is no file of {kind}", field="file", fix=module.WANTED)
    source: Source = module.read(origin)
    return source
