"""What a migration would lose, field by field, found out before anything is written."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from memorywire.migrate.chronicle import changes_of, current
from memorywire.model.change import Base
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Store, SupportsChangeLog, SupportsHistory


class Loss(Struct, frozen=True, kw_only=True):
    """A field that does not come along, how many memories have it, and why."""

    field: str
    count: int
    why: str


async def foreseen(source: Store, scopes: Sequence[Scope], context: Context) -> tuple[Loss, ...]:
    """What moving this source would lose; all of it is read, and nothing is written."""
    target, seen = context.store, Counter[str]()
    for scope in scopes:
        async for change in changes_of(source, scope):
            seen["past"] += sum(put.base is not Base.NOTHING for put in change.put)
            seen["ended"] += len(change.end)
        async for page in current(source, scope):
            seen["recalled"] += sum(record.recalled_at is not None for record in page)
            seen["numbered"] += sum(record.version > 1 for record in page)
    return tuple(loss for loss in _losses(seen, source, target) if loss.count)


def _losses(seen: Counter[str], source: Store, target: Store) -> list[Loss]:
    found = [
        Loss(
            field="recalled_at",
            count=seen["recalled"],
            why="when a memory was recalled is known to one store",
        )
    ]
    if not isinstance(source, SupportsChangeLog):
        found.append(Loss(field="version", count=seen["numbered"], why=f"{source.name} hands no history out"))
    if not isinstance(target, SupportsHistory):
        found.append(Loss(field="history", count=seen["past"], why=f"{target.name} keeps the last version"))
        found.append(Loss(field="ended", count=seen["ended"], why=f"{target.name} keeps what is live"))
    return found
