"""Checks what stores return against what was written, and drops whatever does not fit.

The witness is the child that shares its file with the journal. Without one it is the journal's register, and
for memories older than the register the first child that keeps history.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Known
from memorywire.model.capabilities import Feature
from memorywire.model.errors import StoreError
from memorywire.model.query import Scored, Where
from memorywire.model.record import Record
from memorywire.pipeline.context import Context
from memorywire.pipeline.outbox import find_primary
from memorywire.stores.contract import Found, Store, SupportsReplicas

ELSEWHERE = "of another scope"
UNKNOWN = "unknown"
FORGOTTEN = "forgotten"
OUT_OF_DATE = "out of date"
ALTERED = "altered"
UNASKED = "not asked for"

LIES = frozenset({ELSEWHERE, UNKNOWN, ALTERED})
"""Reasons that no honest store gives. For the other reasons a store may simply be late."""


class CheckedHits(Struct, frozen=True, kw_only=True):
    """The hits of a store's answer that are believed, and how many others were dropped for which reason."""

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
    """The answer of each store, without the hits that it should not have returned."""
    witness = await _read_references(founds, where, fan, context)
    return [check_answer(answer, where, witness) for answer in founds]


def select_voters(checked_answers: Sequence[CheckedHits]) -> Sequence[CheckedHits]:
    """The answers that may vote: those of stores that did not lie, or all if every store lied.

    A store that lies may also have left good memories out, which shows only beside the answers of others. So
    the rest of its answer does not count either.
    """
    honest = [one for one in checked_answers if not one.has_lied]
    return honest or checked_answers


References = Mapping[str, Record | Known]


async def _read_references(
    founds: Sequence[Found], where: Where, fan: SupportsReplicas, context: Context
) -> References | None:
    """What is known of every memory that was returned; None when the routing does not check answers."""
    if not context.routing.register:
        return None
    journal = context.governance.journal
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
        with suppress(StoreError):  # then another may know, or nobody does
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
        return True  # without the price of two digests
    return hit.digest == record.digest


def _reason(hit: Record, record: Record | Known | None, where: Where, *, believing: bool) -> str | None:
    """Why a hit is not believed; None when it is."""
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
