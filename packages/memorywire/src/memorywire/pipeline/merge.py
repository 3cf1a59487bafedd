"""Merge: folds several memories into one; the others end, with a reference to it."""

from collections.abc import Sequence

from msgspec.structs import replace

from memorywire.model.answers import Merged
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.record import Json, MemoryType, Record, Trust
from memorywire.model.requests import Merge, Strategy
from memorywire.model.text import CONTENT_CHARS_MAX
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan, refuse_large
from memorywire.procedures.parse import check, object_of


async def merge(request: Merge, context: Context) -> Merged:
    """Merge the duplicates into a new version of the surviving record."""
    plan = await plan_merge(request, context)
    result = await commit_one(plan, context)
    survivor = plan.change.put[0].record
    ended_ids = tuple(end.id for end in plan.change.end)
    return Merged(
        canonical=survivor.id,
        version=survivor.version,
        merged_count=0 if result.is_staged else len(ended_ids),
        merged_ids=() if result.is_staged else ended_ids,
        strategy_used=request.strategy,
        **result.receipt(),
        would_merge_ids=ended_ids if result.is_staged else None,
    )


async def plan_merge(request: Merge, context: Context) -> Plan:
    """Plan the change that puts a new version of the survivor and ends the others."""
    request = replace(request, reasoning=context.without_secrets(request.reasoning))
    canonical, duplicates = await _read(request, context)
    survivor = _choose_survivor(canonical, duplicates, request.strategy)
    losers = [record for record in (canonical, *duplicates) if record.id != survivor.id]
    record = merged_record(survivor, losers, request.strategy, context.clock())
    like = survivor.version if record.text == survivor.text else None
    change = Change(
        id=context.mint(),
        operation="merge",
        scope=request.scope,
        at=record.updated_at,
        put=(Put(record=record, base=Base.LIVE, like=like),),
        end=tuple(
            End(id=loser.id, version=loser.version, reason=EndReason.MERGED, into=survivor.id)
            for loser in losers
        ),
        reason=request.reasoning,
    )
    return Plan(change=change, request=request)


async def _read(request: Merge, context: Context) -> tuple[Record, list[Record]]:
    if request.canonical in request.duplicates:
        raise InvalidRequest("the canonical memory cannot be its own duplicate", field="duplicates")
    now = context.clock()
    records = await context.store.get(request.scope, (request.canonical, *request.duplicates))
    alive = {record.id: record for record in records if record.alive(now)}
    if request.canonical not in alive:
        raise _not_found(request.canonical, "canonical")
    missing = [id for id in request.duplicates if id not in alive]
    if missing:
        raise _not_found(missing[0], "duplicates")
    canonical = alive[request.canonical]
    if any(record.scope != canonical.scope for record in alive.values()):
        raise InvalidRequest("a merge cannot cross users", field="duplicates")
    if request.if_version is not None and canonical.version != request.if_version:
        raise Conflict(
            f"{canonical.id} is at version {canonical.version}, not {request.if_version}",
            field="if_version",
            fix="read it again and decide on the current version",
        )
    return canonical, [alive[id] for id in request.duplicates]


def _not_found(id: str, field: str) -> NotFound:
    return NotFound(
        f"there is no live memory {id}",
        field=field,
        fix="merge takes ids of memories, not names of people or things: find the ids with recall or list",
    )


def _choose_survivor(canonical: Record, duplicates: Sequence[Record], strategy: Strategy) -> Record:
    if strategy is not Strategy.KEEP_HIGHEST_CONFIDENCE:
        return canonical
    return min((canonical, *duplicates), key=lambda r: (-r.confidence, r.created_at, r.id))


def merged_record(survivor: Record, losers: Sequence[Record], strategy: Strategy, now: int) -> Record:
    """Build the next version of the survivor, with the fields that the strategy takes from the others."""
    following = replace(
        survivor,
        version=survivor.version + 1,
        updated_at=now,
        merged_from=(*survivor.merged_from, *(loser.id for loser in losers)),
        trust=Trust.lowest(survivor.trust, *(loser.trust for loser in losers)),
    )
    if strategy is not Strategy.MERGE_CONTENT:
        return following
    by_age = sorted((survivor, *losers), key=lambda r: (r.created_at, r.id))
    metadata: dict[str, Json] = {}
    for record in by_age:
        metadata |= record.metadata
    refuse_large(metadata, "strategy")
    return replace(
        following,
        content=_join_texts([survivor, *(record for record in by_age if record is not survivor)]),
        metadata=metadata,
        tags=tuple(dict.fromkeys(tag for record in by_age for tag in record.tags)),
        confidence=max(record.confidence for record in by_age),
    )


def _join_texts(records: Sequence[Record]) -> str:
    texts = [
        record.content for record in records if isinstance(record.content, str) and not _is_machine(record)
    ]
    if len(texts) < len(records):
        raise InvalidRequest(
            "structured contents cannot be merged", field="strategy", fix="use keep_canonical"
        )
    text = "\n".join(texts)
    if len(text) > CONTENT_CHARS_MAX:
        raise InvalidRequest(f"the joined content is longer than {CONTENT_CHARS_MAX}", field="strategy")
    if records[0].type is MemoryType.PROCEDURAL:
        check(text)  # two plain texts may form a definition when joined
    return text


def _is_machine(record: Record) -> bool:
    """Whether the content is the definition of a procedure, which appended text would break."""
    return record.type is MemoryType.PROCEDURAL and object_of(record.content) is not None
