"""Keys and values in Python: `get` returns exactly what `set` stored, or `set` refuses."""

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from math import inf
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.client.arguments import checks_arguments
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.kv import (
    DEDUP_THRESHOLD,
    LONGEST_TTL,
    Deleted,
    Entry,
    Indexing,
    Kept,
    Limits,
    Listing,
    Owner,
    OwnerKind,
    Reembedded,
    Search,
    Searched,
    Setting,
    Stats,
)
from memorywire.model.record import Json
from memorywire.model.requests import Dedup, DedupMode, MinRelevance, RankWeights
from memorywire.pipeline import kv
from memorywire.wire import strict, validate
from memorywire.wire.codec import encode

E = TypeVar("E", bound=StrEnum)
Result: TypeAlias = Kept | MemorywireError

_PAGE_MOST = 1_000
_AS_IN_A_RECALL = ("rank", "dedup", "min_relevance")


class SetOptions(TypedDict, total=False):
    """`ttl` is in seconds. `embed_text` is an additional text by which an embedded entry is found.

    `index` says what a search and a recall look at: `all` of the entry, only the `text` in `embed_text`, or
    `none`. By default that is all of an entry with `embed` or `embed_text`, and nothing of any other. With
    `redact` a secret is replaced by a marker instead of refused.
    """

    ttl: float | None
    embed: bool
    embed_text: str | None
    source: str | None
    if_version: int | None
    index: str
    redact: bool


class SearchOptions(TypedDict, total=False):
    """`rank` weighs `semantic`, `recency` (with `half_life_days`), `source` and `frequency`; `dedup` has a
    `mode`, `drop`, `merge` or `keep`, and a `threshold`.
    """

    prefix: str
    top_k: int
    rank: Mapping[str, float] | None
    dedup: Mapping[str, Any] | None
    min_relevance: MinRelevance


