"""Keys and values of a memorywire that serves."""

import builtins
from collections.abc import Mapping
from typing import Unpack

from msgspec.structs import replace

from memorywire.client.kv import KeyValue, Result, SearchOptions, SetOptions, owner_kind
from memorywire.client.remote.routes import Door, given, nowhere
from memorywire.model.codec import load
from memorywire.model.errors import CapabilityUnsupported, NotFound
from memorywire.model.kv import (
    Deleted,
    Entry,
    Indexing,
    Kept,
    Limits,
    Listing,
    Match,
    Owner,
    Reembedded,
    Searched,
    Setting,
    Stats,
)
from memorywire.model.record import Json
from memorywire.stores.remote.problems import error_of


class RemoteKeyValue(KeyValue):
    """As `KeyValue`, within the server's limits."""

    def __init__(self, door: Door, owner: Owner, *, user: str | None = None) -> None:
        super().__init__(nowhere, owner, Limits(), user=user)
        self._door = door

    @property
    def _of(self) -> tuple[str, str]:
        self._refuse_unsaid()
        return self.owner.kind.value, self.owner.id

    def of(self, kind: str, id: str) -> "RemoteKeyValue":
        return RemoteKeyValue(self._door, replace(self.owner, kind=owner_kind(kind), id=id))

    def area(self, prefix: str, limits: Limits) -> "RemoteKeyValue":
        """The same keys: a server has limits of its own."""
        return self

    async def get(self, key: str) -> Entry | None:
        try:
            return _entry(await self._door.ask("GET", "kv", *self._of, key))
        except NotFound:
            return None

    async def set(self, key: str, value: Json, **options: Unpack[SetOptions]) -> Kept:
        body = {"value": value, **given(options)}
        return _kept(await self._door.ask("PUT", "kv", *self._of, key, body=body))

    async def keep_each(self, settings: builtins.list[Setting]) -> builtins.list[Result]:
        entries = [_document(setting) for setting in settings]
        done = await self._door.ask("POST", "kv", *self._of, body={"entries": entries})
        return [
            error_of(one["problem"]) if "problem" in one else _kept(one["answer"]) for one in done["items"]
        ]

    async def incr(self, key: str, by: float = 1) -> Kept:
        return _kept(await self._door.ask("POST", "kv", *self._of, key, body={"by": by}))

    async def delete(self, key: str) -> Deleted:
        deleted: Deleted = load(Deleted, await self._door.ask("DELETE", "kv", *self._of, key))
        return deleted

    async def touch(self, key: str) -> Entry | None:
        raise CapabilityUnsupported("a server does not prolong entries", fix="set the value again with a ttl")

    async def list(self, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
        found = await self._door.ask("GET", "kv", *self._of, prefix=prefix, limit=limit, after=after)
        entries = tuple(_entry(one) for one in found["entries"])
        return Listing(entries=entries, truncated=found["truncated"], next=found.get("next"))

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> Searched:
        body = {"query": query, **given(options)}
        found = await self._door.ask("POST", "kv-search", *self._of, body=body)
        searched: Searched = load(Searched, {**found, "matches": []})
        return replace(searched, matches=tuple(_match(one) for one in found["matches"]))

    async def stats(self) -> Stats:
        stats: Stats = load(Stats, await self._door.ask("GET", "kv-stats", *self._of))
        return stats

    async def reembed(self) -> Reembedded:
        done: Reembedded = load(Reembedded, await self._door.ask("POST", "kv-reembed", *self._of, body={}))
        return done


def _document(setting: Setting) -> dict[str, Json]:
    options = {
        "ttl": setting.ttl,
        "embed": setting.embed,
        "embed_text": setting.text,
        "source": setting.source,
        "if_version": setting.if_version,
        "index": None if setting.index is Indexing.ALL else setting.index.value,
        "redact": setting.redact or None,
    }
    return {"key": setting.key, "value": setting.value, **given(options)}


def _kept(document: dict[str, Json]) -> Kept:
    kept: Kept = load(Kept, document)
    return kept


def _entry(document: Mapping[str, Json]) -> Entry:
    """The entry with its value exactly as it came."""
    entry: Entry = load(Entry, {**document, "value": None})
    return replace(entry, value=document["value"])


def _match(document: Mapping[str, Json]) -> Match:
    merged = tuple(_entry(one) for one in document.get("merged_from", ()))
    entry = {name: value for name, value in document.items() if name not in ("score", "merged_from")}
    return Match(entry=_entry(entry), score=document["score"], merged_from=merged)
