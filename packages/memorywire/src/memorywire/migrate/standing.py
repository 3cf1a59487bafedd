"""Takes along what belongs to the memories: proposals that wait for a person, and rules in force."""

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.contract import Act, Edition
from memorywire.journal.entries import Entry
from memorywire.migrate.bundle import proposals_in, rules_in
from memorywire.migrate.names import derived
from memorywire.migrate.sanitize import Clean, cleaned
from memorywire.model.errors import Conflict
from memorywire.model.proposal import Proposal
from memorywire.model.record import Scope, Trust
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_about
from memorywire.policy.documents import with_rules


class Overseen(Struct, frozen=True, kw_only=True):
    """How many proposals wait here that did not before; and whether rules came in, or yielded to ours."""

    proposals: int = 0
    rules: str = "none"


def refuse_unsound_rules(path: Path, context: Context) -> None:
    """Refuse a file whose rules cannot be in force here: they would stop every request."""
    edition = rules_in(path)
    if edition is not None and context.office is not None:
        with_rules(context.office.rulebook.base, edition.rules)


async def settle_in(path: Path, context: Context, tenant: str, *, dry_run: bool, vouched: bool) -> Overseen:
    """Take over proposals under their ids, and the rules if nobody gave any here.

    A file that is not `vouched` for brings no rules, and what it proposes is untrusted.
    """
    if context.office is None:
        return Overseen()
    journal, proposals = context.office.journal, 0
    for proposal in (arrived(each, tenant, vouched=vouched) for each in proposals_in(path)):
        if await journal.proposal(tenant, proposal.id) is not None or _holds_a_secret(proposal, context):
            continue
        proposals += 1
        entry = entry_about(proposal, "staged", context.office.caller, context.clock())
        if not dry_run:
            await _propose(proposal, entry, context)
    edition = rules_in(path)
    if edition is not None and not vouched:
        return Overseen(proposals=proposals, rules="not trusted")
    return Overseen(proposals=proposals, rules=await _rules(edition, context, tenant, dry_run=dry_run))


async def _propose(proposal: Proposal, entry: Entry, context: Context) -> None:
    """Write the proposal; under another id where a tenant that this one cannot see has its id."""
    journal = context.governance.journal
    try:
        await journal.write(Act(proposals=(proposal,), entries=(entry,)))
    except Conflict:
        renamed = replace(proposal, id=derived(proposal.scope.tenant, proposal.id))
        if await journal.proposal(renamed.scope.tenant, renamed.id) is None:
            entry = replace(entry, subject=renamed.id)
            await journal.write(Act(proposals=(renamed,), entries=(entry,)))


def arrived(proposal: Proposal, tenant: str, *, vouched: bool = True) -> Proposal:
    """The proposal as one of this tenant, whoever had it before, and as one that nobody moved here yet."""

    def here(scope: Scope) -> Scope:
        return replace(scope, tenant=tenant)

    change, request, features = proposal.change, proposal.request, proposal.features
    if change is not None:
        most = Trust.TRUSTED if vouched else Trust.UNTRUSTED
        records = [
            replace(put.record, scope=here(put.record.scope), trust=Trust.lowest(put.record.trust, most))
            for put in change.put
        ]
        puts = (replace(put, record=one, vector=None) for put, one in zip(change.put, records, strict=True))
        change = replace(change, scope=here(change.scope), put=tuple(puts))
    return replace(
        proposal,
        scope=here(proposal.scope),
        change=change,
        request=None if request is None else replace(request, scope=here(request.scope)),
        features=None if features is None or not vouched else {**features, "tenant": tenant},
        revision=1,
    )


def _holds_a_secret(proposal: Proposal, context: Context) -> bool:
    """What waits was rid of its secrets where it was made; one that holds some was made by nobody of ours."""
    found = [] if proposal.change is None else cleaned([proposal.change], context)
    return any(not isinstance(clean, Clean) or clean.secrets for clean in found)


async def _rules(edition: Edition | None, context: Context, tenant: str, *, dry_run: bool) -> str:
    journal = context.governance.journal
    if edition is None:
        return "none"
    there = await journal.edition(tenant)
    if there is not None:
        return "already" if there.rules == edition.rules else "kept ours"
    if not dry_run:
        entry = Entry(
            at=context.clock(),
            operation="set_rules",
            scope=Scope(tenant=tenant, agent=""),
            actor=context.governance.caller,
            kind="imported",
        )
        await journal.write(Act(edition=replace(edition, tenant=tenant), entries=(entry,)))
        context.governance.rulebook.forget()
    return "imported"
