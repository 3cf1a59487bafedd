"""Erases what a run had to itself when it ends, whatever the policy says: nobody else ever had it."""

from msgspec.structs import replace

from memorywire.journal.contract import Wanted
from memorywire.model.proposal import State
from memorywire.model.record import Scope
from memorywire.model.requests import Forget
from memorywire.pipeline.context import Context
from memorywire.pipeline.governance import Office, Rulebook
from memorywire.pipeline.perform import perform
from memorywire.pipeline.rules import all_proposals
from memorywire.policy.documents import Profile, policy_from_toml
from memorywire.policy.judge import Policy
from memorywire_openwop.view import ever_there


class _Open(Rulebook):
    """A rulebook of the base policy alone, whatever rules people have given."""

    async def policy(self, tenant: str) -> Policy:
        return self.base


async def sweep(scope: Scope, context: Context) -> None:
    """Erase all that a memory ever held, and what waits for a person to get there; the ledger says so."""
    ids = await ever_there(scope, await context.serving(scope))
    if context.office is not None:
        ids |= await _waiting(scope, context.office)
        context = replace(context, office=_letting_pass(context, context.office))
    if ids:
        await perform(Forget(scope=scope, ids=tuple(sorted(ids)), hard_delete=True), context)


def _letting_pass(context: Context, office: Office) -> Office:
    base = policy_from_toml({"profile": Profile.OPEN})
    return replace(office, rulebook=_Open(base, office.journal, context.clock))


async def _waiting(scope: Scope, office: Office) -> set[str]:
    """The ids of memories that waiting proposals would make."""
    wanted = Wanted(tenant=scope.tenant, agent=scope.agent, states=frozenset({State.PENDING}))
    held = [proposal.change async for proposal in all_proposals(wanted, office.journal)]
    return {put.record.id for change in held if change is not None for put in change.put}
