"""Moving a memory from one store to another: what would be lost, the move itself, and whether it arrived."""

from collections.abc import AsyncIterator, Callable, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from memorywire.journal.entries import record_digest
from memorywire.migrate.apply import Landing, land
from memorywire.migrate.chronicle import agents_of, changes_of, current, kept_of, told_by
from memorywire.migrate.conflicts import OnConflict
from memorywire.migrate.losses import foreseen
from memorywire.migrate.names import batch_of
from memorywire.migrate.sanitize import as_named
from memorywire.model.change import Change
from memorywire.model.query import Query
from memorywire.model.record import Json, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Store

_SAMPLES = 20
_NAMED = 10
_NEAREST = 5


class Move(Struct, frozen=True, kw_only=True):
    """From which store, whose memories, called what: `name` is the same for the same two places."""

    source: Store
    tenant: str
    name: str
    agents: tuple[str, ...] = ()
    user: str | None = None
    on_conflict: OnConflict = OnConflict.SKIP
    dry_run: bool = False

    @property
    def landing(self) -> Landing:
        return Landing(
            tenant=self.tenant,
            batch=batch_of(self.name),
            on_conflict=self.on_conflict,
            dry_run=self.dry_run,
            trusting=as_named,
        )


async def move(asked: Move, context: Context, tell: Callable[[int], None]) -> dict[str, Json]:
    """Say what would be lost; then, unless it is a dry run, move everything and compare both sides."""
    source = told_by(asked.source)
    scopes = await _scopes(source, asked)
    losses = [asdict(loss) for loss in await foreseen(source, scopes, context)]
    landed = await land(_all(source, scopes), context, asked.landing, tell)
    answer: dict[str, Json] = {**asdict(landed), "losses": losses, "dry_run": asked.dry_run}
    if not asked.dry_run:
        answer["verified"] = await compared(source, context, scopes)
    return answer


async def _scopes(source: Store, asked: Move) -> list[Scope]:
    agents = await agents_of(source, asked.tenant, asked.agents)
    return [Scope(tenant=asked.tenant, agent=agent, user=asked.user) for agent in agents]


async def _all(source: Store, scopes: Sequence[Scope]) -> AsyncIterator[Change]:
    for scope in scopes:
        async for change in changes_of(source, scope):
            yield change


async def compared(source: Store, context: Context, scopes: Sequence[Scope]) -> dict[str, Json]:
    """Whether both sides have the same memories, and give the same answers to a sample of questions."""
    here: dict[str, bytes] = {}
    differing: list[str] = []
    samples: list[Record] = []
    for scope in scopes:
        async for record in _live(source, scope):
            here[record.id] = _fingerprint(record)
            samples += [record] if len(samples) < _SAMPLES else []
        differing += [
            record.id
            async for record in _live(context.store, scope)
            if here.pop(record.id, None) != _fingerprint(record)
        ]
    missing = sorted(here)
    agreed = [await _agree(record, source, context) for record in samples]
    return {
        "ok": not (missing or differing),
        "missing": len(missing),
        "differing": len(differing),
        "named": [*missing[:_NAMED], *differing[:_NAMED]],
        "asked": len(agreed),
        "agreed": sum(agreed),
    }


async def _live(store: Store, scope: Scope) -> AsyncIterator[Record]:
    async for page in current(store, scope):
        for record in page:
            yield record


def _fingerprint(record: Record) -> bytes:
    """A digest of everything but the version, which starts anew where no history came along."""
    return record_digest(replace(record, version=1))


async def _agree(record: Record, source: Store, context: Context) -> bool:
    """Whether a memory, asked for in its own words, is found by the target if the source finds it."""
    [vector] = await context.embedder.embed([record.meaning])
    query = Query(where=kept_of(record.scope), text=record.words, vector=vector)
    there, here = [
        record.id in {hit.record.id for hit in await store.search(query, _NEAREST)}
        for store in (source, context.store)
    ]
    return here or not there
