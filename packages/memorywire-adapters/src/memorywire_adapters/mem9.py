"""Memories in a Mem9 server, over its HTTP API: `mem9://HOST:PORT/folder?preview=1`.

A preview: written from the server's published source, not tested against a running server. Each user of an
agent is a separate agent in Mem9, because Mem9 ignores the session in searches. The folder holds the sidecar,
which without a folder lasts as long as the process. `&tls=1` uses HTTPS; MEM9_API_KEY holds the key.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from urllib.parse import urlencode

from memorywire.model.capabilities import Feature
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire.runtime import http
from memorywire_adapters.products import (
    PREVIEW,
    Entry,
    Place,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    locate,
    refuse_unless_asked_for,
    user_label,
)

NAME = "mem9"

_MEMORIES = "/v1alpha2/mem9s/memories"
_PAYLOAD = "memorywire"
_KEY = "memorywire_key"
_PINNED = "pinned"  # stored at once and unchanged; a language model rewrites all other types
_MOST = 200
_PATIENCE = 30.0
_MOST_BYTES = 64 * 1024 * 1024
# The server only marks deleted data; it stays in its database.
_LACKS = frozenset({Feature.HARD_DELETE})


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store on this server. It keeps vectors of `space` in addition to those that Mem9 makes."""
    place = locate(url, options=frozenset({PREVIEW, "tls"}))
    refuse_unless_asked_for(place, NAME)
    if not place.host:
        raise InvalidRequest(
            "the URL does not name a server", field="store", fix="write mem9://HOST:PORT/folder"
        )
    if place.path is not None:
        place.path.mkdir(parents=True, exist_ok=True)
    books = None if place.path is None else place.path / "memorywire.db"
    return await VendorStore.opened(Mem9(place), space, books=books, lacks=_LACKS)


class Mem9:
    """Stores entries as pinned memories, under the ids that Mem9 generates."""

    name = NAME
    errors: tuple[type[Exception], ...] = (http.HttpError, ValueError, KeyError)

    def __init__(self, place: Place) -> None:
        scheme = "https" if place.options.get("tls") == "1" else "http"
        self._origin = f"{scheme}://{place.host}"

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        stored = [await self._ask("POST", "", document=_document(entry)) for entry in entries]
        return [str(one["id"]) for one in stored]

    async def drop(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            for id in [ref.handle] if ref.handle is not None else await self._ids(ref):
                await self._ask("DELETE", f"/{id}")

    async def _ids(self, ref: Ref) -> list[str]:
        """Return the ids of all memories in Mem9 that have the key of `ref`."""
        results: list[str] = []
        page, offset = await self._list(ref.scope, 0), 0
        while page:
            results += [str(one["id"]) for one in page if (one.get("metadata") or {}).get(_KEY) == ref.key]
            offset += len(page)
            page = await self._list(ref.scope, offset)
        return results

    async def _list(self, scope: Scope, offset: int, **asked: str) -> list[Mapping[str, Json]]:
        query = {"agent_id": _agent(scope), "memory_type": _PINNED, "limit": str(_MOST), **asked}
        if offset:
            query["offset"] = str(offset)
        answer = await self._ask("GET", f"?{urlencode(query)}")
        memories: list[Mapping[str, Json]] = answer["memories"]
        return memories

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        results = [await self._ask("GET", f"/{ref.handle}") for ref in refs if ref.handle is not None]
        return list(_build_entries(results))

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        scope = query.where.scope
        if scope.user is None or not query.text.strip():
            return []  # the caller then reads all entries in the sidecar
        results = await self._list(scope, 0, q=query.text, limit=str(min(limit, _MOST)))
        return list(_build_entries(results))

    async def health(self) -> Mapping[str, Json]:
        await self._ask("GET", "?limit=1")
        return {"ok": True}

    async def close(self) -> None:
        """Do nothing: there is no open connection."""

    async def _ask(self, method: str, path: str, *, document: Json = None) -> Json:
        return await asyncio.to_thread(self._exchange, method, path, document)

    def _exchange(self, method: str, path: str, document: Json) -> Json:
        """Send a request and return the response as JSON; an empty object for status 404."""
        headers = {"Content-Type": "application/json", "X-API-Key": os.environ.get("MEM9_API_KEY", "")}
        body = None if document is None else json.dumps(document).encode()
        url = f"{self._origin}{_MEMORIES}{path}"
        response = http.request(method, url, body, headers, timeout=_PATIENCE, max_bytes=_MOST_BYTES)
        if response.status == HTTPStatus.NOT_FOUND:
            return {}
        if not response.is_ok:
            raise http.HttpError(f"Mem9 answered with status {response.status}")
        return json.loads(response.body or b"{}")


def _agent(scope: Scope) -> str:
    return f"{agent_label(scope)}__{user_label(scope)}"


def _document(entry: Entry) -> dict[str, Json]:
    return {
        "content": entry.text.strip() or "-",  # Mem9 refuses content of only white space
        "memory_type": _PINNED,
        "agent_id": _agent(entry.record.scope),
        "tags": [entry.record.type.value, *entry.record.tags],
        "metadata": {_KEY: entry.key, _PAYLOAD: entry.payload},
    }


def _build_entries(memories: Sequence[Mapping[str, Json]]) -> Iterator[Seen]:
    """Yield the entries of memorywire; others may keep memories in the same place."""
    for one in memories:
        metadata = one.get("metadata") or {}
        if _KEY in metadata:
            yield Seen(key=metadata[_KEY], payload=metadata[_PAYLOAD])
