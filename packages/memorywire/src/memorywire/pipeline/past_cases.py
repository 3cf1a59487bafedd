"""The past as cases for the policy: what was committed or held, as a rule would have judged it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from memorywire.journal.contract import Journal, Wanted
from memorywire.model.change import EndReason, Footprint
from memorywire.model.proposal import Proposal, State
from memorywire.model.record import Record, Scope
from memorywire.model.requests import Expire, Forget, Remember
from memorywire.pipeline.context import PAGE, Context
from memorywire.pipeline.govern import places
from memorywire.policy.cases import Case
from memorywire.policy.injection import screen
from memorywire.policy.rules import Rule, Verdict

_MOST = 20_000
_MARKER = "[REDACTED:"
OLDER = "older_changes"
"""Said in `degraded` when there were more changes than were looked at."""
UNKNOWN = frozenset({"caller", "similar_to_existing", "rejected_before", "undoes_person"})
"""Conditions that committed changes cannot answer: who asked, and what else was in memory then."""


async def past_cases(
    scope: Scope, since: int, context: Context
) -> tuple[list[tuple[str, Case, Verdict]], bool]:
    """What came since then, newest first: (id, case, what became of it); and whether that is all of it."""
    journal, historian = context.governance.journal, context.historian("test_rule")
    wanted = Wanted(tenant=scope.tenant, agent=scope.agent, user=scope.user)
    held = [proposal async for proposal in all_proposals(wanted, journal) if proposal.at >= since]
    approved = {one.decision.change_id for one in held if one.decision is not None}
    changes = [change for change in await historian.changes(scope, _MOST + 1) if change.at >= since]
    passed = [
        (change.id, _committed(print_), Verdict.ALLOW)
        for change in changes[:_MOST]
        if change.id not in approved
        if (print_ := await historian.footprint(scope, change.id)) is not None
    ]
    cases = [*passed, *((one.id, held_case(one), Verdict.HOLD) for one in reversed(held))]
    return cases, len(changes) <= _MOST


async def all_proposals(wanted: Wanted, journal: Journal) -> AsyncIterator[Proposal]:
    """Every proposal that is wanted, page by page; of all states unless some are named."""
    page = replace(wanted, states=wanted.states or frozenset(State), limit=PAGE)
    while found := await journal.proposals(page):
        for proposal in found:
            yield proposal
        page = replace(page, after=found[-1].id)


def held_case(proposal: Proposal) -> Case:
    """What was judged when the proposal was made, as far as it is still known."""
    asked, change = proposal.request, proposal.change
    records = () if change is None else tuple(put.record for put in change.put)
    return Case(
        operation=proposal.operation,
        scope=proposal.scope,
        caller=proposal.caller,
        records=records,
        ended=0 if change is None else len(change.end),
        erased=0 if change is None else len(change.erase),
        by_filter=isinstance(asked, Expire) or (isinstance(asked, Forget) and not asked.ids),
        secrets=proposal.secrets,
        instructions=proposal.instructions,
        similar=proposal.similar,
        approval_required=isinstance(asked, Remember) and asked.approval_required,
    )


def untold(rule: Rule) -> tuple[str, ...]:
    """The conditions of a rule that committed changes cannot tell: nothing recorded answers them."""
    inner = rule.when.unless.given.keys() if rule.when.unless else ()
    return tuple(sorted(UNKNOWN & {*rule.when.given, *inner}))


def _committed(footprint: Footprint) -> Case:
    change = footprint.change
    begun = {version.id for version in footprint.began}
    gone = [version for version in footprint.ended if version.id not in begun]
    erased = sum(version.reason is EndReason.ERASED for version in gone)
    records = tuple(version.record for version in footprint.began if version.record is not None)
    return Case(
        operation=change.operation,
        scope=change.scope,
        caller="",
        records=records,
        ended=len(gone) - erased,
        erased=erased,
        by_filter=change.operation == "expire",
        secrets=_secrets(records),
        instructions=tuple(sign for record in records for sign in screen(places(record))),
        ending=tuple(version.record for version in gone if version.record is not None),
    )


def _secrets(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """The places where secrets stood, told by the markers that redaction left there."""
    said = [item for record in records for item in places(record).items()]
    return tuple(("redacted", place) for place, text in said if _MARKER in text)
