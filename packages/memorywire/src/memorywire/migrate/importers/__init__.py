"""Importers: each converts the files of one format to memories.

A package adds one by an entry point of the group `memorywire.importers` for an `Importer`. This module
exports the API for such packages.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from memorywire.migrate.importers.json_files import as_object, parse_if_json, read_json
from memorywire.migrate.importers.source import (
    ImportedMemory,
    Importer,
    Origin,
    Service,
    ServiceImporter,
    Source,
    build_source,
    parse_time,
    read_file_time,
)
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import install_hint
from memorywire.stores.sqlite.foreign import list_tables, read_rows

__all__ = [
    "FORMATS",
    "ImportedMemory",
    "Importer",
    "Origin",
    "Service",
    "ServiceImporter",
    "Source",
    "as_object",
    "build_source",
    "is_address",
    "list_formats",
    "list_tables",
    "parse_if_json",
    "parse_time",
    "read_file_time",
    "read_json",
    "read_keys",
    "read_rows",
    "read_service",
    "read_source",
    "recognise_service",
]

GROUP = "memorywire.importers"

_ADAPTERS = "memorywire-adapters"
_BUILT_IN = {
    "mcp-memory": "json_files:MCP_MEMORY",
    "chatgpt": "json_files:CHATGPT",
    "claude": "json_files:CLAUDE",
    "memorywire-0": "memorywire_0:IMPORTER",
    "csv": "text_files:CSV",
    "markdown": "text_files:MARKDOWN",
    "okf": "text_files:OKF",
    "basic-memory": "text_files:NOTES",
    "notes": "text_files:NOTES",
}
_TEXT_FORMATS = ("csv", "markdown", "okf", "basic-memory", "notes")
FORMATS = (
    "mcp-memory",
    *("mem0", "openmemory", "letta", "langgraph", "chroma"),  # of memorywire-adapters
    *("chatgpt", "claude", "memorywire-0"),
    *_TEXT_FORMATS,
)
"""The formats in the order in which they are tried on a file; the last accepts any text."""


def list_formats() -> list[str]:
    """Return all format names, in the order in which they are tried on a file.

    Formats of other packages are tried before those that accept any text.
    """
    specific = [name for name in FORMATS if name not in _TEXT_FORMATS]
    return [*specific, *sorted(_list_entry_points().keys() - set(FORMATS)), *_TEXT_FORMATS]


def read_source(kind: str, origin: Origin) -> Source:
    """Read the memories of a file of that format; `auto` is the first that recognises it. Blocks."""
    if origin.path.is_file() and not origin.path.stat().st_size:
        raise InvalidRequest(
            f"{origin.path.name} is empty", field="file", fix="name another file, or export it again"
        )
    importers = _load_importers() if kind == "auto" else [(kind, _find_importer(kind))]
    for _, importer in importers:
        if importer.recognises(origin.path):
            return importer.read(origin)
    if kind != "auto":
        expects = _find_importer(kind).expects
        raise InvalidRequest(f"{origin.path.name} is not a file of {kind}", field="file", fix=expects)
    missing = "" if "mem0" in _list_entry_points() else f"; other products need: {install_hint(_ADAPTERS)}"
    raise InvalidRequest(
        f"Unrecognised file format: {origin.path.name}",
        field="file",
        fix=f"say --from: {', '.join(list_formats())}; `memorywire import-lines` reads one memory per line"
        + missing,
    )


def is_address(text: str) -> bool:
    """Whether the text is the URL of a service, not a path."""
    return text.startswith(("http://", "https://", "postgresql://", "postgres://"))


def recognise_service(service: Service) -> str:
    """Return the product at an address, by its host or by the tables of its database. Blocks."""
    # mem0 keeps any table with a vector, so its check is the least specific and comes last.
    for name, importer in reversed(list(_load_services())):
        if importer.recognises(service):
            return name
    if service.protocol == "http":
        raise InvalidRequest(
            f"Unrecognised service: {service.host}", field="from", fix=f"pass --from {_name_readers(service)}"
        )
    fix = f"known are {_name_readers(service)}; name another schema by ?options=-csearch_path%3DNAME"
    raise InvalidRequest("the database has no tables of a known product", field="url", fix=fix)


def read_service(kind: str, service: Service) -> Source:
    """Read the memories of a product at an address. Blocks."""
    importer = _find_importer(kind).service
    reader = None if importer is None else importer.readers.get(service.protocol)
    if reader is None:
        raise InvalidRequest(
            f"{kind} cannot be read from that address", field="from", fix=f"one of: {_name_readers(service)}"
        )
    return reader(service)


def read_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of services in the environment, by product."""
    variables = {name: importer.key_variable for name, importer in _load_services()}
    return {name: environment[key] for name, key in variables.items() if key and environment.get(key)}


def _name_readers(service: Service) -> str:
    names = [name for name, importer in _load_services() if service.protocol in importer.readers]
    return ", ".join(sorted(names)) or f"a product, after {install_hint(_ADAPTERS)}"


def _load_services() -> Iterator[tuple[str, ServiceImporter]]:
    return ((name, importer.service) for name, importer in _load_importers() if importer.service)


def _load_importers() -> Iterator[tuple[str, Importer]]:
    """Return the installed importers, in the order in which they are tried on a file."""
    added = _list_entry_points()
    return ((name, _find_importer(name)) for name in list_formats() if name in _BUILT_IN or name in added)


def _find_importer(kind: str) -> Importer:
    if kind in _BUILT_IN:
        module, _, name = _BUILT_IN[kind].partition(":")
        return cast(Importer, getattr(import_module(f"{__name__}.{module}"), name))
    if point := _list_entry_points().get(kind):
        return cast(Importer, point.load())
    if kind in FORMATS:
        detail = f"importing from {kind} needs the package {_ADAPTERS}, which is not installed"
        raise InvalidRequest(detail, field="from", fix=install_hint(_ADAPTERS))
    raise InvalidRequest(
        f"Unknown format: {kind}", field="from", fix=f"one of: auto, bundle, {', '.join(list_formats())}"
    )


def _list_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}