class KeyValue:
    """The entries of one owner; `of` returns those of another.

    A value with a secret is refused unless `redact` is set. The policy judges every set and delete, and the
    ledger records it. A set that waits for a person has the status `staged`; the old value stays until then.
    """

    def __init__(
        self,
        container: Callable[[], Awaitable[Container]],
        owner: Owner,
        limits: Limits,
        *,
        user: str | None = None,
        area: str = "",
    ) -> None:
        """`user` is the user of the memory; with one, every call needs `of` first."""
        self.area_prefix = area
        self.owner = owner
        self.user = user
        self.limits = limits
        self._container = container
        self._scope = owner.scope
        self._last: kv.Keys | None = None

    @checks_arguments
    def of(self, kind: str, id: str) -> "KeyValue":
        """Return the entries of an `agent`, of a `user` (for all agents), or of the `tenant`."""
        return KeyValue(self._container, replace(self.owner, kind=owner_kind(kind), id=id), self.limits)

    @checks_arguments
    def area(self, prefix: str, limits: Limits) -> "KeyValue":
        """Return the keys that begin with `prefix`, with their own limits and quota."""
        return KeyValue(self._container, self.owner, limits, user=self.user, area=prefix)

    @checks_arguments
    async def get(self, key: str) -> Entry | None:
        """Return the entry, or None if it does not exist or has expired."""
        _check_key(key)
        return await kv.entry(await self._keys(), key)

    @checks_arguments
    async def set(self, key: str, value: Json, **options: Unpack[SetOptions]) -> Kept:
        """Store the value under the key, as a new version of the entry.

        Options: `ttl` (seconds), `embed`, `embed_text`, `index`, `source`, `redact`, `if_version`.
        """
        return await kv.keep(await self._keys(), setting(key, value, **options))

    @checks_arguments
    async def set_many(self, values: Mapping[str, Json], **options: Unpack[SetOptions]) -> list[Result]:
        """Store many values and return a receipt or an error for each."""
        entries: list[Setting | MemorywireError] = []
        for key, value in values.items():
            try:
                entries.append(setting(key, value, **options))
            except MemorywireError as problem:
                entries.append(problem)
        settings = [one for one in entries if isinstance(one, Setting)]
        receipts = iter(await self.keep_each(settings) if settings else ())
        return [next(receipts) if isinstance(one, Setting) else one for one in entries]

    @checks_arguments
    async def keep_each(self, settings: "list[Setting]") -> list[Result]:
        """As `set_many`, with options for each entry."""
        return await kv.keep_each(await self._keys(), settings)

    @checks_arguments
    async def incr(self, key: str, by: float = 1) -> Kept:
        """Add to the number under the key; the `value` of the receipt is the sum."""
        _check_key(key)
        return await kv.add(await self._keys(), key, by)

    @checks_arguments
    async def delete(self, key: str) -> Deleted:
        """Delete the entry. It stays in the history until it is erased."""
        _check_key(key)
        return await kv.delete(await self._keys(), key)

    @checks_arguments
    async def touch(self, key: str) -> Entry | None:
        """Restart the time to live of an entry and return it, or None if it does not exist."""
        _check_key(key)
        return await kv.touch(await self._keys(), key)

    @checks_arguments
    async def list(self, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
        """Return a page of entries, ordered by key."""
        if not 0 < limit <= _PAGE_MOST:
            raise InvalidRequest(f"limit must be 1 to {_PAGE_MOST}", field="limit")
        return await kv.entries(await self._keys(), prefix, limit=limit, after=after)

    @checks_arguments
    async def search(self, query: str, **options: Unpack[SearchOptions]) -> Searched:
        """Return the entries nearest to the query, best first.

        Options: `prefix`, `top_k`, `rank`, `dedup`, `min_relevance`.
        """
        return await kv.search(await self._keys(), wanted(query, **options))

    async def stats(self) -> Stats:
        """Return the number and size of the entries, and the models of their vectors."""
        return await kv.stats(await self._keys())

    async def reembed(self) -> Reembedded:
        """Compute the vectors of entries that have none."""
        return await kv.reembed(await self._keys())

    def _refuse_unsaid(self) -> None:
        """Raise InvalidRequest for a memory with a user: the caller may expect the keys of that user."""
        if self.user is not None:
            raise InvalidRequest(
                "this is the memory of one user, and the keys of an agent are of no user: they would"
                " not be kept apart, nor erased with the user",
                field="user_id",
                fix=f"kv.of('user', {self.user!r}) has the keys of that user, whichever agent asks;"
                f" kv.of('agent', {self.owner.id!r}) those of the agent; or open it without a user",
            )

    async def _keys(self) -> kv.Keys:
        self._refuse_unsaid()
        container = await self._container()
        context = await container.context.serving(self._scope)
        last = self._last
        if last is None or last.context is not context or last.usage is not container.usage:
            last = kv.Keys(
                owner=self.owner,
                context=context,
                limits=self.limits,
                usage=container.usage,
                area=self.area_prefix,
            )
            self._last = last
        return last


def owner_kind(name: str) -> OwnerKind:
    return _choose(OwnerKind, name, "scope", "there is no such scope")


def _choose(kinds: type[E], name: str, field: str, message: str) -> E:
    try:
        return kinds(name)
    except ValueError:
        raise InvalidRequest(message, field=field, fix=f"one of: {', '.join(kinds)}") from None


def setting(key: str, value: Json, **options: Unpack[SetOptions]) -> Setting:
    """Build the setting; raises InvalidRequest if JSON cannot represent the value."""
    strict.check([key, value, options.get("embed_text"), options.get("source")])
    _check_key(key)
    ttl = options.get("ttl")
    if ttl is not None and not (isinstance(ttl, int | float) and -inf < ttl <= LONGEST_TTL):
        raise InvalidRequest(
            f"ttl must be a number of seconds up to {LONGEST_TTL}",
            field="ttl",
            fix="leave it out to keep the value",
        )
    rest: dict[str, Any] = dict(options)
    text = rest.pop("embed_text", None)
    name = rest.pop("index", Indexing.ALL if rest.get("embed") or text else Indexing.NONE)
    index = _choose(Indexing, name, "index", f"unknown index {name!r}")
    if index is Indexing.TEXT and not text:
        raise InvalidRequest("index=text needs an embed_text", field="embed_text", fix="use index=none")
    if index is Indexing.NONE and rest.get("embed"):
        raise InvalidRequest("embed and index=none cannot be combined", field="index")
    return Setting(key=key, value=value, text=text, index=index, **rest)


def _check_key(key: object) -> None:
    if not isinstance(key, str):
        raise InvalidRequest(f"a key must be a string, not {type(key).__name__}", field="key")


def wanted(query: str, **options: Unpack[SearchOptions]) -> Search:
    """Build the search from its options; what a recall would refuse of them is refused as there."""
    rest: dict[str, Any] = dict(options)
    as_recall = {name: rest[name] for name in _AS_IN_A_RECALL if rest.get(name) is not None}
    validate.check("recall", {"agent_id": "agent", "query": query, **as_recall})
    rank, dedup = rest.pop("rank", None), rest.pop("dedup", None)
    return Search(
        query=query,
        rank=None if rank is None else RankWeights(**rank),
        dedup=None
        if dedup is None
        else Dedup(**{"threshold": DEDUP_THRESHOLD, **dedup, "mode": DedupMode(dedup["mode"])}),
        **rest,
    )


def entry_document(entry: Entry) -> dict[str, Json]:
    """Return the entry as JSON, with its value even if that is null."""
    document: dict[str, Json] = encode(entry)
    return {**document, "value": entry.value}
