"""Gathers the candidates of a recall: from one store in its order, or from several, verified and fused."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Known
from memorywire.model.answers import Outcome
from memorywire.model.capabilities import Feature
from memorywire.model.errors import StoreError, StoreUnavailable
from memorywire.model.query import Enough, Query, Scored, Where
from memorywire.model.record import DEMOTED_FACTOR, Record, Standing, Trust
from memorywire.model.requests import Fusion, Recall
from memorywire.pipeline.context import Context, NamelessVectors
from memorywire.pipeline.transaction import find_primary
from memorywire.search.embed import BeginsHere, Embedder, EmbedsHere
from memorywire.search.fuse import Fused, Ranking, Rules, fuse
from memorywire.search.question import remove_names
from memorywire.search.reference import cosine, floats
from memorywire.search.relevance import evidence, read_query_tokens, relevance
from memorywire.stores.contract import FallsBack, Found, Store, SupportsDeferredQuery, SupportsReplicas

ELSEWHERE = "of another scope"
UNKNOWN = "unknown"
FORGOTTEN = "forgotten"
OUT_OF_DATE = "out of date"
ALTERED = "altered"
UNASKED = "not asked for"

LIES = frozenset({ELSEWHERE, UNKNOWN, ALTERED})
"""Reasons that a correct store never causes; the other reasons can occur when a store lags."""


class CheckedHits(Struct, frozen=True, kw_only=True):
    """The verified hits of a store's answer, and the number of dropped hits by reason."""

    store: str
    hits: tuple[Scored, ...]
    dropped: Mapping[str, int]

    @property
    def has_lied(self) -> bool:
        return not LIES.isdisjoint(self.dropped)

    @property
    def complaint(self) -> str | None:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(self.dropped.items()))
        return f"hits were not believed: {reasons}" if reasons else None


async def check_answers(
    founds: Sequence[Found], where: Where, fan: SupportsReplicas, context: Context
) -> list[CheckedHits]:
    """Verify the answer of each store; drops the hits that it should not have returned."""
    witness = await _read_references(founds, where, fan, context)
    return [check_answer(answer, where, witness) for answer in founds]


def select_voters(checked_answers: Sequence[CheckedHits]) -> Sequence[CheckedHits]:
    """Return the answers used for fusion: those of correct stores, or all if every store was wrong.

    A store that returned false hits may also have omitted good ones, which its own answer does not show. So
    the rest of its answer does not count either.
    """
    honest = [one for one in checked_answers if not one.has_lied]
    return honest or checked_answers


References = Mapping[str, Record | Known]


async def _read_references(
    founds: Sequence[Found], where: Where, fan: SupportsReplicas, context: Context
) -> References | None:
    """Read the reference for every returned memory; None if the routing does not verify answers."""
    if not context.routing.register:
        return None
    journal = context.require_governance().journal
    ids = list(dict.fromkeys(hit.record.id for answer in founds for hit in answer.hits))
    anchor = find_primary(fan, journal)
    if anchor is not None:
        own = {
            hit.record.id: hit.record for answer in founds if answer.store == anchor for hit in answer.hits
        }
        return own | await _from_store(fan.replica(anchor), where, [id for id in ids if id not in own])
    known_records = await journal.find_registered(where.scope.tenant, ids)
    rest = [id for id in ids if id not in known_records]
    keepers = [store for store in map(fan.replica, fan.replica_names) if Feature.HISTORY in store.features]
    return {**known_records, **await _from_first(keepers, where, rest)}


async def _from_first(keepers: Sequence[Store], where: Where, ids: Sequence[str]) -> dict[str, Record]:
    for keeper in keepers:
        with suppress(StoreError):  # try the next store
            return await _from_store(keeper, where, ids)
    return {}


async def _from_store(store: Store, where: Where, ids: Sequence[str]) -> dict[str, Record]:
    return {record.id: record for record in await store.get(where.scope, ids)} if ids else {}


def check_answer(answer: Found, where: Where, witness: References | None) -> CheckedHits:
    hits: list[Scored] = []
    drops: Counter[str] = Counter()
    for hit in answer.hits:
        record = None if witness is None else witness.get(hit.record.id)
        reason = _reason(hit.record, record, where, believing=witness is None)
        if reason is not None:
            drops[reason] += 1
        else:
            hits.append(replace(hit, record=record) if isinstance(record, Record) else hit)
    return CheckedHits(store=answer.store, hits=tuple(hits), dropped=drops)


