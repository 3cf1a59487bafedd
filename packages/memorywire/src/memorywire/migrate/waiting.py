"""What an import left to people, and what it says later of that: nobody is asked about what ended since."""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.migrate.conflicts import Settling
from memorywire.migrate.sanitize import request_for
from memorywire.model.change import Change, EndReason, Put
from memorywire.model.proposal import Decision, Proposal, State
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_about
from memorywire.pipeline.review import moved


class Waiting:
    """Which memories of this import wait, in which proposal, and which of them it ended behind that.

    What several changes say in the same words waits in one proposal.
    """

    def __init__(self, settling: Settling) -> None:
        self._settling = settling
        self._memories: dict[str, set[str]] = {}
        self._changes: Counter[str] = Counter()
        self._places: dict[str, str] = {}
        self._ends: dict[str, tuple[EndReason, tuple[str, ...]]] = {}

    def left(self, change: Change, proposal: str | None) -> None:
        """It waits in this proposal; a dry run makes none, and each change stands for its own."""
        place = proposal or change.id
        self._changes[place] += 1
        for put in change.put:
            self._memories.setdefault(place, set()).add(put.record.id)
            self._places[put.record.id] = place

    def heard(self, changes: Iterable[Change]) -> None:
        """Take in what these say, once those of them that wait were left: the last word counts."""
        if not self._places:
            return
        for change in changes:
            put = tuple(self._settling.name(put.record.id) for put in change.put)
            for id in put:
                self._ends.pop(id, None)
            for end in change.end:
                if (id := self._settling.name(end.id)) in self._places:
                    self._ends[id] = (end.reason, put)

    def over(self) -> int:
        """How many of the changes that were left need nobody any more."""
        return sum(self._changes[place] for place in self._memories if not self._alive(place))

    def _alive(self, place: str) -> set[str]:
        return {id for id in self._memories[place] if self._ended(id) is None}

    def _ended(self, id: str) -> EndReason | None:
        """Why it ended, unless what took its place did not come in either."""
        reason, instead = self._ends.get(id, (None, ()))
        return None if any(map(self._settling.gone, instead)) else reason

    async def settle(self, context: Context, tenant: str) -> None:
        """Take what ended out of the proposals; one of which nothing is left is closed, with the reason."""
        journal = context.governance.journal
        for place in dict.fromkeys(self._places[id] for id in self._ends):
            proposal = await journal.proposal(tenant, place)
            if proposal is not None and proposal.state is State.PENDING:
                await self._lessened(proposal, context)

    async def _lessened(self, proposal: Proposal, context: Context) -> None:
        change, office, now = proposal.change, context.governance, context.clock()
        if change is None or self._alive(proposal.id) - proposal.touched:
            return  # it is asked about on behalf of another memory with the same words
        ended = {id: end for put in change.put if (end := self._ended(id := put.record.id)) is not None}
        if not ended:
            return
        puts = tuple(put for put in change.put if put.record.id not in ended)
        why = f"{next(iter(ended.values()))} where it comes from"
        if puts:
            after = _with(proposal, change, puts)
        else:
            decision = Decision(by=office.caller, at=now, reason=why, automatic=True)
            after = moved(proposal, State.REJECTED, decision)
        entry = entry_about(after, after.state.value, office.caller, now, why=why)
        await office.journal.write(Act(proposals=(after,), entries=(entry,)))


def _with(proposal: Proposal, change: Change, puts: tuple[Put, ...]) -> Proposal:
    again = moved(proposal, State.PENDING, None)
    return replace(again, change=replace(change, put=puts), request=request_for(puts[0].record))
