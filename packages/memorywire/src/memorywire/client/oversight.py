"""The verbs of a client for those who oversee a memory: reviews, rules, reasons, and what there is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, Unpack

from memorywire.client.options import (
    DecideOptions,
    FacetOptions,
    FeedbackOptions,
    HelpedName,
    ProposalsOptions,
    ReachOptions,
    RecallsOptions,
    TrialOptions,
    VerbName,
)
from memorywire.model.record import Json
from memorywire.model.review import Decided, ProposalPage, Reviewed
from memorywire.model.rulings import Reasons, Reverted, RuleBook, RuleTrial
from memorywire.model.survey import AgentList, FacetCounts, Judged, RecallPage

A = TypeVar("A")


class Overseeing(ABC):
    """What people ask of a memory, beside what its agent asks."""

    async def proposals(self, **options: Unpack[ProposalsOptions]) -> ProposalPage:
        """What waits for a person, in the order it came."""
        return await self._ask(ProposalPage, "proposals", self._reach(options))

    async def proposal(self, proposal_id: str, **options: Unpack[ReachOptions]) -> Reviewed:
        """One proposal with everything needed to decide it; its `seen` binds a decision to exactly this."""
        return await self._ask(Reviewed, "proposal", self._reach(options, proposal_id=proposal_id))

    async def decide(
        self, proposal_ids: str | Sequence[str], verb: VerbName, **options: Unpack[DecideOptions]
    ) -> Decided:
        """Approve, edit, reject, merge, supersede: one proposal, or several of one agent, all or none."""
        named = [proposal_ids] if isinstance(proposal_ids, str) else list(proposal_ids)
        return await self._ask(Decided, "decide", self._reach(options, proposal_ids=named, verb=verb))

    async def why(self, recall_id: str, **options: Unpack[ReachOptions]) -> Reasons:
        """What a recall handed out, with the memories as they were then."""
        return await self._ask(Reasons, "why", self._reach(options, recall_id=recall_id))

    async def agents(self) -> AgentList:
        """The agents of the tenant, with how many memories each has and how many changes wait."""
        return await self._ask(AgentList, "agents", {})

    async def facets(self, **options: Unpack[FacetOptions]) -> FacetCounts:
        """How the newest memories that `list` would give are spread over the values of their fields."""
        return await self._ask(FacetCounts, "facets", self._payload(options))

    async def recalls(self, **options: Unpack[RecallsOptions]) -> RecallPage:
        """Recalls, newest first; of one memory, if `memory_id` names one."""
        return await self._ask(RecallPage, "recalls", self._reach(options))

    async def feedback(
        self, recall_id: str, memory_id: str, helped: HelpedName, **options: Unpack[FeedbackOptions]
    ) -> Judged:
        """Write down whether a memory that a recall handed out was any good; it changes no memory."""
        said = {"recall_id": recall_id, "memory_id": memory_id, "helped": helped}
        return await self._ask(Judged, "feedback", self._reach(options, **said))

    async def rules(self) -> RuleBook:
        """The policy in force, every edition of the rules people gave, and what could be learned."""
        return await self._ask(RuleBook, "rules", {})

    async def set_rules(
        self, rules: Sequence[Mapping[str, Any]], *, if_edition: int | None = None
    ) -> RuleBook:
        """Put a whole ordered list of rules in force, in place of those that people gave before."""
        edition = {} if if_edition is None else {"if_edition": if_edition}
        return await self._ask(RuleBook, "set_rules", {"rules": list(rules), **edition})

    async def test_rule(self, rule: Mapping[str, Any], **options: Unpack[TrialOptions]) -> RuleTrial:
        """What a rule would have done to the changes of the last `days`; nothing changes."""
        return await self._ask(RuleTrial, "test_rule", self._payload(options, rule=rule))

    async def activate_rule(self, name: str) -> RuleBook:
        """Put a suggested rule in force."""
        return await self._ask(RuleBook, "activate_rule", {"name": name})

    async def revert_rule(self, name: str) -> Reverted:
        """Take back all that a learned rule let pass, as one change, and switch the rule off."""
        return await self._ask(Reverted, "revert_rule", {"name": name})

    @abstractmethod
    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A: ...

    @abstractmethod
    def _payload(self, options: Mapping[str, Any], **named: Any) -> dict[str, Json]: ...

    def _reach(self, options: Mapping[str, Any], **named: Any) -> dict[str, Json]:
        """The wire payload of a question that may be about all agents."""
        rest = {name: value for name, value in options.items() if name != "all_agents"}
        payload = self._payload(rest, **named)
        if options.get("all_agents"):
            del payload["agent_id"]
        return payload
