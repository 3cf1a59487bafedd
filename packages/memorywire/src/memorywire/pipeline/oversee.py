"""Oversight requests: reviews, rules and recalls. Dispatches each typed request to its function."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from memorywire.model.errors import Refused
from memorywire.model.oversight import (
    ActivateRule,
    AgentList,
    Agents,
    Erase,
    Erased,
    FacetCounts,
    Facets,
    Feedback,
    Judged,
    Oversight,
    Reasons,
    RecallPage,
    Recalls,
    Reverted,
    RevertRule,
    RuleBook,
    Rules,
    RuleTrial,
    SetRules,
    TryRule,
    Why,
)
from memorywire.model.proposal import (
    Decide,
    Decided,
    Examine,
    Inbox,
    ProposalPage,
    Reviewed,
    is_agent,
)
from memorywire.pipeline.context import Context
from memorywire.pipeline.decide import decide
from memorywire.pipeline.erase import erase
from memorywire.pipeline.reads import agents, facets, feedback, recalls, why
from memorywire.pipeline.review import examine, inbox
from memorywire.pipeline.rules import activate_rule, revert_rule, rules, set_rules, try_rule

Overseen: TypeAlias = (
    ProposalPage
    | Reviewed
    | Decided
    | RuleBook
    | RuleTrial
    | Reverted
    | Reasons
    | AgentList
    | FacetCounts
    | RecallPage
    | Judged
    | Erased
)


_DECIDING = (Decide, SetRules, ActivateRule, RevertRule, Erase)


_ROOMS: Mapping[type[Oversight], Callable[[Any, Context], Awaitable[Overseen]]] = {
    Inbox: inbox,
    Examine: examine,
    Decide: decide,
    Rules: rules,
    SetRules: set_rules,
    TryRule: try_rule,
    ActivateRule: activate_rule,
    RevertRule: revert_rule,
    Why: why,
    Agents: agents,
    Facets: facets,
    Recalls: recalls,
    Feedback: feedback,
    Erase: erase,
}


async def oversee(request: Oversight, context: Context) -> Overseen:
    """Carry out an oversight request; raises Refused if an agent sends one that only people may send."""
    if isinstance(request, _DECIDING) and is_agent(context.require_governance().caller):
        raise Refused(
            "an agent does not decide what enters memory, what is erased of a person, nor by which rules",
            fix="let a person decide: memorywire review list",
        )
    return await _ROOMS[type(request)](request, context)