def _same_words(hit: Record, record: Record | Known) -> bool:
    if isinstance(record, Record) and (hit.content, hit.type, hit.occurred_at) == (
        record.content,
        record.type,
        record.occurred_at,
    ):
        return True  # avoids computing two digests
    return hit.digest == record.digest


def _reason(hit: Record, record: Record | Known | None, where: Where, *, believing: bool) -> str | None:
    """Return the reason to drop a hit; None if the hit is valid."""
    if not where.scope.covers(hit.scope):
        return ELSEWHERE
    if record is None:
        if not believing:
            return UNKNOWN
    elif not where.scope.covers(record.scope):
        return ELSEWHERE
    elif isinstance(record, Known) and not record.live:
        return FORGOTTEN
    elif not _same_words(hit, record):
        return OUT_OF_DATE if hit.version < record.version else ALTERED
    visible = record if isinstance(record, Record) else hit
    return None if where.matches(visible) else UNASKED


# See `QuestionEmbedding` for the use of these limits.
SHORT = 200  # characters; embedding them is faster than handing them to another thread
BRIEF = 100  # characters
QUICK = 0.003  # seconds that the last embedding took: the longest accepted block of the event loop


class QuestionEmbedding:
    """Decides when a question is embedded, and on which thread; its vectors are the same in every case.

    There are three ways, from the fastest to the one that always works:

    - *Brief*: a question of up to BRIEF characters, when the last embedding took at most QUICK seconds. The
      store may embed and search on the event loop's own thread: of a recall among 100 memories, switching to
      a reader thread and back took 0.14 ms of about 1 ms (decision 30).
    - *Deferred*: a question of up to SHORT characters, an embedder that works on the caller's thread, and a
      store that takes a question before its vectors. Embedding begins as soon as the recall is permitted, and
      the store reads rows and scores text meanwhile (decisions 25, 29 and 30).
    - *Plain*: all others. The question is embedded first, then the store is asked.

    A question is embedded twice: with all of its words, and without names. The second vector is the same for
    many questions, so `NamelessVectors` caches recent ones.
    """

    def __init__(self, text: str, embedder: Embedder, nameless_vectors: NamelessVectors) -> None:
        rest = remove_names(text)
        self._embedder = embedder
        self._cache = nameless_vectors
        self._nameless = None if rest is None else nameless_vectors.known(rest)
        self._new = rest if self._nameless is None else None
        self._texts = [text] if self._new is None else [text, self._new]
        self._vectors: Callable[[], list[bytes]] | None = None
        self._completed: Query | None = None

    def begin(self) -> None:
        """Start embedding a short question now, or leave it to the thread that searches."""
        if len(self._texts[0]) > SHORT or not isinstance(self._embedder, EmbedsHere):
            return
        if isinstance(self._embedder, BeginsHere):
            self._vectors = self._embedder.begin(self._texts)
        else:
            self._vectors = partial(self._embedder.embed_here, self._texts)

    async def embed_query(self, question: Query) -> Query:
        """Embed the query and return it with its vectors."""
        self._completed = self._add_vectors(question, await self._embedder.embed(self._texts))
        return self._completed

    @property
    def vector(self) -> bytes | None:
        """The vector of the query, or None before it is computed."""
        return None if self._completed is None else self._completed.vector

    def search_deferred(
        self, question: Query, limit: int, store: SupportsDeferredQuery, enough: Enough | None
    ) -> Awaitable[list[Scored]] | None:
        """Search with vectors computed when the store needs them; None if embedding was not begun."""
        if self._vectors is None:
            return None
        complete = partial(self._complete, question, self._vectors, asyncio.get_running_loop().time)
        is_brief = len(question.text) <= BRIEF and self._cache.pace <= QUICK
        return store.search_late(question, complete, limit, brief=is_brief, enough=enough)

    def _complete(
        self, question: Query, vectors: Callable[[], list[bytes]], now: Callable[[], float]
    ) -> Query:
        """Return the query with vectors; repeated calls, as of a store that searches again, reuse them."""
        if self._completed is None:
            start = now()
            new_vectors = vectors()
            self._cache.pace = now() - start
            self._completed = self._add_vectors(question, new_vectors)
        return self._completed

    def _add_vectors(self, question: Query, vectors: Sequence[bytes]) -> Query:
        nameless = self._nameless
        if self._new is not None:
            nameless = vectors[1]
            self._cache.learn(self._new, nameless)
        tokens = read_query_tokens(vectors[0])
        return replace(question, vector=vectors[0], nameless=nameless, tokens=tokens)


