"""Memories in a LangGraph store: `langgraph://` in memory, or the PostgresStore that your graphs use.

`langgraph:///sidecar.db?postgres=DSN`, the DSN percent-encoded, stores entries in that database and the rest
in the file. Entries are in the namespace `memorywire`, by agent and user, under keys that memorywire makes.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    OneThread,
    Place,
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

NAME = "langgraph"

_ROOT = "memorywire"
_TEXT, _PAYLOAD = "text", "memorywire"
_SILENCE = {"LANGCHAIN_TRACING_V2": "false", "LANGSMITH_TRACING": "false"}

_need = partial(need, store=NAME, extra=NAME, silence=_SILENCE)


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store at this URL. Its vectors belong to `space`."""
    place = locate(url, options=frozenset({"postgres"}))
    if (place.path is None) != ("postgres" not in place.options):
        raise InvalidRequest(
            "the sidecar file and the database must be given together",
            field="store",
            fix="write langgraph:///sidecar.db?postgres=DSN, or langgraph:// for one in memory",
        )
    product = LangGraph(space)
    await answered(product, product.open(place))
    return await VendorStore.opened(product, space, books=place.path)


class LangGraph:
    """A LangGraph BaseStore, used from one dedicated thread; it indexes our vectors."""

    name = NAME

    def __init__(self, space: Space) -> None:
        _need("langgraph.store.base")
        self.errors: tuple[type[Exception], ...] = (ValueError, OSError)
        self._dimension = space.dimension
        self._vector: bytes | None = None
        self._thread = OneThread(NAME)
        self._connection: Any = None
        self._store: Any = None

    async def open(self, place: Place) -> None:
        await self._thread.do(lambda: self._open(place.options.get("postgres")))

    def _open(self, dsn: str | None) -> None:
        # Flat, because the approximate index finds the nearest of all agents before it filters by namespace.
        flat = {"ann_index_config": {"kind": "flat"}}
        index = {"dims": self._dimension, "embed": self._embed, "fields": [_TEXT], **flat}
        if dsn is None:
            self._store = _need("langgraph.store.memory").InMemoryStore(index=index)
            return
        psycopg = _need("psycopg")
        self.errors = (*self.errors, psycopg.Error)
        rows = _need("psycopg.rows")
        self._connection = psycopg.connect(
            dsn, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row
        )
        self._store = _need("langgraph.store.postgres").PostgresStore(self._connection, index=index)
        self._store.setup()

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector computed before the store was called, whatever the text."""
        return [direction(self._vector, self._dimension) for _ in texts]

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        return await self._thread.do(lambda: [self._keep(entry) for entry in entries])

    def _keep(self, entry: Entry) -> str:
        self._vector = entry.vector
        value = {_TEXT: entry.text, _PAYLOAD: entry.payload}
        self._store.put(_namespace(entry.record.scope), entry.key, value)
        return entry.key

    async def drop(self, refs: Sequence[Ref]) -> None:
        await self._thread.do(lambda: [self._store.delete(_namespace(ref.scope), ref.key) for ref in refs])

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        return await self._thread.do(
            lambda: _build_entries(self._store.get(_namespace(ref.scope), ref.key) for ref in refs)
        )

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        return await self._thread.do(lambda: self._nearest(query, limit))

    def _nearest(self, query: Query, limit: int) -> list[Seen]:
        scope = query.where.scope
        within = _namespace(scope) if scope.user is not None else _namespace(scope)[:-1]
        self._vector = query.vector
        # With an empty query the store would list entries instead of ranking them.
        return _build_entries(self._store.search(within, query=query.text.strip() or "?", limit=limit))

    async def health(self) -> Mapping[str, Json]:
        await self._thread.do(lambda: self._store.list_namespaces(prefix=(_ROOT,), limit=1))
        return {"ok": True, "store": type(self._store).__name__}

    async def close(self) -> None:
        if self._connection is not None:
            await self._thread.do(self._connection.close)
        self._thread.end()


def _namespace(scope: Scope) -> tuple[str, ...]:
    """Return the namespace, made of labels: a namespace allows no dot, empty part or reserved word."""
    return (_ROOT, agent_label(scope), user_label(scope))


def _build_entries(items: Iterable[Any]) -> list[Seen]:
    return [Seen(key=item.key, payload=item.value[_PAYLOAD]) for item in items if item is not None]
