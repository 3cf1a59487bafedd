"""The values of the key-value contract: owners, entries, settings and answers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _quoted

from msgspec import Struct, field

from memorywire.model.answers import Redacted, Status
from memorywire.model.codec import write_json
from memorywire.model.ids import VARIANT
from memorywire.model.record import ENTRY_FORM, ENTRY_FORM_AT, Json, Record, Scope
from memorywire.model.requests import Dedup, MinRelevance, RankWeights

MARK = "kv"
"""The metadata key that marks a record as an entry, and names its key."""


AREA = "area"
"""The field in the mark of an entry with its area of keys, if it has one."""


class OwnerKind(StrEnum):
    AGENT = "agent"
    USER = "user"
    TENANT = "tenant"


_KINDS = frozenset(OwnerKind)


class Indexing(StrEnum):
    """What is indexed of an entry: key, value and text; only its text; or nothing."""

    ALL = "all"
    TEXT = "text"
    NONE = "none"


DEDUP_THRESHOLD = 0.93
"""As `memorywire calibrate --lookalikes` fits it to the default embedder; see docs/results."""

LONGEST_TTL = 3_153_600_000
"""Seconds: a hundred years."""

_listed = json.JSONEncoder().encode

SHARED = {OwnerKind.USER: "kv:user", OwnerKind.TENANT: "kv:tenant"}
"""The names of the pseudo-agents with the entries of users and tenants, which belong to no single agent."""


class Owner(Struct, frozen=True, kw_only=True):
    """The owner of keys: an agent, a user across all agents, or the tenant. Owners never share keys."""

    kind: OwnerKind
    id: str
    tenant: str

    @property
    def scope(self) -> Scope:
        """The scope of the records of these entries."""
        agent = SHARED.get(self.kind, self.id)
        user = self.id if self.kind is OwnerKind.USER else None
        return Scope(tenant=self.tenant, agent=agent, user=user)

    def address(self, key: str, generation: int | str = 0) -> str:
        """Return the record id of a key. After an erasure, the key continues in the next generation."""
        nth = "0" if generation == 0 else _listed(generation)
        text = f"{_whose(self.tenant, self.kind.value, self.id)}{_quoted(key)}, {nth}]"
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        variant = VARIANT[digest[16]]
        return (
            f"{digest[:8]}-{digest[8:12]}-{ENTRY_FORM}{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:]}"
        )


@lru_cache(maxsize=1024)
def _whose(tenant: str, kind: str, id: str) -> str:
    """Return the beginning of the JSON list that `address` hashes."""
    return f"{_listed([tenant, kind, id])[:-1]}, "


class Limits(Struct, frozen=True, kw_only=True):
    """Bytes of a value and of all values of an owner, as JSON in UTF-8; the rest are counts."""

    value_bytes: int = 65_536
    quota_bytes: int = 1_048_576
    key_chars: int = 256
    entries_at_once: int = 1_000
    top_k: int = 50


class Setting(Struct, frozen=True, kw_only=True):
    """A value to store under a key.

    `ttl` is in seconds; None, or 0 and below, keeps the present expiry, if there is one. `if_version` is
    the version that must be stored now, 0 for none. `text` is indexed besides key and value, or instead of
    them, as `index` says. With `redact` a secret is replaced by its marker, not refused.
    """

    key: str
    value: Json
    ttl: float | None = None
    embed: bool = False
    text: str | None = None
    source: str | None = None
    if_version: int | None = None
    index: Indexing = Indexing.ALL
    redact: bool = False


class Entry(Struct, frozen=True, kw_only=True):
    """A key and the value that was set, unchanged."""

    key: str
    value: Json
    version: int
    created_at: int
    updated_at: int
    id: str
    expires_at: int | None = None
    embedded: bool = False


class Kept(Struct, frozen=True, kw_only=True):
    """The receipt of a set. A `staged` value is stored once a person approves it; `value` is the result of
    an incr; `redacted` names the secrets that were replaced by markers."""

    key: str
    id: str
    version: int
    status: Status
    embedded: bool
    embed_warning: str | None = None
    expires_at: int | None = None
    change_id: str | None = None
    proposal_id: str | None = None
    value: float | None = None
    redacted: tuple[Redacted, ...] | None = None


class Deleted(Struct, frozen=True, kw_only=True):
    """The receipt of a delete; `existed` says whether there was anything to delete."""

    key: str
    existed: bool
    status: Status | None = None
    proposal_id: str | None = None


class Listing(Struct, frozen=True, kw_only=True):
    """A page of entries in the order of their keys; `next` is the `after` of the next page."""

    entries: tuple[Entry, ...]
    truncated: bool
    next: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


class Search(Struct, frozen=True, kw_only=True):
    """A search among the entries of an owner. Without `rank` only the vector counts."""

    query: str
    prefix: str = ""
    top_k: int = 10
    rank: RankWeights | None = None
    dedup: Dedup | None = None
    min_relevance: MinRelevance = "off"


class Match(Struct, frozen=True, kw_only=True):
    """A found entry, its score, and its duplicates."""

    entry: Entry
    score: float
    merged_from: tuple[Entry, ...] = ()


class Searched(Struct, frozen=True, kw_only=True):
    """Matches, best first. `dimension` is that of the query's vector; `repeats` counts the entries that
    duplicate a better one, even if they were removed."""

    matches: tuple[Match, ...]
    dimension: int
    truncated: bool
    repeats: int = 0
    degraded: tuple[str, ...] = ()
    recall_id: str | None = None

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)


class ModelStats(Struct, frozen=True, kw_only=True):
    """How many entries have a vector of this model."""

    provider: str
    model: str
    dimension: int
    entries: int


class Stats(Struct, frozen=True, kw_only=True):
    entries: int
    value_bytes: int
    quota_bytes: int
    embedding_bytes: int
    models: tuple[ModelStats, ...] = ()


class Reembedded(Struct, frozen=True, kw_only=True):
    """The number of entries that got a vector, and those that did not."""

    entries: int
    failed: Mapping[str, str] = field(default_factory=dict)


def size_of(value: Json) -> int:
    """Return the number of bytes of a value as compact JSON in UTF-8."""
    return len(write_json(value).encode())


def is_entry(record: Record) -> bool:
    """Whether a record is a key-value entry: it has the mark, and an id of the form that only entries have.

    The mark alone does not prove it, because an imported file can contain one.
    """
    return is_mark(record.metadata.get(MARK)) and record.id[ENTRY_FORM_AT : ENTRY_FORM_AT + 1] == ENTRY_FORM


def is_mark(mark: Json) -> bool:
    """Whether this is the mark of an entry; users may store other metadata under that name."""
    return (
        (type(mark) is dict or isinstance(mark, Mapping))  # the first check is the faster one
        and isinstance(mark.get("of"), str)
        and mark["of"] in _KINDS
        and isinstance(mark.get("key"), str)
        and type(mark.get("bytes")) is int
        and isinstance(mark.get("embedded"), bool)
    )


def saying(record: Record) -> str | None:
    """Return the digest that identifies a repeated memory; None for an entry, which its key identifies.

    A memory with the same content as an entry is not its duplicate: it must stay when the key is deleted.
    """
    return None if MARK in record.metadata and is_entry(record) else record.digest


def entry_of(record: Record) -> Entry:
    """Return the entry of a record; if a person edited a held entry to plain text, that is its value."""
    mark = record.metadata[MARK]
    key = mark["key"]
    content = record.content
    return Entry(
        key=key,
        value=content[key] if isinstance(content, Mapping) and key in content else content,
        version=record.version,
        created_at=record.created_at,
        updated_at=record.updated_at,
        id=record.id,
        expires_at=record.expires_at,
        embedded=mark["embedded"],
    )
