"""Backtests a draft of the rules on the newest changes, compared with the rules in force."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorywire.model.record import DEFAULT_TENANT, Json, Scope
from memorywire.pipeline.context import Context, without_own
from memorywire.pipeline.rules import past_cases, untold
from memorywire.policy.documents import rules_from, with_rules
from memorywire.policy.judge import Case, Policy, judge
from memorywire.policy.rules import Verdict
from memorywire_server.console.page import Page
from memorywire_server.console.render import gist

COUNTS = (100, 500, 2_000)
_SHOWN = 12


class Difference(Struct, frozen=True, kw_only=True):
    """A change on which the two lists of rules differ."""

    id: str
    held: bool
    operation: str
    said: str
    memory: str | None
    now: Verdict
    draft: Verdict
    rule: str


class Trial(Struct, frozen=True, kw_only=True):
    """The changes of an agent for which a draft gives another verdict than the rules in force."""

    agent: str
    total: int
    differing: int
    turns: tuple[tuple[Verdict, Verdict, int], ...]
    decided: Mapping[str, int]
    sample: tuple[Difference, ...]
    unknown: tuple[str, ...]

    @property
    def loosens(self) -> int:
        """The number of changes that get a looser verdict."""
        return sum(count for now, draft, count in self.turns if draft.tightness < now.tightness)


async def try_rules(page: Page, agent: str, rules: Sequence[Mapping[str, Json]], count: int) -> Trial:
    """Judge the newest changes by the rules in force and by the draft; writes nothing."""
    page.caller.require_agent({"agent_id": agent}, optional=False)
    service = page.console.service
    scope = Scope(tenant=page.caller.tenant, agent=agent)
    context = await service.as_caller(page.caller).context.serving(scope)
    cases = await service.finish(_load_cases(scope, count, context))
    governance = context.require_governance()
    now = await governance.rulebook.policy(scope.tenant)
    draft = with_rules(governance.rulebook.base, *await _rules_above(scope.tenant, context), list(rules))
    parsed = rules_from(list(rules))
    unknown = sorted({name for rule in parsed for name in untold(rule)})
    return await asyncio.to_thread(_compare, agent, cases, now, draft, tuple(unknown))


async def _load_cases(scope: Scope, count: int, context: Context) -> list[tuple[str, Case, Verdict]]:
    """Return the newest changes, at most `count`, and the proposals since the oldest of them."""
    newest = await context.historian("test_rule").changes(scope, count)
    cases, _ = await past_cases(scope, newest[-1].at if newest else 0, context)
    return cases


async def _rules_above(tenant: str, context: Context) -> list[Json]:
    """Return the default tenant's rules, which precede those of another tenant."""
    if tenant == DEFAULT_TENANT:
        return []
    edition = await context.require_governance().journal.find_edition(DEFAULT_TENANT)
    return [] if edition is None else [without_own(edition.rules, tenant)]


def _compare(
    agent: str,
    cases: Sequence[tuple[str, Case, Verdict]],
    now: Policy,
    draft: Policy,
    unknown: tuple[str, ...],
) -> Trial:
    turns: Counter[tuple[Verdict, Verdict]] = Counter()
    decided: Counter[str] = Counter()
    sample: list[Difference] = []
    for id, case, was in cases:
        before, after = judge(case, now), judge(case, draft)
        decided[after.rule] += 1
        if before.verdict is after.verdict:
            continue
        turns[before.verdict, after.verdict] += 1
        if len(sample) < _SHOWN:
            memories = case.records or case.ending
            sample.append(
                Difference(
                    id=id,
                    held=was is Verdict.HOLD,
                    operation=case.operation,
                    said=gist(memories[0].content) if memories else "",
                    memory=memories[0].id if memories else None,
                    now=before.verdict,
                    draft=after.verdict,
                    rule=after.rule,
                )
            )
    return Trial(
        agent=agent,
        total=len(cases),
        differing=turns.total(),
        turns=tuple((*turn, count) for turn, count in turns.most_common()),
        decided=dict(decided.most_common()),
        sample=tuple(sample),
        unknown=unknown,
    )