_LEAST = 20
"""The minimum number of hits requested from each of several stores, so that fusion can raise a memory that
one store ranks low."""

_DEPTH = 100
"""Hits requested from each retriever of one store; a memory ranked lower in both would hardly be returned."""

MEASURED = frozenset({Feature.VECTOR, Feature.FTS})
"""A store with both features scores with this package's formulas, so its scores are comparable."""


class SearchResult(Struct, frozen=True, kw_only=True):
    """Ranked candidates, scored by evidence; `fused` has their fusion scores if results were fused."""

    candidates: list[Scored]
    outcomes: tuple[Outcome, ...]
    fused: Mapping[str, float] | None = None
    returned_by: Mapping[str, tuple[str, ...]] | None = None
    rankings: tuple[Ranking, ...] = ()
    degraded: tuple[str, ...] = ()

    def stores(self, id: str) -> tuple[str, ...]:
        """Return the names of the stores that returned this memory."""
        if self.returned_by is not None:
            return self.returned_by[id]
        return tuple([outcome.store for outcome in self.outcomes])

    def ranks(self, id: str) -> dict[str, float]:
        """Return the rank of this memory in each of several stores, from 1, as signals."""
        return {
            f"rank in {ranking.store}": float(place)
            for ranking in self.rankings
            for place, hit in enumerate(ranking.hits, 1)
            if hit.record.id == id
        }

    def by_fusion(self, candidate: Scored) -> Scored:
        """Return the candidate with its fusion score; its own score becomes the signal `relevance`."""
        if self.fused is None:
            return candidate
        signals = {**candidate.signals, "relevance": candidate.score}
        return replace(candidate, score=self.fused[candidate.record.id], signals=signals)


def begin_embedding(
    request: Recall, context: Context, task_embedder: Embedder | None = None
) -> QuestionEmbedding:
    """Return the embedding of the query, begun if the store can start its search before it is done.

    With `task_embedder` the query is embedded as a task.
    """
    embedding = (
        QuestionEmbedding(request.query, context.embedder, context.nameless_vectors)
        if task_embedder is None
        else QuestionEmbedding(request.query, task_embedder, context.nameless_tasks)
    )
    if _find_deferred_store(request, context) is not None:
        embedding.begin()
    return embedding


def _find_deferred_store(request: Recall, context: Context) -> SupportsDeferredQuery | None:
    """Return the store if it accepts a query before its vectors, and gets it as a single query."""
    store = context.store
    apart = request.fusion is Fusion.LEGS or (isinstance(store, SupportsReplicas) and request.as_of is None)
    return (
        store
        if isinstance(store, SupportsDeferredQuery) and not apart and not isinstance(store, FallsBack)
        else None
    )


def has_untrusted(candidates: Sequence[Scored]) -> bool:
    """Whether any candidate is from an untrusted source."""
    return any(candidate.record.trust is Trust.UNTRUSTED for candidate in candidates)


async def search_stores(
    question: Query,
    embedding: QuestionEmbedding,
    limit: int,
    request: Recall,
    context: Context,
    *,
    enough: Enough | None = None,
) -> SearchResult:
    """The best candidates of all stores.

    A query about the past goes to one store only, because answers about the past cannot be verified. The
    query is embedded here if necessary. With `enough`, a store may stop early once it has enough candidates
    that would all be admitted.
    """
    store = _find_deferred_store(request, context)
    search = None if store is None else embedding.search_deferred(question, limit, store, enough)
    if search is not None:
        name, now = context.names[0], asyncio.get_running_loop().time
        start = now()
        try:
            hits = await search
        finally:
            context.took(name, now() - start)
        return SearchResult(candidates=hits, outcomes=(Outcome(store=name, count=len(hits)),))
    query = await embedding.embed_query(question)
    if isinstance(context.store, SupportsReplicas) and request.as_of is None:
        return await search_replicas(query, limit, request, context.store, context)
    if request.fusion is Fusion.LEGS:
        return await search_legs(query, limit, context)
    return _build_result(await _search(query, limit, context))


