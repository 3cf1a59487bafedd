"""The engine for those who oversee it: reviews, rules and reasons. A typed request in, its answer out."""

from typing import TypeAlias

from memorywire.engine.decide import decide
from memorywire.engine.review import examine, inbox
from memorywire.engine.rules import activate_rule, revert_rule, rules, set_rules, try_rule
from memorywire.engine.tools import Tools
from memorywire.engine.why import why
from memorywire.model.errors import Refused
from memorywire.model.review import Decide, Decided, Examine, Inbox, ProposalPage, Reviewed
from memorywire.model.rulings import (
    ActivateRule,
    Oversight,
    Reasons,
    Reverted,
    RevertRule,
    RuleBook,
    Rules,
    RuleTrial,
    SetRules,
    TryRule,
    Why,
)

Overseen: TypeAlias = ProposalPage | Reviewed | Decided | RuleBook | RuleTrial | Reverted | Reasons


_DECIDING = (Decide, SetRules, ActivateRule, RevertRule)


async def oversee(request: Oversight, tools: Tools) -> Overseen:
    """Carry out what a person asks about held changes, rules and recalls."""
    if isinstance(request, _DECIDING) and tools.governance.caller.startswith("agent:"):
        raise Refused(
            "an agent does not decide what enters memory, nor by which rules",
            fix="let a person decide: memorywire review list",
        )
    match request:
        case Inbox():
            return await inbox(request, tools)
        case Examine():
            return await examine(request, tools)
        case Decide():
            return await decide(request, tools)
        case Rules():
            return await rules(request, tools)
        case SetRules():
            return await set_rules(request, tools)
        case TryRule():
            return await try_rule(request, tools)
        case ActivateRule():
            return await activate_rule(request, tools)
        case RevertRule():
            return await revert_rule(request, tools)
        case Why():
            return await why(request, tools)
