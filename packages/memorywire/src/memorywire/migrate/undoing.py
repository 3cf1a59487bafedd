"""Taking an import back: what it began ends, what it replaced returns; what moved since is left alone."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.model.change import Base, Change, End, EndReason, Put, Version
from memorywire.model.errors import NotFound
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_of
from memorywire.pipeline.outbox import carry_out

_MEMORIES = 1000  # of one change: a transaction others wait for


class TakenBack(Struct, frozen=True, kw_only=True):
    """What an undo of a batch did: `moved` were changed since and stay; `change_ids` can be undone."""

    batch: str
    ended: int
    restored: int
    moved: tuple[str, ...]
    change_ids: tuple[str, ...]


async def take_back(batch: str, context: Context, tenant: str) -> TakenBack:
    """Undo everything that an import of this batch did, as far as nobody has changed it since."""
    members = await _members(batch, context, tenant)
    ours = frozenset(id for _, id in members)
    parts: dict[str, list[Put | End]] = {}
    moved: list[str] = []
    for agent, ids in (await _touched(members, context, tenant)).items():
        for id in ids:
            chain = await context.historian("undo").history(Scope(tenant=tenant, agent=agent), id)
            part = _taken_back(chain, ours, context.clock())
            if part is not None:
                parts.setdefault(agent, []).append(part)
            elif chain[-1].began_by not in ours and chain[-1].ended is None:
                moved.append(id)
    done = [await _carried(Scope(tenant=tenant, agent=a), batch, some, context) for a, some in parts.items()]
    every = [part for some in parts.values() for part in some]
    return TakenBack(
        batch=batch,
        ended=sum(isinstance(part, End) for part in every),
        restored=sum(isinstance(part, Put) for part in every),
        moved=tuple(moved),
        change_ids=tuple(id for ids in done for id in ids),
    )


async def _members(batch: str, context: Context, tenant: str) -> list[tuple[str, str]]:
    """The changes of a batch (agent, id) in their order, as the ledger names them."""
    entries = await context.governance.journal.about(tenant, batch)
    named = [tuple(one) for entry in reversed(entries) for one in entry.get("details", {}).get("changes", ())]
    if not named:
        raise NotFound(f"no import was batch {batch}", field="undo", fix="the import printed its batch")
    return list(dict.fromkeys((str(agent), str(id)) for agent, id in named))


async def _touched(
    members: Sequence[tuple[str, str]], context: Context, tenant: str
) -> dict[str, dict[str, None]]:
    """The memories that these changes began or ended, by agent, each once and in the order it came."""
    touched: dict[str, dict[str, None]] = {}
    for agent, change_id in members:
        found = await context.historian("undo").footprint(Scope(tenant=tenant, agent=agent), change_id)
        versions = () if found is None else (*found.began, *found.ended)
        touched.setdefault(agent, {}).update(dict.fromkeys(version.id for version in versions))
    return touched


def _taken_back(chain: Sequence[Version], ours: frozenset[str], now: int) -> Put | End | None:
    latest = chain[-1]
    before = [version for version in chain if version.began_by not in ours and version.record is not None]
    if latest.began_by not in ours:
        return None  # somebody has written it since
    if before and before[-1].ended_by in ours and before[-1].record is not None:
        old = before[-1].record
        return Put(
            record=replace(old, version=latest.number + 1, updated_at=now),
            base=Base.LIVE if latest.ended is None else Base.ENDED,
            like=old.version,
        )
    if latest.ended is not None:
        return None
    return End(id=latest.id, version=latest.number, reason=EndReason.UNDONE)


async def _carried(scope: Scope, batch: str, parts: Sequence[Put | End], context: Context) -> list[str]:
    done: list[str] = []
    for at in range(0, len(parts), _MEMORIES):
        some = parts[at : at + _MEMORIES]
        change = Change(
            id=context.mint(),
            operation="undo",
            scope=scope,
            at=context.clock(),
            put=tuple(part for part in some if isinstance(part, Put)),
            end=tuple(part for part in some if isinstance(part, End)),
            reason=f"import {batch} was taken back",
        )
        await carry_out(change, Act(entries=(entry_of(change, "committed", context, batch=batch),)), context)
        done.append(change.id)
    return done
