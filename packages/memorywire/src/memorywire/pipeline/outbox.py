"""Carries out a change on a store that may be away: what it missed is kept as a debt, and repaid in order."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import NoReturn

from msgspec.structs import replace

from memorywire.journal.contract import Act, Journal, Wanted
from memorywire.journal.entries import Entry
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
from memorywire.model.record import Record, Scope
from memorywire.pipeline.commit import Submitted, committed, touched, untouched, with_vectors
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_of
from memorywire.stores.contract import Fanned, Store, SupportsHistory, Written

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 60_000
EARLIER = "earlier changes wait for this store"


def anchor_of(fan: Fanned, journal: Journal) -> str | None:
    """The child, if any, that commits together with the journal: it is never behind, and never lies."""
    return next((name for name in fan.children if journal.shares(fan.child(name))), None)


def tried(debt: Debt, error: str, context: Context) -> Debt:
    """The debt after another failed try; the wait doubles each time."""
    wait = min(_FIRST_WAIT_MS * 2**debt.tries, _LONGEST_WAIT_MS)
    return replace(debt, tries=debt.tries + 1, due_at=context.clock() + wait, error=error)


def told_late(entry: Entry, stores: Sequence[str], *, kept: bool) -> Entry:
    """The ledger entry, naming the stores that still miss the change; `deferred` when no store has it."""
    if entry.kind != "committed" or not stores:
        return entry
    details = {**entry.details, "deferred": list(stores)}
    return replace(entry, kind="committed" if kept else "deferred", details=details)


async def spread(change: Change, act: Act, fan: Fanned, late: Collection[str], context: Context) -> Submitted:
    """Write the change to every child; a child that fails is owed it.

    Raises what the deciding child refuses; then no child has it. `late` are the children that are owed
    earlier changes and must get those first.
    """
    journal = context.governance.journal
    ready = await with_vectors(change, context)
    anchor = anchor_of(fan, journal)
    debts = {
        name: Debt(store=name, change=change, at=context.clock()) for name in fan.children if name != anchor
    }
    debts |= {name: tried(debts[name], EARLIER, context) for name in sorted(late)}
    owed = (*debts.values(), *await _forgetful(change, late, journal))
    current = [name for name in debts if name not in late]
    missed = dict.fromkeys(late, EARLIER)
    if anchor is not None:
        entries = tuple(told_late(entry, sorted(late), kept=True) for entry in act.entries)
        together = journal.write(replace(act, debts=(*act.debts, *owed), entries=entries), ready)
        await context.timed(anchor, together)
        missed |= await _follow(ready, current, fan, context)
        rest = Act()
    else:
        registered = await _of_memories(change, journal)
        await journal.write(Act(debts=owed))
        missed |= await _decide(ready, current, fan, context)
        rest = replace(act, registered=registered)
    return await _close(change, rest, debts, missed, fan, context)


async def _forgetful(change: Change, late: Collection[str], journal: Journal) -> list[Debt]:
    """Earlier debts that contain what this change erases, rewritten without it."""
    erased = frozenset(change.erase)
    if not erased:
        return []
    earlier = [debt for name in late for debt in await journal.debts(name)]
    return [replace(debt, change=_without(debt.change, erased)) for debt in earlier if _says(debt, erased)]


async def _of_memories(change: Change, journal: Journal) -> Change:
    """The change without ids that only proposals have: no memory had them, so one may still get them."""
    known = await journal.known(change.scope.tenant, change.erase)
    unheard = [id for id in change.erase if id not in known]
    held = await journal.proposed(change.scope, unheard) if unheard else frozenset()
    return replace(change, erase=tuple(id for id in change.erase if id not in held))


def _says(debt: Debt, erased: frozenset[str]) -> bool:
    return any(put.record.id in erased for put in debt.change.put)


def _without(change: Change, erased: frozenset[str]) -> Change:
    return replace(
        change,
        put=tuple(put for put in change.put if put.record.id not in erased),
        end=tuple(end for end in change.end if end.id not in erased),
    )


async def _follow(ready: Change, names: Sequence[str], fan: Fanned, context: Context) -> dict[str, str]:
    """Write to the followers; why each that failed does not hold the change now.

    A follower that refuses may only miss an earlier change that is still on its way to it.
    """
    told = await _told(ready, names, fan, context) if names else []
    return {written.store: written.error.detail for written in told if written.error is not None}


async def _told(ready: Change, names: Sequence[str], fan: Fanned, context: Context) -> list[Written]:
    told = await fan.write_each(ready, names)
    for written in told:
        context.took(written.store, written.elapsed)
    return told


async def _decide(ready: Change, names: Sequence[str], fan: Fanned, context: Context) -> dict[str, str]:
    """Write to the children until one answers: it decides whether the change is possible, the rest follow."""
    missed: dict[str, str] = {}
    for place, name in enumerate(names):
        (written,) = await _told(ready, [name], fan, context)
        if written.error is None:
            return missed | await _follow(ready, names[place + 1 :], fan, context)
        if not isinstance(written.error, StoreError):
            await context.governance.journal.write(
                Act(paid=tuple((child, ready.id) for child in fan.children))
            )
            raise written.error
        missed[name] = written.error.detail
    return missed


async def _close(
    change: Change,
    rest: Act,
    debts: Mapping[str, Debt],
    missed: Mapping[str, str],
    fan: Fanned,
    context: Context,
) -> Submitted:
    """Write down who holds the change and who is owed it."""
    holding = frozenset(fan.children) - missed.keys()
    committed = context.routing.satisfied(holding, fan.children)
    entries = tuple(told_late(entry, sorted(missed), kept=bool(holding)) for entry in rest.entries)
    owed = tuple(
        tried(debts[name], error, context) for name, error in missed.items() if not debts[name].tries
    )
    paid = tuple((name, change.id) for name in debts if name in holding)
    await context.governance.journal.write(
        replace(rest, entries=entries, debts=(*rest.debts, *owed), paid=(*rest.paid, *paid))
    )
    fan.mark_behind(missed)
    return Submitted(
        status=Status.COMMITTED if committed else Status.DEFERRED,
        outcomes=tuple(_outcome(name, change, missed) for name in fan.children),
        change_id=change.id,
    )


def _outcome(name: str, change: Change, missed: Mapping[str, str]) -> Outcome:
    if name in missed:
        return Outcome(store=name, error=missed[name])
    return Outcome(store=name, count=touched(change))


async def unsaid(change: Change, context: Context) -> tuple[tuple[Scope, str], ...]:
    """The scopes and digests of all that the change erases, to remove proposals with the same words."""
    if not change.erase:
        return ()
    wanted = Wanted(tenant=change.scope.tenant, agent=change.scope.agent)
    if not await context.governance.journal.count(wanted):
        return ()
    return tuple({(record.scope, record.digest) for record in await _versions(change, context)})


async def only_proposed(change: Change, context: Context) -> bool:
    """Whether a change only erases ids that no memory has, so that no store needs to hear of it."""
    if not change.erase or change.put or change.end:
        return False
    proposed = await context.governance.journal.proposed(change.scope, change.erase)
    return proposed.issuperset(change.erase) and not await _versions(change, context)


async def _versions(change: Change, context: Context) -> list[Record]:
    store = context.store
    if not isinstance(store, SupportsHistory):
        return list(await store.get(change.scope, change.erase))
    chains = [await store.history(change.scope, id) for id in change.erase]
    return [version.record for chain in chains for version in chain if version.record is not None]


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