async def _search(query: Query, limit: int, context: Context) -> Found:
    """Return the answer of the store, or of its fallback if the store fails and has one."""
    name, store = context.names[0], context.store
    if isinstance(store, FallsBack):
        return replace(await context.timed(name, store.search_either(query, limit)), store=name)
    return Found(store=name, hits=tuple(await context.timed(name, store.search(query, limit))))


def _build_result(answer: Found) -> SearchResult:
    return SearchResult(
        candidates=[*answer.hits],
        outcomes=(_build_outcome(answer, len(answer.hits)),),
        degraded=_list_absent(answer),
    )


def _build_outcome(answer: Found, count: int) -> Outcome:
    return Outcome(
        store=answer.store, count=count, error=None if answer.error is None else answer.error.detail
    )


def _list_absent(*founds: Found) -> tuple[str, ...]:
    """Return the names of the stores for which a fallback answered."""
    return tuple({answer.store for answer in founds if answer.error is not None})


async def search_legs(query: Query, limit: int, context: Context) -> SearchResult:
    """Search one store by vector only and by text only, and fuse both rankings by reciprocal rank.

    A candidate keeps the score of an ordinary search by both. A candidate that the ordinary search did not
    return is scored from the signals of the two retrievers.
    """
    depth = max(limit, _DEPTH)
    legs = {
        "vector": Query(where=query.where, text="", vector=query.vector),
        "text": Query(where=query.where, text=query.text),
    }
    founds = {leg: await _search(alone, depth, context) for leg, alone in legs.items()}
    rankings = [
        Ranking(store=leg, hits=[hit for hit in answer.hits if hit.signals.get(leg, 0.0) > 0])
        for leg, answer in founds.items()
    ]
    by_everything = await _search(query, depth, context)
    whole = {hit.record.id: hit for hit in by_everything.hits}
    fusion = fuse(rankings, Rules(fusion=Fusion.LEGS))[:depth]  # the floor uses scores, not ranks
    return SearchResult(
        candidates=[whole.get(one.record.id) or _score_by_legs(one) for one in fusion],
        outcomes=(_build_outcome(by_everything, len(fusion)),),
        fused={one.record.id: one.score for one in fusion},
        rankings=tuple(rankings),
        degraded=_list_absent(*founds.values(), by_everything),
    )


def _score_by_legs(one: Fused) -> Scored:
    scores = {leg: hit.signals[leg] for leg, hit in one.hits.items()}
    return _score(one.record, scores.get("vector", 0.0), scores.get("text", 0.0))


async def search_replicas(
    query: Query, least: int, request: Recall, fan: SupportsReplicas, context: Context
) -> SearchResult:
    """Query several stores, drop invalid hits, and fuse the rest into one list of candidates."""
    limit = max(least, _LEAST)
    founds = await fan.search_each(query, limit)
    for answer in founds:
        context.took(answer.store, answer.elapsed)
    if all(answer.error is not None for answer in founds):
        reasons = "; ".join(f"{answer.store}: {answer.error.detail}" for answer in founds if answer.error)
        raise StoreUnavailable(f"no store answered: {reasons}")
    checked_answers = await check_answers(founds, query.where, fan, context)
    weights = context.routing.weights
    rankings = [
        Ranking(store=one.store, hits=one.hits, weight=weights.get(one.store, 1.0))
        for one in select_voters(checked_answers)
    ]
    rules = Rules(fusion=request.fusion, quorum=request.quorum_k, trim=context.routing.trim)
    fusion = fuse(rankings, rules)
    must_rerank = context.routing.reranks(request.fusion)
    if not must_rerank:
        fusion = fusion[:limit]
    candidates = await _score_fusion(fusion, query, fan, [answer.store for answer in founds], context)
    if must_rerank:
        candidates = sorted(candidates, key=lambda candidate: (-candidate.score, candidate.record.id))[:limit]
    return SearchResult(
        candidates=candidates,
        outcomes=tuple(map(_build_replica_outcome, founds, checked_answers)),
        fused=None if must_rerank else {one.record.id: one.score for one in fusion},
        returned_by={one.record.id: one.stores for one in fusion},
        rankings=tuple(rankings),
        degraded=_list_degraded(founds, checked_answers, request),
    )


