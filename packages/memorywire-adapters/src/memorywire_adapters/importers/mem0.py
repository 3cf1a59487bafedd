"""Imports the memories of mem0: its Qdrant or Faiss folder, its history, a `get_all()` file, or its API."""

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memorywire.migrate.importers import (
    ImportedMemory,
    Importer,
    Origin,
    Service,
    ServiceImporter,
    Source,
    build_source,
    list_tables,
    parse_if_json,
    parse_time,
    read_json,
    read_rows,
)
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope
from memorywire_adapters.importers import postgres
from memorywire_adapters.importers.web import Site

_HOST = "api.mem0.ai"
_MIGRATIONS = "mem0migrations"  # mem0's internal collection
_PEEK_BYTES = 65_536
_FIELDS = frozenset(
    {"data", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "text_lemmatized"}
)
_LATEST = """
SELECT memory_id, new_memory, created_at, updated_at, role, actor_id, is_deleted FROM history AS one
WHERE rowid = (SELECT max(rowid) FROM history WHERE memory_id = one.memory_id)
"""
_VERSIONS = """
SELECT memory_id, new_memory, created_at, updated_at FROM history
WHERE event IN ('ADD', 'UPDATE') AND new_memory IS NOT NULL ORDER BY rowid
"""
_NO_VECTORS = "the vectors: they are made anew here"
_NO_EARLIER = "earlier words of a memory that was updated"
_HISTORY_LOSSES = ("whose memories they are: the history does not say", "metadata")


def _recognises(path: Path) -> bool:
    if _find_collections(path) or _find_docstores(path) or _read_listing(path):
        return True
    return "history" in list_tables(_find_history(path))


def _read(origin: Origin) -> Source:
    path = origin.path
    if listing := _read_listing(path):
        return build_source(
            "mem0",
            origin,
            lambda: (_build_from_api(str(one["id"]), one) for one in listing),
            (_NO_VECTORS, _NO_EARLIER),
        )
    if _find_collections(path) or _find_docstores(path):
        has_history = "history" in list_tables(_find_history(path))
        losses = (_NO_VECTORS,) if has_history else (_NO_VECTORS, _NO_EARLIER)
        return build_source("mem0", origin, lambda: _list_points(path), losses)
    return build_source("mem0", origin, lambda: _list_history(_find_history(path)), _HISTORY_LOSSES)


def _read_listing(path: Path) -> list[Mapping[str, Json]]:
    """Return the memories in a file with a response of mem0: a list, bare or under `results`."""
    if path.suffix != ".json" or not path.is_file() or not _mentions_memory(path):
        return []
    content = parse_if_json(path.read_bytes())
    listing = content.get("results") if isinstance(content, Mapping) else content
    items = listing if isinstance(listing, list) else []
    is_listing = all(isinstance(one, Mapping) and {"id", "memory"} <= one.keys() for one in items)
    return items if is_listing else []


def _mentions_memory(path: Path) -> bool:
    """Return whether the start of the file has "memory", to avoid reading large files of other products."""
    with path.open("rb") as file:
        return b'"memory"' in file.read(_PEEK_BYTES)


def _find_history(path: Path) -> Path:
    """Return the path of the history: in the Qdrant folder, or in its parent folder."""
    if not path.is_dir():
        return path
    inside = path / "history.db"
    return inside if inside.exists() else path.parent / "history.db"


def _find_collections(path: Path) -> list[Path]:
    """Return the files with the points of each Qdrant collection."""
    if not path.is_dir():
        return []
    files = sorted(path.glob("**/collection/*/storage.sqlite"))
    return [file for file in files if file.parent.name != _MIGRATIONS]


def _find_docstores(path: Path) -> list[Path]:
    """Return the files with the texts of each Faiss index."""
    files = [file.with_suffix(".json") for file in sorted(path.glob("**/*.faiss"))] if path.is_dir() else []
    return [file for file in files if file.is_file() and file.stem != _MIGRATIONS]


def _list_points(path: Path) -> Iterator[ImportedMemory]:
    versions = _read_versions(_find_history(path))
    for file in _find_collections(path):
        for row in read_rows(file, "SELECT id, point FROM points ORDER BY id"):
            point = vars(_PointUnpickler(io.BytesIO(row["point"])).load())
            id = str(point["id"])
            yield from _build_from_point(id, point.get("payload") or {}, versions.get(id, ()))
    for file in _find_docstores(path):
        for id, payload in sorted(read_json(file, file.name)["docstore"].items()):
            yield from _build_from_point(id, payload, versions.get(id, ()))


def _read_versions(path: Path) -> dict[str, list[tuple[str, int]]]:
    """Return the texts of each memory in the history, oldest first, each with the time it became valid."""
    versions: dict[str, list[tuple[str, int]]] = {}
    for row in read_rows(path, _VERSIONS) if "history" in list_tables(path) else ():
        at = parse_time(row["updated_at"], parse_time(row["created_at"], 0))
        versions.setdefault(str(row["memory_id"]), []).append((str(row["new_memory"]), at))
    return versions


