"""Carries out a change on a store that may be away: what it missed is kept as a debt, and repaid in order."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from memorywire.journal.contract import Act
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import (
    Conflict,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreError,
)
from memorywire.model.proposal import Debt
from memorywire.pipeline.commit import Submitted, committed, touched, untouched, with_vectors
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_of
from memorywire.pipeline.replicate import EARLIER, anchor_of, spread, told_late, tried
from memorywire.pipeline.retraction import only_proposed
from memorywire.stores.contract import Fanned, Store

# A change that was owed so recently is probably on its way in some process; it is not ours to repay.
_ON_ITS_WAY_MS = 30_000
_LOOK_SECONDS = 1.0
_PAGE = 50


async def carry_out(change: Change, act: Act, context: Context) -> Submitted:
    """Commit the change and write the act down, in one transaction where store and journal share a file."""
    journal = context.governance.journal
    if await only_proposed(change, context):
        await journal.write(act)
        return replace(untouched(context), change_id=change.id)
    if isinstance(context.store, Fanned):
        return await spread(change, act, context.store, await mark_behind(context.store, context), context)
    if not journal.shares(context.store):
        return await _carry_out_elsewhere(change, act, context)
    ready = await with_vectors(change, context)
    await context.timed(context.store.name, journal.write(act, ready))
    return committed(change.id, touched(change), context)


async def _carry_out_elsewhere(change: Change, act: Act, context: Context) -> Submitted:
    """Commit to a store that does not share the journal's file.

    The change is written down as a debt before the store is asked, so that it survives a crash in between.
    """
    journal, name = context.governance.journal, context.store.name
    ready = await with_vectors(change, context)
    debt = Debt(store=name, change=change, at=context.clock())
    if not await repay(context):
        return await _defer(debt, act, EARLIER, context)
    await journal.write(Act(debts=(debt,)))
    paid = ((name, change.id),)
    try:
        await context.timed(name, context.store.write(ready))
    except StoreError as error:
        return await _defer(debt, act, error.detail, context)
    except MemorywireError:
        await journal.write(Act(paid=paid))
        raise
    await journal.write(replace(act, paid=(*act.paid, *paid)))
    return committed(change.id, touched(change), context)


async def _defer(debt: Debt, act: Act, error: str, context: Context) -> Submitted:
    """Keep the change as a debt, because the store failed; it is written as soon as the store takes it."""
    owed = tried(debt, error, context)
    entries = tuple(told_late(entry, [debt.store], kept=False) for entry in act.entries)
    await context.governance.journal.write(replace(act, debts=(owed,), entries=entries))
    return Submitted(
        status=Status.DEFERRED,
        outcomes=(Outcome(store=debt.store, error=error),),
        change_id=debt.change.id,
    )


async def keep_repaying(context: Context) -> NoReturn:
    """Repay what falls due, until cancelled."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        with suppress(StoreError):  # the journal did not answer: there is another look
            await repay(context)


async def repay(context: Context, *, all_of_them: bool = False) -> bool:
    """Write what the stores are owed, in order; True when nothing is owed any more.

    A debt is repaid once a try has failed or it was left behind by a process, and only when it is due;
    `all_of_them` repays the others too. A debt that cannot be repaid holds up those behind it.
    """
    if isinstance(context.store, Fanned):
        return not await _repay_each(context.store, context, all_of_them=all_of_them)
    return await _repay_store(context.store.name, context.store, context, all_of_them=all_of_them)


async def mark_behind(fan: Fanned, context: Context) -> frozenset[str]:
    """Mark and name the children that are owed earlier changes: later changes wait behind those."""
    owed = await context.governance.journal.behind(context.clock() - _ON_ITS_WAY_MS)
    late = owed & frozenset(fan.children)
    fan.mark_behind(late)
    return late


async def _repay_each(fan: Fanned, context: Context, *, all_of_them: bool = False) -> list[str]:
    """The children that are still owed something, after what is due was repaid."""
    anchor = anchor_of(fan, context.governance.journal)
    names = [name for name in fan.children if name != anchor]
    free = await asyncio.gather(
        *(_repay_store(name, fan.child(name), context, all_of_them=all_of_them) for name in names)
    )
    await mark_behind(fan, context)
    return [name for name, is_free in zip(names, free, strict=True) if not is_free]


async def _repay_store(name: str, store: Store, context: Context, *, all_of_them: bool) -> bool:
    journal = context.governance.journal
    left, after, flying = context.clock() - _ON_ITS_WAY_MS, 0, False
    while owed := await journal.debts(name, after=after, limit=_PAGE):
        for debt in owed:
            if not (all_of_them or debt.tries or debt.at < left):
                flying = True  # whatever comes behind it may depend on it
                continue
            if flying or (not all_of_them and debt.due_at > context.clock()):
                return False
            if not await _repay(debt, store, context):
                return False
        after = owed[-1].position
    return True


async def _repay(debt: Debt, store: Store, context: Context) -> bool:
    journal, paid = context.governance.journal, ((debt.store, debt.change.id),)
    try:
        await store.write(await with_vectors(debt.change, context))
        entry = entry_of(debt.change, "paid", context)
    except (StoreError, EmbedderFailed) as error:
        # What was not asked was not tried, so the next try does not wait twice as long.
        if not isinstance(error, StoreError) or error.asked:
            await journal.write(Act(debts=(tried(debt, error.detail, context),)))
        return False
    except MemorywireError as refusal:  # the store has moved on: what was promised cannot be done any more
        entry = replace(entry_of(debt.change, "lapsed", context, why=refusal.code), contents=())
    with suppress(Conflict):  # another process was faster, and wrote it down
        await journal.write(Act(entries=(replace(entry, at=context.clock()),), paid=paid, if_owed=True))
    return True


async def write_off(change_id: str, why: str, context: Context, *, store: str | None = None) -> Debt:
    """A person gives up what one store is owed, named if there are several; the ledger says who and why."""
    journal = context.governance.journal
    owed = [debt for debt in await journal.debts(store) if debt.change.id == change_id]
    if not owed:
        raise NotFound(f"no debt of change {change_id}", field="change_id", fix="see: memorywire debts")
    if len(owed) > 1:
        names = ", ".join(debt.store for debt in owed)
        raise InvalidRequest("several stores are owed that change", field="store", fix=f"name one of {names}")
    [debt] = owed
    said = context.without_secrets(why)
    entry = entry_of(debt.change, "written_off", context, store=debt.store, why=said)
    entry = replace(entry, contents=(), at=context.clock())
    await journal.write(Act(entries=(entry,), paid=((debt.store, change_id),), if_owed=True))
    return debt