def _build_replica_outcome(answer: Found, checked_answer: CheckedHits) -> Outcome:
    error = checked_answer.complaint if answer.error is None else answer.error.detail
    return Outcome(store=answer.store, count=len(checked_answer.hits), error=error)


def _list_degraded(
    founds: Sequence[Found], checked_answers: Sequence[CheckedHits], request: Recall
) -> tuple[str, ...]:
    """Return the stores that failed or had hits dropped, and the guarantees that do not hold without them."""
    poor = [
        answer.store
        for answer, checked_answer in zip(founds, checked_answers, strict=True)
        if answer.error or checked_answer.dropped
    ]
    answer_count = sum(answer.error is None for answer in founds)
    liars = sum(one.has_lied for one in checked_answers)
    if answer_count < request.quorum_k:
        poor.append("quorum_k")
    if liars and len(founds) < 2 * liars + 1:
        poor.append("majority")
    return tuple(poor)


async def _score_fusion(
    fusion: Sequence[Fused], query: Query, fan: SupportsReplicas, store_names: Sequence[str], context: Context
) -> list[Scored]:
    """Score each fused memory by its own evidence.

    A store's score is used where it can be trusted (see `find_agreed_score`); otherwise the memory is
    embedded again and scored here.
    """
    anchor = None if context.governance is None else find_primary(fan, context.governance.journal)
    measuring = [name for name in store_names if fan.replica(name).features >= MEASURED]
    agreements = [
        find_agreed_score(one, anchor if anchor in store_names else None, measuring) for one in fusion
    ]
    bare = [one.record for one, agreement in zip(fusion, agreements, strict=True) if agreement is None]
    own = {agreement.record.id: agreement for agreement in await _score_records(bare, query, context)}
    return [agreement or own[one.record.id] for one, agreement in zip(fusion, agreements, strict=True)]


def find_agreed_score(one: Fused, anchor: str | None, measuring: Sequence[str]) -> Scored | None:
    """Return the trustworthy score of a fused memory; None if there is none.

    If the primary (`anchor`) was queried, only its score counts. Otherwise a majority of the `measuring`
    stores must have returned the memory, and the median of their scores counts.
    """
    if anchor is not None:
        return replace(one.hits[anchor], record=one.record) if anchor in one.hits else None
    votes = [one.hits[name] for name in measuring if name in one.hits]
    if 2 * len(votes) <= len(measuring) or not votes:
        return None
    # A majority of the measuring stores gave at least this score, so at least one correct store did.
    vote = sorted(votes, key=lambda vote: -vote.score)[len(measuring) // 2]
    return replace(vote, record=one.record, score=min(max(vote.score, 0.0), 1.0))


async def _score_records(records: Sequence[Record], query: Query, context: Context) -> list[Scored]:
    """Score records by vector only: embed each again and compare it with the query."""
    if not records or query.vector is None:
        return [Scored(record=record, score=0.0, signals={}) for record in records]
    question = floats(query.vector)
    vectors = await context.embedder.embed([record.meaning for record in records])
    near = [cosine(question, floats(vector)) for vector in vectors]
    return [score_by_vector(record, each) for record, each in zip(records, near, strict=True)]


def score_by_vector(record: Record, near: float) -> Scored:
    """Score the record by the cosine `near` of its vector and the query's."""
    return replace(_score(record, near, 0.0), signals={"vector": near})


def _score(record: Record, near: float, share: float) -> Scored:
    """Score the record by its cosine with the query (`near`) and its share of the query's term weight."""
    factor = DEMOTED_FACTOR if record.standing is Standing.DEMOTED else 1.0
    score = factor * relevance(evidence(near, share))
    return Scored(record=record, score=score, signals={"vector": near, "text": share})
