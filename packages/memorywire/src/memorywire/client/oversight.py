"""The methods of a client for people who oversee a memory: reviews, rules, reasons, overviews."""

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
from memorywire.model.oversight import (
    AgentList,
    FacetCounts,
    Judged,
    Reasons,
    RecallPage,
    Reverted,
    RuleBook,
    RuleTrial,
)
from memorywire.model.proposal import Decided, ProposalPage, Reviewed
from memorywire.model.record import Json

A = TypeVar("A")


class Overseeing(ABC):
    """The methods that people use, beside those of the agent."""

    async def proposals(self, **options: Unpack[ProposalsOptions]) -> ProposalPage:
        """Return the proposals that wait for a decision, oldest first.

        Options: `states`, `batch`, `held_by`, `text`, `by_risk`, `after`, `limit`, `user_id`, `all_agents`.
        """
        return await self._ask(ProposalPage, "proposals", self._reach(options))

    async def proposal(self, proposal_id: str, **options: Unpack[ReachOptions]) -> Reviewed:
        """Return one proposal with all details; pass its `seen` to `decide` to decide exactly this state.

        Options: `user_id`, `all_agents`.
        """
        return await self._ask(Reviewed, "proposal", self._reach(options, proposal_id=proposal_id))

    async def decide(
        self, proposal_ids: str | Sequence[str], verb: VerbName, **options: Unpack[DecideOptions]
    ) -> Decided:
        """Approve, edit, reject, merge or supersede proposals of one agent: all of them, or none.

        Options: `reason`, `confirm`, `seen`, `target`, `edit`, `user_id`, `all_agents`.
        """
        ids = [proposal_ids] if isinstance(proposal_ids, str) else list(proposal_ids)
        return await self._ask(Decided, "decide", self._reach(options, proposal_ids=ids, verb=verb))

    async def why(self, recall_id: str, **options: Unpack[ReachOptions]) -> Reasons:
        """Return what a recall returned, with the memories as they were then.

        Options: `user_id`, `all_agents`.
        """
        return await self._ask(Reasons, "why", self._reach(options, recall_id=recall_id))

    async def agents(self) -> AgentList:
        """Return the agents of the tenant with the numbers of their memories and pending proposals."""
        return await self._ask(AgentList, "agents", {})

    async def facets(self, **options: Unpack[FacetOptions]) -> FacetCounts:
        """Count the newest memories that `list` would return, by the values of their fields.

        Options: `filter`, `types`, `include` (`archived`), `user_id`.
        """
        return await self._ask(FacetCounts, "facets", self._payload(options))

    async def recalls(self, **options: Unpack[RecallsOptions]) -> RecallPage:
        """Return recalls, newest first; with `memory_id`, those that returned this memory.

        Options: `memory_id`, `before`, `limit`, `user_id`, `all_agents`.
        """
        return await self._ask(RecallPage, "recalls", self._reach(options))

    async def feedback(
        self, recall_id: str, memory_id: str, helped: HelpedName, **options: Unpack[FeedbackOptions]
    ) -> Judged:
        """Record whether a memory that a recall returned was useful. Memories do not change.

        Options: `reason`, `user_id`, `all_agents`.
        """
        fields = {"recall_id": recall_id, "memory_id": memory_id, "helped": helped}
        return await self._ask(Judged, "feedback", self._reach(options, **fields))

    async def rules(self) -> RuleBook:
        """Return the policy in force, all editions of its rules, and the suggested rules."""
        return await self._ask(RuleBook, "rules", {})

    async def set_rules(
        self, rules: Sequence[Mapping[str, Any]], *, if_edition: int | None = None
    ) -> RuleBook:
        """Replace the rules of the policy with this ordered list."""
        edition = {} if if_edition is None else {"if_edition": if_edition}
        return await self._ask(RuleBook, "set_rules", {"rules": list(rules), **edition})

    async def test_rule(self, rule: Mapping[str, Any], **options: Unpack[TrialOptions]) -> RuleTrial:
        """Return what a rule would have done to the changes of the last `days`. Nothing changes.

        Options: `days`, `user_id`.
        """
        return await self._ask(RuleTrial, "test_rule", self._payload(options, rule=rule))

    async def activate_rule(self, name: str) -> RuleBook:
        """Put a suggested rule in force."""
        return await self._ask(RuleBook, "activate_rule", {"name": name})

    async def revert_rule(self, name: str) -> Reverted:
        """Undo, as one change, everything that a learned rule let pass, and switch the rule off."""
        return await self._ask(Reverted, "revert_rule", {"name": name})

    @abstractmethod
    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A: ...

    @abstractmethod
    def _payload(self, options: Mapping[str, Any], **fields: Any) -> dict[str, Json]: ...

    def _reach(self, options: Mapping[str, Any], **fields: Any) -> dict[str, Json]:
        """Build the wire payload of a request that may be about all agents."""
        rest = {name: value for name, value in options.items() if name != "all_agents"}
        payload = self._payload(rest, **fields)
        if options.get("all_agents"):
            del payload["agent_id"]
        return payload
