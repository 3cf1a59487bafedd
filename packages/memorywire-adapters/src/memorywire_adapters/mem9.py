"""Memories in a Mem9 server, over its HTTP API: `mem9://HOST:PORT/folder?preview=1`.

A preview: written from the server's published source, and not examined against a running one. Every user of
an agent is an agent of its own there, because Mem9 drops the session when it searches. The folder holds the
books; without one they end with the process. `&tls=1` speaks HTTPS; the key is in MEM9_API_KEY.
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
_PINNED = "pinned"  # kept to the letter and at once; everything else is rewritten by a language model
_MOST = 200
_PATIENCE = 30.0
_MOST_BYTES = 64 * 1024 * 1024
# What is deleted there is marked, and stays in the database.
_LACKS = frozenset({Feature.HARD_DELETE})


async def open_store(url: str, *, space: Space) -> VendorStore:
    """The store on this server; vectors of `space` lie beside the ones Mem9 makes."""
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
    """Pinned memories, by the ids Mem9 gives them."""

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
        """By its key if its Mem9 id is unknown."""
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
            return []  # of all the users of an agent, only the books know
        results = await self._list(scope, 0, q=query.text, limit=str(min(limit, _MOST)))
        return list(_build_entries(results))

    async def health(self) -> Mapping[str, Json]:
        await self._ask("GET", "?limit=1")
        return {"ok": True}

    async def close(self) -> None:
        """No connection is kept."""

    async def _ask(self, method: str, path: str, *, document: Json = None) -> Json:
        return await asyncio.to_thread(self._exchange, method, path, document)

    def _exchange(self, method: str, path: str, document: Json) -> Json:
        """The answer as JSON, empty for what is not there."""
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
        "content": entry.text.strip() or "-",  # it refuses nothing but white space
        "memory_type": _PINNED,
        "agent_id": _agent(entry.record.scope),
        "tags": [entry.record.type.value, *entry.record.tags],
        "metadata": {_KEY: entry.key, _PAYLOAD: entry.payload},
    }


def _build_entries(memories: Sequence[Mapping[str, Json]]) -> Iterator[Seen]:
    """What is ours of these: others may keep memories in the same place. Its content may be rewritten."""
    for one in memories:
        metadata = one.get("metadata") or {}
        if _KEY in metadata:
            yield Seen(key=metadata[_KEY], payload=metadata[_PAYLOAD])
