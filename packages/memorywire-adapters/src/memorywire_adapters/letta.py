"""Memories as passages in the archives of a Letta server: `letta://HOST:PORT/folder`.

Each user of an agent has a separate archive, because Letta takes the nearest passages of an archive before it
filters by tags. The folder holds the sidecar, which without a folder lasts as long as the process. `?tls=1`
uses HTTPS; LETTA_API_KEY holds the server's key. Letta embeds the text itself, with its model
`?embedding=HANDLE`, or through `?endpoint=URL&model=NAME&dimension=N`.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Query
from memorywire.model.record import Json, Scope
from memorywire.model.space import Space
from memorywire_adapters.products import (
    Entry,
    Place,
    Ref,
    Seen,
    VendorStore,
    agent_label,
    locate,
    need,
    user_label,
)

NAME = "letta"

_OPTIONS = frozenset({"tls", "embedding", "endpoint", "model", "dimension"})
_PAYLOAD = "memorywire"
_KEY = "memorywire_key"
_AT_ONCE = 50
_MOST = 100  # the most passages in one response of Letta
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000


async def open_store(url: str, *, space: Space) -> VendorStore:
    """Open the store on this server. It keeps vectors of `space` in addition to those that Letta makes."""
    place = locate(url, options=_OPTIONS)
    if not place.host:
        raise InvalidRequest(
            "the URL does not name a server", field="store", fix="write letta://HOST:8283/folder"
        )
    if place.path is not None:
        place.path.mkdir(parents=True, exist_ok=True)
    # In a thread, because importing the client takes a second.
    module = await asyncio.to_thread(need, "letta_client", store=NAME, extra=NAME)
    books = None if place.path is None else place.path / "memorywire.db"
    return await VendorStore.opened(Letta(module, place), space, books=books)


class Letta:
    """Uses Letta's client. Letta cannot fetch a passage by id, so a handle has the id and the date."""

    name = NAME

    def __init__(self, module: Any, place: Place) -> None:
        scheme = "https" if place.options.get("tls") == "1" else "http"
        # No retries: a passage created twice would have two ids.
        self._client = module.AsyncLetta(base_url=f"{scheme}://{place.host}", max_retries=0)
        self._missing = module.NotFoundError
        self.errors: tuple[type[Exception], ...] = (module.APIError,)
        self._embedding = _build_embedding_config(place.options)
        self._archives: dict[str, str] = {}

    async def keep(self, entries: Sequence[Entry]) -> Sequence[str]:
        handles: dict[str, str] = {}
        in_order = sorted(entries, key=lambda entry: _archive_name(entry.record.scope))
        for name, some in groupby(in_order, key=lambda entry: _archive_name(entry.record.scope)):
            archive, mine = await self._archive(name), list(some)
            for start in range(0, len(mine), _AT_ONCE):
                passages = [_passage(entry) for entry in mine[start : start + _AT_ONCE]]
                stored = await self._client.archives.passages.create_many(archive, passages=passages)
                handles |= {one.metadata[_KEY]: _handle(one) for one in stored}
        return [handles[entry.key] for entry in entries]

    async def _archive(self, name: str) -> str:
        """Return the id of the archive with this name, creating it if it does not exist."""
        if name not in self._archives:
            id = await self._find_archive(name)
            if id is None:
                id = (await self._client.archives.create(name=name, **self._embedding)).id
            self._archives[name] = id
        return self._archives[name]

    async def _find_archive(self, name: str) -> str | None:
        if name not in self._archives:
            async for archive in self._client.archives.list(name=name):
                self._archives[name] = archive.id
        return self._archives.get(name)

    async def drop(self, refs: Sequence[Ref]) -> None:
        for ref in refs:
            archive = await self._find_archive(_archive_name(ref.scope))
            if archive is not None:
                for id in await self._ids(archive, ref):
                    with suppress(self._missing):
                        await self._client.archives.passages.delete(id, archive_id=archive)

    async def _ids(self, archive: str, ref: Ref) -> list[str]:
        """Return the Letta id from the handle; without a handle, search for passages with the key."""
        if ref.handle is not None:
            return [ref.handle.partition("@")[0]]
        return [one.id async for one in self._since(archive, _EPOCH) if one.metadata.get(_KEY) == ref.key]

    async def _since(self, archive: str, moment: datetime) -> AsyncIterator[Any]:
        """Yield the passages dated at this moment or later, oldest first."""
        last: set[str] = set()
        while results := await self._page(archive, moment):
            for one in results:
                if one.id not in last:
                    yield one
            if len(results) < _MOST or results[-1].created_at == moment:
                return
            # The next page repeats the last moment, because some of its passages may not have fitted.
            moment = results[-1].created_at
            last = {one.id for one in results if one.created_at == moment}

    async def _page(self, archive: str, moment: datetime) -> list[Any]:
        results = await self._client.passages.search(
            archive_id=archive, start_date=moment.isoformat(), limit=_MOST
        )
        return [one.passage for one in results]

    async def fetch(self, refs: Sequence[Ref]) -> Sequence[Seen]:
        in_order = sorted(refs, key=lambda ref: _archive_name(ref.scope))
        results: list[Seen] = []
        for name, some in groupby(in_order, key=lambda ref: _archive_name(ref.scope)):
            archive = await self._find_archive(name)
            if archive is not None:
                results += await self._fetch(archive, [ref for ref in some if ref.handle is not None])
        return results

    async def _fetch(self, archive: str, refs: Sequence[Ref]) -> list[Seen]:
        """Fetch pages, each from the date of a passage still missing; a page may contain several of them."""
        request = {ref.key: _parse_date(str(ref.handle)) for ref in refs}
        results: dict[str, Seen] = {}
        for key, moment in sorted(request.items(), key=lambda item: item[1]):
            if key not in results:
                page = await self._page(archive, moment)
                results |= {seen.key: seen for seen in _build_entries(page) if seen.key in request}
        return list(results.values())

    async def nearest(self, query: Query, limit: int) -> Sequence[Seen]:
        if not query.text.strip():
            return []  # without text Letta has nothing to embed
        results: list[Seen] = []
        for archive in await self._archives_of(query.where.scope):
            hits = await self._client.passages.search(
                archive_id=archive, query=query.text, limit=min(limit, _MOST)
            )
            results += _build_entries([hit.passage for hit in hits])
        return results

    async def _archives_of(self, scope: Scope) -> list[str]:
        """Return the archive of the user, or those of all users of the agent."""
        if scope.user is not None:
            known = await self._find_archive(_archive_name(scope))
            return [] if known is None else [known]
        mine = f"{agent_label(scope)}."
        return [archive.id async for archive in self._client.archives.list() if archive.name.startswith(mine)]

    async def health(self) -> Mapping[str, Json]:
        said = await self._client.health()
        return {"ok": said.status == "ok", "letta": said.version}

    async def close(self) -> None:
        await self._client.close()


