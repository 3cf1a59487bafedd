"""Moves memories from one store to another: foresees losses, applies the changes, compares both stores."""

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from memorywire.journal.entries import record_digest
from memorywire.migrate.apply import ApplyOptions, apply_changes
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.history import (
    derive_batch_id,
    find_history_store,
    list_agents,
    read_changes,
    read_current,
    select_all,
)
from memorywire.migrate.sanitize import trust_operator
from memorywire.model.change import Base
from memorywire.model.query import Query
from memorywire.model.record import Json, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsHistory

_SAMPLES = 20
_IDS_SHOWN = 10
_HITS = 5


class Move(Struct, frozen=True, kw_only=True):
    """The source store and the owners to move; `name` is always the same for the same two stores."""

    source: Store
    tenant: str
    name: str
    agents: tuple[str, ...] = ()
    user: str | None = None
    on_conflict: OnConflict = OnConflict.SKIP
    dry_run: bool = False


async def move(request: Move, context: Context, report: Callable[[int], None]) -> dict[str, Json]:
    """List the losses; then, unless it is a dry run, move everything and compare both stores."""
    source = find_history_store(request.source)
    agents = await list_agents(source, request.tenant, request.agents)
    scopes = [Scope(tenant=request.tenant, agent=agent, user=request.user) for agent in agents]
    losses = await _find_losses(source, scopes, context.store)
    options = ApplyOptions(
        tenant=request.tenant,
        batch=derive_batch_id(request.name),
        on_conflict=request.on_conflict,
        dry_run=request.dry_run,
        trusting=trust_operator,
    )
    changes = (change for scope in scopes async for change in read_changes(source, scope))
    result = await apply_changes(changes, context, options, report)
    answer: dict[str, Json] = {**asdict(result), "losses": losses, "dry_run": request.dry_run}
    if not request.dry_run:
        answer["verified"] = await _compare_stores(source, context, scopes)
    return answer


async def _find_losses(source: Store, scopes: Sequence[Scope], target: Store) -> list[dict[str, Json]]:
    """Return the fields that a move would lose, the number of memories, and the reason; writes nothing."""
    counts = Counter[str]()
    for scope in scopes:
        async for change in read_changes(source, scope):
            counts["history"] += sum(put.base is not Base.NOTHING for put in change.put)
            counts["ended"] += len(change.end)
        async for page in read_current(source, scope):
            counts["recalled_at"] += sum(record.recalled_at is not None for record in page)
            counts["version"] += sum(record.version > 1 for record in page)
    reasons = {"recalled_at": "each store counts its own recalls"}
    if not isinstance(source, SupportsChangeLog):
        reasons["version"] = f"{source.name} has no change log"
    if not isinstance(target, SupportsHistory):
        reasons["history"] = f"{target.name} keeps the last version"
        reasons["ended"] = f"{target.name} keeps live memories only"
    return [
        {"field": name, "count": counts[name], "why": why} for name, why in reasons.items() if counts[name]
    ]


async def _compare_stores(source: Store, context: Context, scopes: Sequence[Scope]) -> dict[str, Json]:
    """Check that both stores have the same memories, and answer a sample of queries alike."""
    digests: dict[str, bytes] = {}
    differing: list[str] = []
    samples: list[Record] = []
    for scope in scopes:
        async for page in read_current(source, scope):
            digests |= {record.id: _digest(record) for record in page}
            samples += page[: _SAMPLES - len(samples)]
        async for page in read_current(context.store, scope):
            differing += [record.id for record in page if digests.pop(record.id, None) != _digest(record)]
    missing = sorted(digests)
    matches = [await _agree(record, source, context) for record in samples]
    return {
        "ok": not (missing or differing),
        "missing": len(missing),
        "differing": len(differing),
        "named": [*missing[:_IDS_SHOWN], *differing[:_IDS_SHOWN]],
        "asked": len(matches),
        "agreed": sum(matches),
    }


def _digest(record: Record) -> bytes:
    """Hash a record without its version, which begins at one if the history could not be moved."""
    return record_digest(replace(record, version=1))


async def _agree(record: Record, source: Store, context: Context) -> bool:
    """Whether the target finds a memory by its own text whenever the source does."""
    [vector] = await context.embedder.embed([record.meaning])
    query = Query(where=select_all(record.scope), text=record.words, vector=vector)
    in_source, in_target = [
        record.id in {hit.record.id for hit in await store.search(query, _HITS)}
        for store in (source, context.store)
    ]
    return in_target or not in_source
