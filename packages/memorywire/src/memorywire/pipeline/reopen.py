"""Taking a decision back: what it did to memory is undone, and its proposals wait again."""

from collections.abc import Sequence
from dataclasses import replace

from memorywire.journal.contract import Act
from memorywire.model.change import Base, Change, Footprint, Put
from memorywire.model.errors import Conflict, InvalidRequest
from memorywire.model.proposal import Decision, Proposal, State
from memorywire.model.requests import Remember, Undo
from memorywire.model.review import Decide, Decided, Verb
from memorywire.pipeline.commit import Submitted
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_about, entry_of
from memorywire.pipeline.outbox import carry_out
from memorywire.pipeline.review import moved
from memorywire.pipeline.undo import taken_back

_DECIDED = frozenset({State.APPROVED, State.REJECTED})


async def reopen(proposals: Sequence[Proposal], request: Decide, context: Context) -> Decided:
    """Take one decision back, on all the proposals it was made on; raise and leave everything as it was."""
    done_by = {_change_id(proposal) for proposal in proposals}
    if len(done_by) > 1:
        raise InvalidRequest(
            "these were not decided together", field="proposal_ids", fix="reopen decision by decision"
        )
    [change_id] = done_by
    change = None if change_id is None else await _undoing(proposals, change_id, context)
    decision = decision_of(request, None if change is None else change.id, context)
    waiting = tuple(_waiting_again(proposal, context) for proposal in proposals)
    entries = tuple(
        entry_about(one, "reopened", decision.by, decision.at, why=decision.reason) for one in waiting
    )
    accepted = await context.governance.rejected.accepting(proposals)
    act = Act(proposals=waiting, entries=entries, accepted=accepted)
    context.governance.rejected.forget()
    if change is None:
        await context.governance.journal.write(act)
        return receipt(request, State.PENDING, decision, None)
    told = entry_of(change, "committed", context, proposals=[proposal.id for proposal in proposals])
    done = await carry_out(change, replace(act, entries=(told, *entries)), context)
    return receipt(request, State.PENDING, decision, done)


def decision_of(request: Decide, change_id: str | None, context: Context) -> Decision:
    return Decision(
        by=context.governance.caller,
        at=context.clock(),
        verb=request.verb.value,
        reason=context.without_secrets(request.reason),
        change_id=change_id,
    )


def receipt(request: Decide, state: State, decision: Decision, done: Submitted | None) -> Decided:
    return Decided(
        proposal_ids=request.proposal_ids,
        state=state,
        by=decision.by,
        at=decision.at,
        status=None if done is None else done.status,
        change_id=None if done is None else done.change_id,
        outcomes=() if done is None else done.outcomes,
    )


def _change_id(proposal: Proposal) -> str | None:
    """The change that came of the decision, if any did."""
    if proposal.state not in _DECIDED or proposal.decision is None:
        raise Conflict(f"proposal {proposal.id} is {proposal.state}", field="proposal_id")
    if proposal.request is None:
        raise Conflict("what it said was erased", field="proposal_id")
    return proposal.decision.change_id


async def _undoing(proposals: Sequence[Proposal], change_id: str, context: Context) -> Change:
    scope = proposals[0].scope
    wide = replace(scope, user=None) if len({proposal.scope for proposal in proposals}) > 1 else scope
    footprint = await context.historian("reopen").footprint(wide, change_id)
    if footprint is None:
        raise Conflict("what it did to memory cannot be found any more", field="proposal_id")
    _refuse_a_part(proposals, footprint)
    undo = Undo(scope=wide, change_id=change_id)
    return await taken_back(undo, footprint, context)


def _refuse_a_part(proposals: Sequence[Proposal], footprint: Footprint) -> None:
    """Refuse to reopen a part of a batch: all of it is taken back, or nothing."""
    first = proposals[0].decision
    if first is None or first.verb != Verb.APPROVE:
        return  # decided alone
    named = {id for proposal in proposals for id in proposal.touched}
    if {version.id for version in (*footprint.began, *footprint.ended)} - named:
        raise Conflict(
            "others were decided with it",
            field="proposal_ids",
            fix="name all proposals of the decision, or undo its change",
        )


def _waiting_again(proposal: Proposal, context: Context) -> Proposal:
    """The proposal as pending, with a plan that can be committed again: new change id, new memory ids."""
    again = moved(proposal, State.PENDING, None)
    if proposal.change is None:
        return again
    named = isinstance(proposal.request, Remember) and proposal.request.id is not None
    puts = tuple(put if named else _afresh(put, context) for put in proposal.change.put)
    change = replace(proposal.change, id=context.mint(), put=puts, key=None, fingerprint=None)
    return replace(again, change=change)


def _afresh(put: Put, context: Context) -> Put:
    """The put with a new id, if it begins a new memory: its first id has a past by now."""
    if put.base is not Base.NOTHING:
        return put
    return replace(put, record=replace(put.record, id=context.mint()))
