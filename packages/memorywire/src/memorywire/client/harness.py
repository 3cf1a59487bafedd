"""The store of an agent harness: items that are written, read, searched and deleted one by one.

The ranking is `w_r * exp(-age / tau) + w_s * cosine`. Which stores keep the items, and which of them a search
asks, is settled where the memory is opened; nothing here knows.
"""

import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import cast, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.client.arguments import check_argument, checks_arguments
from memorywire.client.options import plain
from memorywire.model.change import EndReason
from memorywire.model.errors import ApprovalPending, Conflict, InvalidRequest
from memorywire.model.kv import is_entry
from memorywire.model.query import Scored, Where
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing
from memorywire.model.requests import Forget, Owners, RankWeights, Recall, Remember
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import archive, forget
from memorywire.pipeline.recall import Chosen, recall
from memorywire.pipeline.redact import redact_records
from memorywire.pipeline.remember import remember
from memorywire.search.embed import Embedder
from memorywire.search.rank import score_recency
from memorywire.search.reference import cosine, floats
from memorywire.stores.contract import SupportsChangeLog, SupportsHistory, SupportsReplicas
from memorywire.wire import validate

MOST = 100

_HEAVIEST = 1_000_000
_PAGE = 500
_LINKS = "links"
_SUPERSEDES = "supersedes"
_REPLACED = frozenset({EndReason.SUPERSEDED, EndReason.MERGED})


