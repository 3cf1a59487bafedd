"""Memories in mem0, the open source package: `mem0:///folder` with its local Qdrant, `mem0://` in memory.

`?config=FILE` names a JSON file with your own mem0 configuration, whose vector store and language model are
used; the vectors are always ours. mem0 generates the ids of its entries, so the sidecar stores them.
"""

import hashlib
import json
import logging
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memorywire.model.capabilities import Feature
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    ExtractingStore,
    OneThread,
    Place,
    Ref,
    Seen,
    agent_label,
    answered,
    direction,
    locate,
    need,
    user_label,
)
from memorywire_adapters.qdrant import overwrite_what_is_deleted

NAME = "mem0"

_COLLECTION = "memorywire"
# Prefixed, because mem0 uses a dozen plain names itself (`data`, `id`, `created_at`, ...).
_PAYLOAD = "memorywire"
_KEY = "memorywire_key"
_EVERYTHING = 1_000_000
# An address without a server: mem0 builds its model clients even if they are not used.
_NOWHERE = {"openai_base_url": "http://127.0.0.1:9/v1", "api_key": "none"}
_UNSAFE = {
    "faiss": "it looks at the nearest of all users before it looks at whose they are",
    "pgvector": "its index does the same, unless it may go on searching",
}
_ITERATIVE = "hnsw.iterative_scan"
_ITERATIVE_OPTION = f"?options=-c%20{_ITERATIVE}%3Dstrict_order"
# mem0 also keeps texts in SQLite tables, apart from its vectors.
_FORGET_MEMORY = "DELETE FROM history WHERE memory_id = ?"
_FORGET_MESSAGES = "DELETE FROM messages WHERE session_scope = ?"


async def open_store(url: str, *, space: Space) -> ExtractingStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url, options=frozenset({"config"}))
    home = Path(tempfile.gettempdir(), "memorywire-mem0") if place.path is None else place.path / "mem0"
    silence = {"MEM0_TELEMETRY": "False", "MEM0_DIR": os.environ.get("MEM0_DIR", str(home))}
    product = Mem0(need("mem0", store=NAME, extra=NAME, silence=silence), space)
    erases = await answered(product, product.open(configuration(place, space)))
    lacks: frozenset[Feature] = frozenset() if erases else frozenset({Feature.HARD_DELETE})
    books = None if place.path is None else place.path / "memorywire.db"
    return await ExtractingStore.opened(product, space, books=books, lacks=lacks)


def configuration(place: Place, space: Space) -> dict[str, Json]:
    """Return mem0's configuration. Raises InvalidRequest if its vector store loses memories in a scope."""
    own = _read(place.options["config"]) if "config" in place.options else {}
    _refuse_lossy(own.get("vector_store", {}))
    # mem0's history keeps every text it ever stored; memorywire has its own journal.
    return {"vector_store": _local(place, space), "llm": _llm(), "history_db_path": ":memory:", **own}


def _read(path: str) -> dict[str, Json]:
    try:
        own: dict[str, Json] = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"cannot read the mem0 configuration {path}", field="store") from error
    return own


def _refuse_lossy(store: Mapping[str, Json]) -> None:
    provider = store.get("provider")
    if provider in _UNSAFE and _ITERATIVE not in str(store.get("config", {}).get("connection_string", "")):
        raise InvalidRequest(
            f"mem0 over {provider} loses memories: {_UNSAFE[provider]}",
            field="store",
            fix=f"use qdrant, or pgvector with a connection string that ends in {_ITERATIVE_OPTION}",
        )


def _local(place: Place, space: Space) -> dict[str, Json]:
    shape = {"collection_name": _COLLECTION, "embedding_model_dims": space.dimension}
    if place.path is None:
        return {"provider": "qdrant", "config": {**shape, "client": _in_memory()}}
    return {"provider": "qdrant", "config": {**shape, "path": str(place.path / "qdrant"), "on_disk": True}}


def _in_memory() -> Any:
    return need("qdrant_client", store=NAME, extra=NAME).QdrantClient(":memory:")


def _llm() -> dict[str, Json]:
    return {"provider": "openai", "config": {"model": "none", **_NOWHERE}}


