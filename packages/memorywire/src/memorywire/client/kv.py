"""Keys and values in Python: what is set under a key is what is got, or it is refused."""

from collections.abc import Awaitable, Callable, Mapping
from math import inf
from typing import Any, TypeAlias, TypedDict, Unpack

from msgspec.structs import replace

from memorywire.app import Container
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
from memorywire.wire import strict
from memorywire.wire.codec import encode
from memorywire.wire.validate import check_query

Result: TypeAlias = Kept | MemorywireError

_PAGE_MOST = 1_000


class SetOptions(TypedDict, total=False):
    """`ttl` is in seconds; `embed_text` is what an embedded entry is also found by.

    `index` says what may find the entry: `all` of it, the `text` of `embed_text` alone, or `none`: then only
    its key does, in `get` and `list`. With `redact` a secret is replaced by its marker instead of refused.
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
    `mode`, `drop`, `merge` or `keep`, and a `threshold`."""

    prefix: str
    top_k: int
    rank: Mapping[str, float] | None
    dedup: Mapping[str, Any] | None
    min_relevance: MinRelevance


class KeyValue:
    """The entries of one owner; `of` gives those of another.

    A value that holds a secret is refused, never changed, unless `redact` asks for markers. Every set and
    delete is judged by the policy and stands in the ledger; a set that waits for a person says `staged`, and
    the old value stays until then.
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
        """`user` is the one whose memory it was asked of: then `of` has to say whose keys are meant."""
        self.area_prefix = area
        self.owner = owner
        self.user = user
        self.limits = limits
        self._house = container
        self._scope = owner.scope
        self._last: kv.Keys | None = None

    def of(self, kind: str, id: str) -> "KeyValue":
        """The entries of an `agent`, of a `user` whichever agent asks, or of the `tenant`."""
        return KeyValue(self._house, replace(self.owner, kind=owner_kind(kind), id=id), self.limits)

    def area(self, prefix: str, limits: Limits) -> "KeyValue":
        """The keys that begin with `prefix`, with limits of their own: they do not count in other quotas."""
        return KeyValue(self._house, self.owner, limits, user=self.user, area=prefix)

    async def get(self, key: str) -> Entry | None:
        """The entry, or None when there is none or its time has passed."""
        _refuse_unnamed(key)
        return await kv.entry(await self._keys(), key)

    async def set(self, key: str, value: Json, **options: Unpack[SetOptions]) -> Kept:
        """Keep the value under the key, as a new version of what was there."""
        return await kv.keep(await self._keys(), setting(key, value, **options))

    async def set_many(self, values: Mapping[str, Json], **options: Unpack[SetOptions]) -> list[Result]:
        """Keep many values; each has its own receipt or problem."""
        asked = [_setting_or_problem(key, value, options) for key, value in values.items()]
        settings = [one for one in asked if isinstance(one, Setting)]
        kept = iter(await self.keep_each(settings) if settings else ())
        return [next(kept) if isinstance(one, Setting) else one for one in asked]

    async def keep_each(self, settings: "list[Setting]") -> list[Result]:
        """The same, where each has options of its own."""
        return await kv.keep_each(await self._keys(), settings)

    async def incr(self, key: str, by: float = 1) -> Kept:
        """Add to the number under the key; the receipt has the sum as its `value`."""
        _refuse_unnamed(key)
        strict.check(by)
        if isinstance(by, bool) or not isinstance(by, int | float):
            raise InvalidRequest(f"by is a number, not {type(by).__name__}", field="by")
        return await kv.add(await self._keys(), key, by)

    async def delete(self, key: str) -> Deleted:
        """End the entry; it stays in the history of the record until it is erased."""
        _refuse_unnamed(key)
        return await kv.delete(await self._keys(), key)

    async def touch(self, key: str) -> Entry | None:
        """Count the time to live of an entry from now on; the entry, or None when there is none."""
        _refuse_unnamed(key)
        return await kv.touch(await self._keys(), key)

    async def list(self, prefix: str = "", *, limit: int = 100, after: str | None = None) -> Listing:
        """A page of entries in the order of their keys."""
        if not 0 < limit <= _PAGE_MOST:
            raise InvalidRequest(f"limit is 1 to {_PAGE_MOST}", field="limit")
        return await kv.entries(await self._keys(), prefix, limit=limit, after=after)

    async def search(self, query: str, **options: Unpack[SearchOptions]) -> Searched:
        """The entries nearest to the query, best first."""
        return await kv.search(await self._keys(), wanted(query, **options))

    async def stats(self) -> Stats:
        """How much is kept, and how many entries have vectors of which model."""
        return await kv.stats(await self._keys())

    async def reembed(self) -> Reembedded:
        """See that every entry has a vector."""
        return await kv.reembed(await self._keys())

    def _refuse_unsaid(self) -> None:
        """Raise InvalidRequest while the keys may be meant as one user's, and are the agent's for all."""
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
        container = await self._house()
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


def owner_kind(named: str) -> OwnerKind:
    try:
        return OwnerKind(named)
    except ValueError:
        raise InvalidRequest(
            "there is no such scope", field="scope", fix=f"one of: {', '.join(OwnerKind)}"
        ) from None


def setting(key: str, value: Json, **options: Unpack[SetOptions]) -> Setting:
    """The setting to keep; raises InvalidRequest when JSON cannot say the value."""
    strict.check([key, value, options.get("embed_text"), options.get("source")])
    _refuse_unnamed(key)
    ttl = options.get("ttl")
    if ttl is not None and not (isinstance(ttl, int | float) and -inf < ttl <= LONGEST_TTL):
        raise InvalidRequest(
            f"ttl is a number of seconds up to {LONGEST_TTL}", field="ttl", fix="leave it out for no end"
        )
    rest: dict[str, Any] = dict(options)
    text = rest.pop("embed_text", None)
    index = _indexing(rest.pop("index")) if "index" in rest else Indexing.ALL
    if index is Indexing.TEXT and not text:
        raise InvalidRequest("index=text needs an embed_text", field="embed_text", fix="use index=none")
    if index is Indexing.NONE and rest.get("embed"):
        raise InvalidRequest("an entry cannot be embedded and kept out of the index", field="index")
    return Setting(key=key, value=value, text=text, index=index, **rest)


def _indexing(name: str) -> Indexing:
    try:
        return Indexing(name)
    except ValueError:
        raise InvalidRequest(
            f"unknown index {name!r}", field="index", fix=f"one of: {', '.join(Indexing)}"
        ) from None


def _refuse_unnamed(key: object) -> None:
    if not isinstance(key, str):
        raise InvalidRequest(f"a key is text, not {type(key).__name__}", field="key")


def _setting_or_problem(key: str, value: Json, options: SetOptions) -> Setting | MemorywireError:
    try:
        return setting(key, value, **options)
    except MemorywireError as problem:
        return problem


def wanted(query: str, **options: Unpack[SearchOptions]) -> Search:
    """What to find."""
    check_query(query)
    rest: dict[str, Any] = dict(options)
    rank, dedup = rest.pop("rank", None), rest.pop("dedup", None)
    # A number that is none would be a score that nobody can write down.
    strict.check([rest, dict(rank or {}), dict(dedup or {})])
    if "top_k" in rest:
        rest["top_k"] = int(rest["top_k"])
    return Search(
        query=query,
        rank=None if rank is None else RankWeights(**rank),
        dedup=None if dedup is None else _dedup(**dedup),
        **rest,
    )


def _dedup(*, mode: str, threshold: float = DEDUP_THRESHOLD) -> Dedup:
    try:
        return Dedup(mode=DedupMode(mode), threshold=threshold)
    except ValueError:
        modes = ", ".join(DedupMode)
        raise InvalidRequest("there is no such mode", field="dedup.mode", fix=f"one of: {modes}") from None


def entry_document(entry: Entry) -> dict[str, Json]:
    """The entry as JSON; its value is there also when it is null."""
    document: dict[str, Json] = encode(entry)
    return {**document, "value": entry.value}
