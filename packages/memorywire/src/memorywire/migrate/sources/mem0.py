"""The memories of a local mem0: its Qdrant or Faiss folder, its history, or what `get_all` gave as JSON."""

import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from memorywire.migrate.sources.documents import document, plain
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.migrate.sources.mem0_api import LOSSES, memory_in
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

WANTED = (
    "the folder of its Qdrant (with meta.json) or Faiss, the folder above it, history.db, "
    "or a .json file with what get_all() gave"
)

MIGRATIONS = "mem0migrations"
"""A collection of mem0's own notes."""

_BEGINNING = 65_536
_OWN = frozenset(
    {"data", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "text_lemmatized"}
)
_LATEST = """
SELECT memory_id, new_memory, created_at, updated_at, role, actor_id, is_deleted FROM history AS one
WHERE rowid = (SELECT max(rowid) FROM history WHERE memory_id = one.memory_id)
"""
_SAID = """
SELECT memory_id, new_memory, created_at, updated_at FROM history
WHERE event IN ('ADD', 'UPDATE') AND new_memory IS NOT NULL ORDER BY rowid
"""


def recognises(path: Path) -> bool:
    return bool(_collections(path) or _docstores(path) or _listed(path)) or "history" in tables(
        _history(path)
    )


def read(origin: Origin) -> Source:
    path = origin.path
    if listed := _listed(path):
        return source("mem0", origin, lambda: (memory_in(str(one["id"]), one) for one in listed), LOSSES)
    if _collections(path) or _docstores(path):
        told = "history" in tables(_history(path))
        earlier = () if told else ("earlier words of a memory that was updated",)
        return source(
            "mem0", origin, lambda: _points(path), ("the vectors: they are made anew here", *earlier)
        )
    losses = ("whose memories they are: the history does not say", "metadata")
    return source("mem0", origin, lambda: _changes(_history(path)), losses)


def _listed(path: Path) -> list[Mapping[str, Json]]:
    """The memories of a file with an answer of mem0: a list of them, bare or under `results`."""
    if path.suffix != ".json" or not path.is_file() or not _may_list(path):
        return []
    said = plain(path.read_bytes())
    listed = said.get("results") if isinstance(said, Mapping) else said
    each = listed if isinstance(listed, list) else []
    return each if all(isinstance(one, Mapping) and {"id", "memory"} <= one.keys() for one in each) else []


def _may_list(path: Path) -> bool:
    """Whether its beginning mentions a memory, so that no large foreign file is read in vain."""
    with path.open("rb") as file:
        return b'"memory"' in file.read(_BEGINNING)


def _history(path: Path) -> Path:
    """The history is beside the folder of its Qdrant, or above it."""
    if not path.is_dir():
        return path
    inside = path / "history.db"
    return inside if inside.exists() else path.parent / "history.db"


def _collections(path: Path) -> list[Path]:
    """The files with the points of each collection, mem0's own notes about migrations aside."""
    if not path.is_dir():
        return []
    found = sorted(path.glob("**/collection/*/storage.sqlite"))
    return [file for file in found if file.parent.name != MIGRATIONS]


def _docstores(path: Path) -> list[Path]:
    """The files with the words that belong to the vectors of a Faiss index."""
    beside = [file.with_suffix(".json") for file in sorted(path.glob("**/*.faiss"))] if path.is_dir() else []
    return [file for file in beside if file.is_file() and file.stem != MIGRATIONS]


def _points(path: Path) -> Iterator[Found]:
    told = _told(_history(path))
    for file in _collections(path):
        for row in rows(file, "SELECT id, point FROM points ORDER BY id"):
            point = vars(_Reader(io.BytesIO(row["point"])).load())
            id = str(point["id"])
            yield from memory_of(id, point.get("payload") or {}, told.get(id, ()))
    for file in _docstores(path):
        for id, payload in sorted(document(file, file.name)["docstore"].items()):
            yield from memory_of(id, payload, told.get(id, ()))


def _told(path: Path) -> dict[str, list[tuple[str, int]]]:
    """The history of each memory: what it said, each with the moment from which on."""
    said: dict[str, list[tuple[str, int]]] = {}
    for row in rows(path, _SAID) if "history" in tables(path) else ():
        at = moment(row["updated_at"], moment(row["created_at"], 0))
        said.setdefault(str(row["memory_id"]), []).append((str(row["new_memory"]), at))
    return said


def memory_of(id: str, payload: Mapping[str, Json], told: Sequence[tuple[str, int]] = ()) -> Iterator[Found]:
    """What a point of any vector store says, if it says something, and what it said before by the history."""
    if not payload.get("data"):
        return
    at = moment(payload.get("created_at"), 0)
    yield Found(
        key=id,
        content=str(payload["data"]),
        at=at,
        updated_at=moment(payload.get("updated_at"), at),
        agent=payload.get("agent_id"),
        user=payload.get("user_id"),
        session=payload.get("run_id"),
        metadata={name: value for name, value in payload.items() if name not in _OWN} | {"mem0_id": id},
        earlier=tuple(told[:-1]) if told and told[-1][0] == payload["data"] else (),
    )


def _changes(path: Path) -> Iterator[Found]:
    told = _told(path)
    for row in rows(path, _LATEST):
        if row["new_memory"] and not row["is_deleted"]:
            at = moment(row["created_at"], 0)
            said = {"mem0_id": row["memory_id"], "role": row["role"], "actor_id": row["actor_id"]}
            yield Found(
                key=str(row["memory_id"]),
                content=str(row["new_memory"]),
                at=at,
                updated_at=moment(row["updated_at"], at),
                metadata={name: value for name, value in said.items() if value is not None},
                earlier=tuple(told.get(str(row["memory_id"]), ())[:-1]),
            )


class _Point:
    """Stands in for Qdrant's class: it only takes the stored fields."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state["__dict__"])


class _Reader(pickle.Unpickler):
    """An unpickler that reads points, and refuses every other class in the file."""

    def find_class(self, module: str, name: str) -> type[_Point]:
        if module.startswith("qdrant_client.") and name in ("PointStruct", "SparseVector"):
            return _Point
        raise _refusal(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _refusal("something outside of it")


def _refusal(what: str) -> InvalidRequest:
    return InvalidRequest(f"the Qdrant file asks for {what}, which no memory needs", field="file")
