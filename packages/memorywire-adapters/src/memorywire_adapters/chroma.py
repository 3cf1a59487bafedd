"""Memories in Chroma: `chroma:///folder`, or `chroma://` in memory.

One collection holds the entries of all agents; searches filter by agent and user. memorywire supplies the
vectors, so Chroma's own embedder, which would be downloaded, is never used. Chroma writes process memory,
including text, into its index files, so a folder does not support a hard delete.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memorywire.model.capabilities import Feature
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    OneThread,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    answered,
    direction,
    locate,
    need,
    user_label,
)

NAME = "chroma"

_COLLECTION = "memorywire"
_PAYLOAD = "memorywire"
_SILENCE = {"ANONYMIZED_TELEMETRY": "False", "CHROMA_OTEL_COLLECTION_ENDPOINT": ""}


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store at this URL, creating it if it does not exist. Its vectors belong to `space`."""
    place = locate(url)
    product = Chroma(need("chromadb", store=NAME, extra=NAME, silence=_SILENCE), space)
    await answered(product, product.open(None if place.path is None else place.path / "chroma"))
    books = None if place.path is None else place.path / "memorywire.db"
    lacks: frozenset[Feature] = frozenset() if books is None else frozenset({Feature.HARD_DELETE})
    return await VendorStore.opened(product, space, books=books, lacks=lacks)


class Chroma:
    """A Chroma collection, used from one dedicated thread."""

    name = NAME

    def __init__(self, module: Any, space: Space) -> None:
        errors = need("chromadb.errors", store=NAME, extra=NAME)
        self.errors: tuple[type[Exception], ...] = (
            errors.ChromaError,
            ValueError,
            OSError,
            RuntimeError,
        )
        self._module = module
        self._dimension = space.dimension
        self._thread = OneThread(NAME)
        self._client: Any = None
        self._entries: Any = None

    async def open(self, folder: Path | None) -> None:
        await self._thread.do(lambda: self._open(folder))

    def _open(self, folder: Path | None) -> None:
        settings = self._module.Settings(anonymized_telemetry=False)
        if folder is None:
            self._client = self._module.EphemeralClient(settings=settings)
        else:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._client = self._module.PersistentClient(path=str(folder), settings=settings)
        self._entries = self._client.get_or_create_collection(
            _COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        await self._thread.do(lambda: self._keep(entries))
        return [entry.key for entry in entries]

    def _keep(self, entries: Sequence[Entry]) -> None:
        # `add` silently ignores existing ids.
        self._entries.upsert(
            ids=[entry.key for entry in entries],
            embeddings=[direction(entry.vector, self._dimension) for entry in entries],
            metadatas=[_metadata(entry) for entry in entries],
        )

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._thread.do(lambda: self._entries.delete(ids=[ref.key for ref in refs]))

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        keys = [ref.key for ref in refs]
        results = await self._thread.do(lambda: self._entries.get(ids=keys, include=["metadatas"]))
        return _build_entries(results["ids"], results["metadatas"])

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        results = await self._thread.do(
            lambda: self._entries.query(
                query_embeddings=[direction(query.vector, self._dimension)],
                n_results=limit,
                where=_within(query.where.scope),
                include=["metadatas"],
            )
        )
        return _build_entries(results["ids"][0], results["metadatas"][0])

    async def health(self) -> Mapping[str, Json]:
        await self._thread.do(lambda: self._client.heartbeat())
        return {"ok": True, "chromadb": str(self._module.__version__)}

    async def close(self) -> None:
        await self._thread.do(lambda: self._client.close())
        self._thread.end()


def _metadata(entry: Entry) -> dict[str, str]:
    """Return the metadata with the record as one string: Chroma's values allow neither null nor objects."""
    scope = entry.record.scope
    return {"agent": agent_label(scope), "user": user_label(scope), _PAYLOAD: entry.payload}


def _within(scope: Scope) -> dict[str, Json]:
    agent = {"agent": agent_label(scope)}
    return agent if scope.user is None else {"$and": [agent, {"user": user_label(scope)}]}


def _build_entries(keys: Sequence[str], metadatas: Sequence[Mapping[str, Json]]) -> list[Seen]:
    pairs = zip(keys, metadatas, strict=True)
    return [Seen(key=key, payload=str(metadata[_PAYLOAD])) for key, metadata in pairs]
