"""Carries out a change on several stores: one decides, the others follow, and what one misses it is owed."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from memorywire.journal.contract import Act, Journal
from memorywire.journal.entries import Entry
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import StoreError
from memorywire.model.proposal import Debt
from memorywire.pipeline.commit import Submitted, touched, with_vectors
from memorywire.pipeline.context import Context
from memorywire.stores.contract import Fanned, Written

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