class _Dictated:
    """An embedder that returns a vector computed before mem0 was called."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self.vector: bytes | None = None

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return direction(self.vector, self._dimension)

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        return [self.embed(text) for text in texts]


class Mem0:
    """mem0's Memory, used from one dedicated thread."""

    name = NAME

    def __init__(self, module: Any, space: Space) -> None:
        errors = need("mem0.exceptions", store=NAME, extra=NAME)
        self.errors: tuple[type[Exception], ...] = (errors.MemoryError, ValueError, OSError, RuntimeError)
        self._module = module
        self._embedder = _Dictated(space.dimension)
        self._thread = OneThread(NAME)
        self._memory: Any = None

    async def open(self, configuration: Mapping[str, Json]) -> bool:
        """Open mem0; return whether deleted data is also overwritten in its files."""
        return await self._thread.do(lambda: self._open(dict(configuration)))

    def _open(self, configuration: dict[str, Json]) -> bool:
        embedder = {"provider": "openai", "config": {"model": "none", **_NOWHERE}}
        # mem0 logs warnings about its keyword search, which is not used here.
        logging.getLogger(NAME).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._memory = self._module.Memory.from_config({**configuration, "embedder": embedder})
        self._memory.embedding_model = self._embedder
        self._memory.db.connection.execute("PRAGMA secure_delete = ON")
        return overwrite_what_is_deleted(getattr(self._memory.vector_store, "client", None))

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        return await self._thread.do(lambda: [self._keep(entry) for entry in entries])

    def _keep(self, entry: Entry) -> str:
        self._embedder.vector = entry.vector
        entries = self._memory.add(
            [{"role": "user", "content": entry.text}],
            agent_id=agent_label(entry.record.scope),
            user_id=user_label(entry.record.scope),
            metadata={_PAYLOAD: entry.payload, _KEY: entry.key},
            infer=False,
        )
        return str(entries["results"][0]["id"])

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._thread.do(lambda: self._drop(refs))

    def _drop(self, refs: Sequence[Ref]) -> None:
        for handle in [handle for ref in refs for handle in self._handles(ref)]:
            if self._memory.get(handle) is not None:
                self._memory.delete(handle)
            self._unwrite(_FORGET_MEMORY, handle)

    def _handles(self, ref: Ref) -> list[str]:
        """Return the mem0 id from the handle; without a handle, search for entries with the key."""
        if ref.handle is not None:
            return [ref.handle]
        filters = {"agent_id": agent_label(ref.scope), _KEY: ref.key}
        results = self._memory.get_all(filters=filters, top_k=_EVERYTHING, show_expired=True)
        return [str(one["id"]) for one in results["results"]]

    def _unwrite(self, statement: str, value: str) -> None:
        with self._memory.db.connection as history:
            history.execute(statement, (value,))

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        handles = [ref.handle for ref in refs]
        return await self._thread.do(lambda: _build_entries(self._memory.get(handle) for handle in handles))

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        return await self._thread.do(lambda: self._nearest(query, limit))

    def _nearest(self, query: Query, limit: int) -> list[Seen]:
        scope = query.where.scope
        filters = {"agent_id": agent_label(scope)}
        if scope.user is not None:
            filters["user_id"] = user_label(scope)
        self._embedder.vector = query.vector
        # mem0's default threshold would drop hits, and it refuses an empty query.
        said = query.text.strip() or "?"
        results = self._memory.search(said, top_k=limit, filters=filters, threshold=0.0, show_expired=True)
        return _build_entries(results["results"])

    async def extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        return await self._thread.do(lambda: self._extract(scope, messages))

    def _extract(self, scope: Scope, messages: Sequence[Mapping[str, str]]) -> list[str]:
        """Extract facts in a temporary mem0 run and delete it, because the facts are not yet accepted."""
        said = json.dumps([agent_label(scope), user_label(scope), *messages])
        run = f"ingest-{hashlib.blake2b(said.encode(), digest_size=16).hexdigest()}"
        self._embedder.vector = None
        try:
            results = self._memory.add([dict(message) for message in messages], run_id=run)
            return [str(one["memory"]) for one in results["results"]]
        finally:
            entries = self._memory.get_all(filters={"run_id": run}, top_k=_EVERYTHING)["results"]
            for one in entries:
                self._memory.delete(one["id"])
                self._unwrite(_FORGET_MEMORY, one["id"])
            self._unwrite(_FORGET_MESSAGES, f"run_id={run}")

    async def health(self) -> Mapping[str, Json]:
        return {"ok": True, "mem0": str(self._module.__version__)}

    async def close(self) -> None:
        await self._thread.do(self._close)
        self._thread.end()

    def _close(self) -> None:
        self._memory.close()
        client: Any = getattr(self._memory.vector_store, "client", None)
        if hasattr(client, "close"):
            client.close()


def _build_entries(found: Iterable[Mapping[str, Any] | None]) -> list[Seen]:
    """Return the entries of memorywire; others may keep memories in the same collection."""
    ours = [one.get("metadata") or {} for one in found if one is not None]
    return [Seen(key=one[_KEY], payload=one[_PAYLOAD]) for one in ours if _KEY in one]
