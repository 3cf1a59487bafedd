"""Carrying out a change, and owing it: what a store missed is written down first, and repaid in order."""

from dataclasses import replace

from memorywire.engine.commit import Submitted, committed, touched, with_vectors
from memorywire.engine.ledger import entry_of
from memorywire.engine.tools import Tools
from memorywire.journal.contract import Act
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError, NotFound, StoreError
from memorywire.model.proposal import Debt

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 3_600_000
# A change that was owed so recently is probably on its way in some process; it is not ours to repay.
_ON_ITS_WAY_MS = 30_000


async def carry_out(change: Change, act: Act, tools: Tools) -> Submitted:
    """Commit the change and write the act down, in one transaction where store and journal share a file."""
    journal = tools.governance.journal
    if not journal.shares(tools.store):
        return await _carry_out_elsewhere(change, act, tools)
    await journal.write(act, await with_vectors(change, tools))
    return committed(change.id, touched(change), tools)


async def _carry_out_elsewhere(change: Change, act: Act, tools: Tools) -> Submitted:
    """The change is owed before the store is asked, so that whatever happens then, it is not forgotten."""
    journal, name = tools.governance.journal, tools.store.name
    ready = await with_vectors(change, tools)
    debt = Debt(store=name, change=change, at=tools.clock())
    if not await repay(tools):
        return await _defer(debt, act, "earlier changes wait for this store", tools)
    await journal.write(Act(debts=(debt,)))
    paid = ((name, change.id),)
    try:
        await tools.store.write(ready)
    except StoreError as error:
        return await _defer(debt, act, error.detail, tools)
    except MemorywireError:
        await journal.write(Act(paid=paid))
        raise
    await journal.write(replace(act, paid=(*act.paid, *paid)))
    return committed(change.id, touched(change), tools)


async def _defer(debt: Debt, act: Act, error: str, tools: Tools) -> Submitted:
    """The promise is kept in the journal: the change is written as soon as the store takes it."""
    owed = tried(debt, error, tools)
    entries = tuple(replace(entry, kind="deferred") for entry in act.entries)
    await tools.governance.journal.write(replace(act, debts=(owed,), entries=entries))
    return Submitted(
        status=Status.DEFERRED,
        outcomes=(Outcome(store=debt.store, error=error),),
        change_id=debt.change.id,
    )


def tried(debt: Debt, error: str, tools: Tools) -> Debt:
    """The debt after one more vain try; the waits grow."""
    wait = min(_FIRST_WAIT_MS * 2**debt.tries, _LONGEST_WAIT_MS)
    return replace(debt, tries=debt.tries + 1, due_at=tools.clock() + wait, error=error)


async def repay(tools: Tools, *, all_of_them: bool = False) -> bool:
    """Write what the store is owed, in order, and say whether nothing is owed any more.

    Only what failed before or was left behind is repaid, unless `all_of_them` is meant.
    """
    owed = await tools.governance.journal.debts(tools.store.name)
    left = tools.clock() - _ON_ITS_WAY_MS
    for debt in owed:
        if all_of_them or debt.tries or debt.at < left:
            if not all_of_them and debt.due_at > tools.clock():
                return False
            if not await _repay(debt, tools):
                return False
    return True


async def _repay(debt: Debt, tools: Tools) -> bool:
    journal, paid = tools.governance.journal, ((debt.store, debt.change.id),)
    try:
        await tools.store.write(await with_vectors(debt.change, tools))
    except StoreError as error:
        await journal.write(Act(debts=(tried(debt, error.detail, tools),)))
        return False
    except MemorywireError as refusal:  # the store has moved on: what was promised cannot be done any more
        entry = entry_of(debt.change, "lapsed", tools, why=refusal.code)
        await journal.write(Act(entries=(replace(entry, contents=(), at=tools.clock()),), paid=paid))
        return True
    entry = replace(entry_of(debt.change, "paid", tools), at=tools.clock())
    await journal.write(Act(entries=(entry,), paid=paid))
    return True


async def write_off(change_id: str, why: str, tools: Tools) -> Debt:
    """A person gives a debt up; the ledger says who and why."""
    journal = tools.governance.journal
    for debt in await journal.debts():
        if debt.change.id == change_id:
            entry = entry_of(debt.change, "written_off", tools, store=debt.store, why=why)
            entry = replace(entry, contents=(), at=tools.clock())
            await journal.write(Act(entries=(entry,), paid=((debt.store, change_id),)))
            return debt
    raise NotFound(f"no debt of change {change_id}", field="change_id")