def _build_embedding_config(options: Mapping[str, str]) -> dict[str, Json]:
    """Return the embedding options for a new archive; empty for the server's default."""
    if "endpoint" in options:
        return {
            "embedding_config": {
                "embedding_endpoint_type": "openai",
                "embedding_endpoint": options["endpoint"],
                "embedding_model": options.get("model", "text-embedding-3-small"),
                "embedding_dim": int(options.get("dimension", "1536")),
                "embedding_chunk_size": 300,
            }
        }
    return {"embedding": options["embedding"]} if "embedding" in options else {}


def _archive_name(scope: Scope) -> str:
    return f"{agent_label(scope)}.{user_label(scope)}"


def _passage(entry: Entry) -> dict[str, Json]:
    record = entry.record
    return {
        "text": entry.text,
        "metadata": {_KEY: entry.key, _PAYLOAD: entry.payload},
        "tags": [record.type.value, *record.tags],
        "created_at": _stamp(entry).isoformat(),
    }


def _stamp(entry: Entry) -> datetime:
    """Return the creation time plus up to a second by key: Letta returns at most 100 of one moment."""
    spread = int.from_bytes(hashlib.blake2b(entry.key.encode(), digest_size=8).digest()) % _SECOND
    try:
        return _EPOCH + timedelta(milliseconds=entry.record.created_at, microseconds=spread)
    except OverflowError:
        return _EPOCH + timedelta(microseconds=spread)


def _handle(passage: Any) -> str:
    return f"{passage.id}@{passage.created_at.isoformat()}"


def _parse_date(handle: str) -> datetime:
    return datetime.fromisoformat(handle.partition("@")[2])


def _build_entries(passages: Sequence[Any]) -> list[Seen]:
    """Return the entries of memorywire; others may keep passages in the same archive."""
    ours = [one.metadata or {} for one in passages]
    return [Seen(key=one[_KEY], payload=one[_PAYLOAD]) for one in ours if _KEY in one]
