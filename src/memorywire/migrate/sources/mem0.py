"""The memories of a local mem0: its Qdrant folder, or its history database where there is nothing else."""

import io
import pickle
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

WANTED = "the folder of its Qdrant (with meta.json), the folder above it, or history.db"

_OWN = frozenset(
    {"data", "hash", "created_at", "updated_at", "user_id", "agent_id", "run_id", "text_lemmatized"}
)
_LATEST = """
SELECT memory_id, new_memory, created_at, updated_at, role, actor_id, is_deleted FROM history AS one
WHERE rowid = (SELECT max(rowid) FROM history WHERE memory_id = one.memory_id)
"""


def recognises(path: Path) -> bool:
    return bool(_collections(path)) or "history" in tables(_history(path))


def read(origin: Origin) -> Source:
    path = origin.path
    if _collections(path):
        losses = ("the vectors: they are made anew here", "earlier words of a memory that was updated")
        return source("mem0", origin, lambda: _points(path), losses)
    losses = ("whose memories they are: the history does not say", "metadata")
    return source("mem0", origin, lambda: _changes(_history(path)), losses)


def _history(path: Path) -> Path:
    return path / "history.db" if path.is_dir() else path


def _collections(path: Path) -> list[Path]:
    """The files with the points of each collection, mem0's own notes about migrations aside."""
    if not path.is_dir():
        return []
    found = sorted(path.glob("**/collection/*/storage.sqlite"))
    return [file for file in found if file.parent.name != "mem0migrations"]


def _points(path: Path) -> Iterator[Found]:
    for file in _collections(path):
        for row in rows(file, "SELECT id, point FROM points ORDER BY id"):
            point = vars(_Reader(io.BytesIO(row["point"])).load())
            payload = point.get("payload") or {}
            if payload.get("data"):
                yield _found(str(point["id"]), payload)


def _found(id: str, payload: Mapping[str, Json]) -> Found:
    at = moment(payload.get("created_at"), 0)
    return Found(
        key=id,
        content=str(payload["data"]),
        at=at,
        updated_at=moment(payload.get("updated_at"), at),
        agent=payload.get("agent_id"),
        user=payload.get("user_id"),
        session=payload.get("run_id"),
        metadata={name: value for name, value in payload.items() if name not in _OWN} | {"mem0_id": id},
    )


def _changes(path: Path) -> Iterator[Found]:
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
            )


class _Point:
    """Stands for Qdrant's own class: it only takes what was kept."""

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state["__dict__"])


class _Reader(pickle.Unpickler):
    """Reads points, and refuses whatever else a file might want to bring to life."""

    def find_class(self, module: str, name: str) -> type[_Point]:
        if module.startswith("qdrant_client.") and name in ("PointStruct", "SparseVector"):
            return _Point
        raise _refusal(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> Any:
        raise _refusal("something outside of it")


def _refusal(what: str) -> InvalidRequest:
    return InvalidRequest(f"the Qdrant file asks for {what}, which no memory needs", field="file")