def _build_from_point(
    id: str, payload: Mapping[str, Json], versions: Sequence[tuple[str, int]] = ()
) -> Iterator[ImportedMemory]:
    """Yield the memory of a point unless empty, with earlier texts if the history ends with this text."""
    if not payload.get("data"):
        return
    at = parse_time(payload.get("created_at"), 0)
    yield ImportedMemory(
        key=id,
        content=str(payload["data"]),
        at=at,
        updated_at=parse_time(payload.get("updated_at"), at),
        agent=payload.get("agent_id"),
        user=payload.get("user_id"),
        session=payload.get("run_id"),
        metadata={name: value for name, value in payload.items() if name not in _FIELDS} | {"mem0_id": id},
        earlier=tuple(versions[:-1]) if versions and versions[-1][0] == payload["data"] else (),
    )


def _list_history(path: Path) -> Iterator[ImportedMemory]:
    versions = _read_versions(path)
    for row in read_rows(path, _LATEST):
        if row["new_memory"] and not row["is_deleted"]:
            at = parse_time(row["created_at"], 0)
            metadata = {"mem0_id": row["memory_id"], "role": row["role"], "actor_id": row["actor_id"]}
            yield ImportedMemory(
                key=str(row["memory_id"]),
                content=str(row["new_memory"]),
                at=at,
                updated_at=parse_time(row["updated_at"], at),
                metadata={name: value for name, value in metadata.items() if value is not None},
                earlier=tuple(versions.get(str(row["memory_id"]), ())[:-1]),
            )


class _Point:
    """Stands in for Qdrant's classes when unpickling; it only stores the fields."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state["__dict__"])


class _PointUnpickler(pickle.Unpickler):
    """Unpickles points and refuses all other classes, because a pickle can run code."""

    def find_class(self, module: str, name: str) -> type[_Point]:
        if module.startswith("qdrant_client.") and name in ("PointStruct", "SparseVector"):
            return _Point
        raise _refusal(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _refusal("an external object")


def _refusal(what: str) -> InvalidRequest:
    return InvalidRequest(
        f"the Qdrant file asks for {what}, which is not needed to read memories", field="file"
    )


# The API of the platform lists all entities; a self-hosted server lists one user at a time.

_PAGE = 100
_ALL = 1_000_000
_ENTITIES = "/v1/entities/"
_POINT_COLUMNS = frozenset({"id", "vector", "payload"})


def _recognises_service(service: Service) -> bool:
    if service.protocol == "http":
        return service.host == _HOST
    return any(names >= _POINT_COLUMNS for names in postgres.list_columns(service.url).values())


def _read_postgres(service: Service) -> Source:
    def list_memories() -> Iterator[ImportedMemory]:
        for name, columns in sorted(postgres.list_columns(service.url).items()):
            if columns >= _POINT_COLUMNS and name != _MIGRATIONS:
                query = "SELECT id::text, payload FROM {} ORDER BY id"
                for row in postgres.read_rows(service.url, query, name):
                    yield from _build_from_point(row["id"], row["payload"])

    return build_source("mem0", service.origin, list_memories, (_NO_VECTORS, _NO_EARLIER))


def _read_api(service: Service) -> Source:
    return build_source("mem0", service.origin, lambda: _list_api(service), (_NO_VECTORS, _NO_EARLIER))


def _list_api(service: Service) -> Iterator[ImportedMemory]:
    """Yield each memory once."""
    key = service.key
    platform = Site(url=service.url, headers={"authorization": f"Token {key}"})
    server = Site(url=service.url, headers={"x-api-key": key} if key else {})
    is_platform = key and platform.has(_ENTITIES)
    ids: set[str] = set()
    for memory in _list_platform(platform) if is_platform else _list_server(server, service.scope):
        if (id := str(memory["id"])) not in ids:
            ids.add(id)
            yield _build_from_api(id, memory)


def _list_platform(site: Site) -> Iterator[Mapping[str, Json]]:
    entities = site.get(_ENTITIES)
    for entity in entities["results"] if isinstance(entities, dict) else entities:
        filters = {"filters": {f"{entity['type']}_id": entity["name"]}}
        page = 1
        while True:
            answer = site.post("/v3/memories/", filters, page=page, page_size=_PAGE)
            yield from answer["results"]
            if not answer.get("next"):
                break
            page += 1


def _list_server(site: Site, scope: Scope) -> Iterator[Mapping[str, Json]]:
    if scope.user is None:
        raise InvalidRequest(
            "a mem0 server returns the memories of one user at a time",
            field="user",
            fix="name one with --user",
        )
    answer = site.get("/memories", user_id=scope.user, top_k=_ALL)
    yield from answer["results"] if isinstance(answer, dict) else answer


def _build_from_api(id: str, memory: Mapping[str, Json]) -> ImportedMemory:
    """Return the memory for an item of the API or of `get_all()`."""
    at = parse_time(memory.get("created_at"), 0)
    return ImportedMemory(
        key=id,
        content=str(memory.get("memory") or ""),
        at=at,
        updated_at=parse_time(memory.get("updated_at"), at),
        expires_at=parse_time(memory.get("expiration_date"), 0) or None,
        agent=memory.get("agent_id"),
        user=memory.get("user_id"),
        session=memory.get("run_id"),
        tags=tuple(str(label) for label in memory.get("categories") or ()),
        metadata={**(memory.get("metadata") or {}), "mem0_id": id},
    )


IMPORTER = Importer(
    expects="the folder of its Qdrant (with meta.json) or Faiss, the folder above it, history.db, "
    "or a .json file with the answer of get_all()",
    recognises=_recognises,
    read=_read,
    service=ServiceImporter(
        recognises=_recognises_service,
        readers={"http": _read_api, "postgres": _read_postgres},
        key_variable="MEM0_API_KEY",
    ),
)
