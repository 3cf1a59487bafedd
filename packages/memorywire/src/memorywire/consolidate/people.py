"""What a dream must leave alone: memories that people are deciding about, and changes they rejected."""

from msgspec import Struct

from memorywire.journal.contract import Wanted
from memorywire.model.proposal import Proposal, State
from memorywire.model.record import Scope
from memorywire.pipeline.context import Context

_KNOWN = frozenset({State.PENDING, State.STALE, State.REJECTED})
_MOST = 10_000


class People(Struct, frozen=True):
    """What people are deciding about, and the groups of memories that they chose to leave as they are."""

    waiting: frozenset[str] = frozenset()
    rejected: frozenset[frozenset[str]] = frozenset()

    def refused(self, touched: frozenset[str]) -> bool:
        """Whether somebody rejected to have these changed together."""
        return any(touched <= ids for ids in self.rejected)


async def asked_of_people(scope: Scope, context: Context) -> People:
    if context.office is None:
        return People()
    wanted = Wanted(tenant=scope.tenant, agent=scope.agent, states=_KNOWN, limit=_MOST)
    found = await context.office.journal.proposals(wanted)
    waiting = (_meant(proposal) for proposal in found if proposal.state is not State.REJECTED)
    rejected = (_meant(proposal) for proposal in found if proposal.state is State.REJECTED)
    return People(frozenset().union(*waiting), frozenset(rejected))


def _meant(proposal: Proposal) -> frozenset[str]:
    """The memories that the proposal would touch, and the one they would be merged into."""
    ends = () if proposal.change is None else proposal.change.end
    return proposal.touched | {end.into for end in ends if end.into is not None}