class Status(StrEnum):
    """Whether an item answers: `active` does; one that was replaced, or is blacklisted, does not."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    BLACKLISTED = "blacklisted"


class MemoryItem(Struct, frozen=True, kw_only=True):
    """One memory. `created_at` is in epoch milliseconds; `relevancy` (0..1) is what it was worth then.

    What is written may also have a datetime, or a time as text in ISO 8601, each with a time zone.
    `backends` are the stores that hold it, as far as it was read; what is written is written to all.
    """

    content: str
    id: str | None = None
    created_at: int | datetime | str | None = None
    session: str | None = None
    relevancy: float = 1.0
    source: str | None = None
    tags: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    supersedes: str | None = None


class Found(Struct, frozen=True, kw_only=True):
    """An item that a search found: its place, from 0, its score, and what its relevancy has faded to."""

    item: MemoryItem
    score: float
    rank: int
    relevancy: float


class Ranking(Struct, frozen=True, kw_only=True):
    """Weights of recency and of relevancy to the query; what fades, fades to 1/e in `tau_days`."""

    w_r: float = 0.2
    w_s: float = 0.8
    tau_days: float = 30.0

    def __post_init__(self) -> None:
        for name, weight in (("w_r", self.w_r), ("w_s", self.w_s)):
            if not 0 <= weight <= _HEAVIEST:
                raise InvalidRequest(f"{name} must be a weight from 0 to {_HEAVIEST:,}", field=name)
        if not 0 < self.tau_days < math.inf:
            raise InvalidRequest("tau_days must be a number of days above 0", field="tau_days")

    @property
    def weights(self) -> RankWeights:
        """The same for the ranker of a recall, which counts in half-lives."""
        return RankWeights(semantic=self.w_s, recency=self.w_r, half_life_days=self.tau_days * math.log(2))

    def faded(self, record: Record, now: int) -> float:
        return score_recency(record, self.weights.half_life_days, now)

    async def choose(
        self, candidates: Sequence[Scored], request: Recall, now: int, embedder: Embedder
    ) -> Chosen:
        """The best `k` by the formula above; ties by id."""
        bare = [one.record for one in candidates if "vector" not in one.signals]  # of no store's cosine
        vectors = await embedder.embed([request.query, *(record.meaning for record in bare)]) if bare else []
        query_vector, *own_vectors = map(floats, vectors or [b""])
        cosines = {
            record.id: cosine(query_vector, vector) for record, vector in zip(bare, own_vectors, strict=True)
        }
        ranked_hits = []
        for one in candidates:
            near = cosines.get(one.record.id, one.signals.get("vector", 0.0))
            score = self.w_r * self.faded(one.record, now) + self.w_s * near
            ranked_hits.append(replace(one, score=score))
        best = sorted(ranked_hits, key=lambda one: (-one.score, one.record.id))
        return Chosen(hits=tuple(best[: request.k]), supporting={}, passed_over=())


class Harness:
    """The items of one agent, or of one of its users.

    The policy judges every write and delete, and the ledger records it. An item that waits for a person has
    an id already, and appears when it is approved.
    """

    def __init__(
        self, container: Callable[[], Awaitable[Container]], scope: Scope, ranking: Ranking | None = None
    ) -> None:
        self.scope = scope
        self.ranking = ranking or Ranking()
        self._container = container

    @checks_arguments
    def ranked(self, ranking: Ranking) -> "Harness":
        """Return the same items with other weights for searches."""
        return Harness(self._container, self.scope, ranking)

    @checks_arguments
    async def write(self, item: MemoryItem) -> str:
        """Store the item, as a new version if its id exists and it differs; return its id.

        If an older item says the same, its id is returned.
        """
        context = await self._context("remember")
        item = _read_item(item)
        _refuse_unfit(item, context)
        current = None if item.id is None else await self._current(item.id, context)
        is_blacklisted = item.status is Status.BLACKLISTED
        if current is None or not _is_same(current, item):
            if current is not None and is_entry(current):
                raise Conflict(f"{current.id} is the value of a key", field="id", fix="set it by its key")
            standing = Standing.ARCHIVED if is_blacklisted else Standing.ACTIVE
            request = _build_request(item, current, self.scope)
            id = (await remember(request, context, standing=standing, label=False)).id
        else:
            id = current.id
        record = await self._current(id, context) if is_blacklisted else None
        if record is not None and record.standing is not Standing.ARCHIVED:
            await archive(record, context)
        return id

    @checks_arguments
    async def get(self, id: str) -> MemoryItem | None:
        """Return the item, also if it was superseded or blacklisted; None if it does not exist."""
        context = await self._context("get")
        current = await self._current(id, context)
        if current is not None:
            (visible,) = await redact_records([current], self.scope, context)
            return _build_item(visible, await self._holders(id, context))
        versions = (
            await context.store.history(self.scope, id) if isinstance(context.store, SupportsHistory) else []
        )
        if not versions or versions[-1].record is None or versions[-1].reason not in _REPLACED:
            return None
        (visible,) = await redact_records([versions[-1].record], self.scope, context)
        return _build_superseded(visible, await self._holders(id, context))

    @checks_arguments
    async def search(self, query: str, k: int = 8) -> list[Found]:
        """Return the active items nearest to the query, best first; newer items rank higher.

        Without a user, items that belong to a user are left out.
        """
        validate.check_query(query)
        if not 0 < k <= MOST:
            raise InvalidRequest(f"k must be 1 to {MOST}", field="k")
        context = await self._context("recall")
        # With a rank more candidates are looked at than are shown.
        owners = Owners.AGENT if self.scope.user is None else Owners.USER
        weights = self.ranking.weights
        request = Recall(scope=self.scope, query=query, k=k, min_relevance="off", rank=weights, owners=owners)
        now = context.clock()
        answer = await recall(request, context, self.ranking.choose)
        return [
            Found(
                item=_build_item(hit.record, hit.stores),
                score=hit.score,
                rank=place,
                relevancy=hit.record.confidence * self.ranking.faded(hit.record, now),
            )
            for place, hit in enumerate(answer.hits)
        ]

    @checks_arguments
    async def delete(self, id: str) -> None:
        """Delete the item; does nothing if it does not exist.

        Raises ApprovalPending if a person has to approve it first; the item then still exists.
        """
        receipt = await forget(Forget(scope=self.scope, ids=(id,)), await self._context("forget"))
        if receipt.proposal_id is not None:
            raise ApprovalPending(
                "a person must approve this first; the item still exists",
                proposal_id=receipt.proposal_id,
                fix=f"approve proposal {receipt.proposal_id}, or reject it",
            )

    async def all(self) -> AsyncIterator[MemoryItem]:
        """All items, ordered by id, also the superseded ones where a store tells its changes."""
        context = await self._context("list")
        where = Where(scope=self.scope, alive_at=context.clock(), standings=frozenset(Standing))
        old = await self._list_superseded(context)
        async for record in context.all_matching(where):
            while old and old[0].id < record.id:
                yield _build_superseded(old.popleft(), context.names)
            (visible,) = await redact_records([record], self.scope, context)
            yield _build_item(visible, context.names)
        for record in old:
            yield _build_superseded(record, context.names)

    async def _list_superseded(self, context: Context) -> deque[Record]:
        """The last versions of the memories that others have replaced, ordered by id."""
        store = context.store
        stores = map(store.replica, store.replica_names) if isinstance(store, SupportsReplicas) else [store]
        log = next((one for one in stores if isinstance(one, SupportsChangeLog)), None)
        records: dict[str, Record] = {}
        position = 0
        while log is not None and (page := await log.log(self.scope, position, _PAGE)):
            for version in chain.from_iterable(footprint.ended for footprint in page):
                if version.record is not None and self.scope.covers(version.record.scope):
                    records.pop(version.record.id, None)
                    if version.reason in _REPLACED:
                        records[version.record.id] = version.record
            position = page[-1].sequence
        for record in await store.get(self.scope, list(records)):
            del records[record.id]
        visible = await redact_records([records[id] for id in sorted(records)], self.scope, context)
        return deque(visible)

    async def _context(self, operation: str) -> Context:
        context = await (await self._container()).context.serving(self.scope)
        return replace(context, operation=operation)

    async def _current(self, id: str, context: Context) -> Record | None:
        records = await context.store.get(self.scope, [id])
        return records[0] if records and records[0].alive(context.clock()) else None

    async def _holders(self, id: str, context: Context) -> tuple[str, ...]:
        """Return the stores that have the current version of this item."""
        pending = [] if context.governance is None else await context.governance.journal.list_outbox()
        late = {debt.store for debt in pending if any(put.record.id == id for put in debt.change.put)}
        return tuple(name for name in context.names if name not in late)


def _read_item(item: MemoryItem) -> MemoryItem:
    """The item with its values in one form; raises InvalidRequest for one of another type."""
    for name, kind in get_type_hints(MemoryItem).items():
        check_argument(name, getattr(item, name), kind)
    return replace(
        item,
        created_at=_read_moment(item.created_at),
        tags=tuple(item.tags),
        backends=tuple(item.backends),
        status=Status(item.status),
    )


def _read_moment(moment: int | datetime | str | None) -> Json:
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            fix = "write 2026-06-16T22:14:05Z, or epoch milliseconds"
            raise InvalidRequest("created_at is not a time", field="created_at", fix=fix) from None
    return plain("created_at", moment)


def _refuse_unfit(item: MemoryItem, context: Context) -> None:
    if item.status is Status.SUPERSEDED:
        raise InvalidRequest(
            "the item is superseded by another one",
            field="status",
            fix="write the newer item, with supersedes",
        )
    unknown = sorted(set(item.backends) - set(context.names))
    if unknown:
        raise InvalidRequest(
            f"there is no store {unknown[0]}", field="backends", fix=f"one of: {', '.join(context.names)}"
        )
    try:
        validate.check("remember", _build_payload(item))
    except InvalidRequest as error:
        raise _in_words_of_items(error) from None


_WIRE = {"confidence": "relevancy", "occurred_at": "created_at", "session_id": "session"}
"""What an item calls these fields of the wire."""


def _in_words_of_items(error: InvalidRequest) -> InvalidRequest:
    name, _, rest = (error.field or "").partition(".")
    if name not in _WIRE:
        return error
    field = f"{_WIRE[name]}.{rest}" if rest else _WIRE[name]
    return InvalidRequest(error.detail.replace(name, _WIRE[name], 1), field=field)


def _build_payload(item: MemoryItem) -> dict[str, Json]:
    """The item as a wire payload, so that what the wire refuses is refused here, too."""
    fields = {
        "agent_id": "harness",
        "type": MemoryType.SEMANTIC.value,
        "content": item.content,
        "confidence": item.relevancy,
        "id": item.id,
        "occurred_at": item.created_at,
        "session_id": item.session,
        "source": item.source,
        "tags": list(item.tags) or None,
        _SUPERSEDES: item.supersedes,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _build_request(item: MemoryItem, current: Record | None, scope: Scope) -> Remember:
    """The request for the engine; what the item supersedes is sent once, and later only remembered."""
    replaces = () if item.supersedes is None else (item.supersedes,)
    again = current is not None and _find_superseded(current) == item.supersedes
    metadata = {} if current is None else dict(current.metadata)
    if replaces:
        metadata[_LINKS] = {**_read_links(metadata), _SUPERSEDES: list(replaces)}
    # Writing back an item that was read says nothing new about when it happened.
    is_new_time = current is None or item.created_at not in (None, current.moment)
    return Remember(
        scope=scope if current is None else current.scope,
        type=MemoryType.SEMANTIC if current is None else current.type,
        content=item.content if current is None or item.content != current.words else current.content,
        metadata=metadata,
        confidence=item.relevancy,
        source=item.source,
        expires_at=None if current is None else current.expires_at,
        id=item.id,
        occurred_at=cast(
            "int | None", item.created_at if current is None or is_new_time else current.occurred_at
        ),
        tags=item.tags,
        session_id=item.session,
        supersedes=() if again else replaces,
        if_version=None if current is None else current.version,
    )


def _read_links(metadata: Mapping[str, Json]) -> Mapping[str, Json]:
    """The links in this metadata; others may keep something else under the same name."""
    links = metadata.get(_LINKS)
    return links if isinstance(links, Mapping) else {}


def _find_superseded(record: Record) -> str | None:
    value = _read_links(record.metadata).get(_SUPERSEDES)
    ids = [id for id in value if isinstance(id, str)] if isinstance(value, list) else []
    return next(iter((*record.supersedes, *ids)), None)


def _is_same(current: Record, item: MemoryItem) -> bool:
    """Whether writing the item would change nothing; its holders and its status do not count."""
    stored = _build_item(current, item.backends)
    expected = replace(item, status=stored.status, created_at=item.created_at or stored.created_at)
    is_lifted = item.status is Status.ACTIVE and stored.status is not Status.ACTIVE
    return stored == expected and not is_lifted


def _build_item(record: Record, backends: tuple[str, ...]) -> MemoryItem:
    is_archived = record.standing is Standing.ARCHIVED
    return MemoryItem(
        id=record.id,
        content=record.words,
        created_at=record.moment,
        session=record.session_id,
        relevancy=record.confidence,
        source=record.source,
        tags=record.tags,
        backends=backends,
        status=Status.BLACKLISTED if is_archived else Status.ACTIVE,
        supersedes=_find_superseded(record),
    )


def _build_superseded(record: Record, backends: tuple[str, ...]) -> MemoryItem:
    return replace(_build_item(record, backends), status=Status.SUPERSEDED)
