"""Rules that people set: show, replace as a whole, backtest, learn, and revert what a rule let pass."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from msgspec.structs import replace

from memorywire.journal.acts import Act, Edition, Wanted
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.model.change import Change, EndReason, Footprint
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, InvalidRequest, NotFound, SecretLeakage
from memorywire.model.oversight import (
    ActivateRule,
    Reverted,
    RevertRule,
    RuleBook,
    RuleEdition,
    Rules,
    RuleTrial,
    SetRules,
    Suggested,
    TryRule,
)
from memorywire.model.proposal import Proposal, State, Verb
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.model.requests import Expire, Forget, Recall, Undo, Write
from memorywire.pipeline.context import PAGE, Context
from memorywire.pipeline.plan import CommitResult, entry_of
from memorywire.pipeline.transaction import Transaction
from memorywire.pipeline.undo import build_reversal
from memorywire.policy.documents import policy_to_dict, with_rules
from memorywire.policy.injection import screen_record, text_by_place
from memorywire.policy.judge import Case, Policy, backtest
from memorywire.policy.learned import Decided, Suggestion, features_from, suggest
from memorywire.policy.rules import Rule, Verdict, rule_from, rule_to

_MOST = 20_000
_MARKER = "[REDACTED:"
OLDER = "older_changes"
"""Reported in `degraded` if there were more changes than were examined."""
UNKNOWN = frozenset({"caller", "similar_to_existing", "rejected_before", "undoes_person"})
"""Conditions that committed changes cannot answer: the caller, and what else memory held at the time."""


async def past_cases(
    scope: Scope, since: int, context: Context
) -> tuple[list[tuple[str, Case, Verdict]], bool]:
    """Return past cases, changes then proposals, as (id, case, outcome); and whether all are included."""
    journal, historian = context.require_governance().journal, context.historian("test_rule")
    filter = Wanted(tenant=scope.tenant, agent=scope.agent, user=scope.user)
    proposals = [proposal async for proposal in all_proposals(filter, journal) if proposal.at >= since]
    change_ids = {one.decision.change_id for one in proposals if one.decision is not None}
    changes = [change for change in await historian.changes(scope, _MOST + 1) if change.at >= since]
    commits = [
        (change.id, _build_committed_case(print_), Verdict.ALLOW)
        for change in changes[:_MOST]
        if change.id not in change_ids
        if (print_ := await historian.footprint(scope, change.id)) is not None
    ]
    cases = [*commits, *((one.id, build_held_case(one), Verdict.HOLD) for one in reversed(proposals))]
    return cases, len(changes) <= _MOST


async def all_proposals(filter: Wanted, journal: Journal) -> AsyncIterator[Proposal]:
    """Yield every proposal that matches, read page by page; of all states unless the filter names some."""
    page = replace(filter, states=filter.states or frozenset(State), limit=PAGE)
    while proposals := await journal.list_proposals(page):
        for proposal in proposals:
            yield proposal
        page = replace(page, after=proposals[-1].id)


def build_held_case(proposal: Proposal) -> Case:
    """Rebuild the case that was judged when the proposal was made, as far as it is still known."""
    request, change = proposal.request, proposal.change
    records = () if change is None else tuple(put.record for put in change.put)
    return Case(
        operation=proposal.operation,
        scope=proposal.scope,
        caller=proposal.caller,
        records=records,
        ended=0 if change is None else len(change.end),
        erased=0 if change is None else len(change.erase),
        by_filter=isinstance(request, Expire) or (isinstance(request, Forget) and not request.ids),
        secrets=proposal.secrets,
        instructions=proposal.instructions,
        similar=proposal.similar,
        approval_required=isinstance(request, Write | Recall) and request.approval_required,
    )


def untold(rule: Rule) -> tuple[str, ...]:
    """Return the conditions of a rule that cannot be evaluated for committed changes."""
    inner = rule.when.unless.given.keys() if rule.when.unless else ()
    return tuple(sorted(UNKNOWN & {*rule.when.given, *inner}))


def _build_committed_case(footprint: Footprint) -> Case:
    change = footprint.change
    put_ids = {version.id for version in footprint.began}
    ended_versions = [version for version in footprint.ended if version.id not in put_ids]
    erasure_count = sum(version.reason is EndReason.ERASED for version in ended_versions)
    records = tuple(version.record for version in footprint.began if version.record is not None)
    return Case(
        operation=change.operation,
        scope=change.scope,
        caller="",
        records=records,
        ended=len(ended_versions) - erasure_count,
        erased=erasure_count,
        by_filter=change.operation == "expire",
        secrets=_secrets(records),
        instructions=tuple(sign for record in records for sign in screen_record(record)),
        ending=tuple(version.record for version in ended_versions if version.record is not None),
    )


def _secrets(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """Find the places of redacted secrets by the markers that redaction left."""
    texts = [item for record in records for item in text_by_place(record).items()]
    return tuple(("redacted", place) for place, text in texts if _MARKER in text)


_SAMPLE = 100
_EVERYBODY = "*"  # the agent in ledger entries about rules, which belong to no agent
_PLAIN = frozenset({Verb.APPROVE.value, Verb.REJECT.value})


async def rules(request: Rules, context: Context) -> RuleBook:
    """Return the tenant's rules in force, their editions, and suggestions learned from decisions."""
    governance = context.require_governance()
    editions = await governance.journal.list_editions(request.tenant)
    newest = editions[0] if editions else None
    tables = await _read_rules(newest, request.tenant, context)
    policy = with_rules(governance.rulebook.base, tables)
    document = policy_to_dict(policy)
    return RuleBook(
        edition=0 if newest is None else newest.number,
        given=tables,
        base=tuple(rule_to(rule) for rule in _about(governance.rulebook.base.rules, request.tenant)),
        **{
            name: document[name]
            for name in ("profile", "default", "default_trust", "pending_days", "learned")
        },
        **{name: document[name] for name in ("four_eyes", "trust", "secrets", "budget")},
        editions=tuple(
            RuleEdition(number=one.number, at=one.at, by=one.by, rules=one.rules) for one in editions
        ),
        suggestions=tuple(
            Suggested(rule=rule_to(one.rule), evidence=one.evidence)
            for one in await _suggestions(request.tenant, policy, context)
        ),
    )


async def set_rules(request: SetRules, context: Context) -> RuleBook:
    """Put the list of rules in force; if it raises, nothing has changed."""
    current = await context.require_governance().journal.find_edition(request.tenant)
    number = 0 if current is None else current.number
    if request.if_edition is not None and request.if_edition != number:
        raise Conflict(
            f"edition {number} is in force, not {request.if_edition}",
            field="if_edition",
            fix="read the rules again and change those",
        )
    _refuse_foreign(request)
    _refuse_secrets(request, context)
    edition = _edition(current, request.rules, request.tenant, context)
    before = [table["name"] for table in await _read_rules(current, request.tenant, context)]
    missing_names = set(before) - {table["name"] for table in edition.rules}
    details: dict[str, Json] = {"dropped": sorted(missing_names)} if missing_names else {}
    await _put_in_force(edition, request.tenant, "given", context, **details)
    return await rules(Rules(tenant=request.tenant), context)


async def activate_rule(request: ActivateRule, context: Context) -> RuleBook:
    """Turn a suggestion into a rule, appended after the existing rules."""
    governance = context.require_governance()
    current = await governance.journal.find_edition(request.tenant)
    tables = await _read_rules(current, request.tenant, context)
    policy = with_rules(governance.rulebook.base, tables)
    matches = [
        one for one in await _suggestions(request.tenant, policy, context) if one.rule.name == request.name
    ]
    if not matches:
        raise NotFound(
            f"nothing suggests a rule {request.name}", field="name", fix="see memorywire policy suggestions"
        )
    edition = _edition(current, (*tables, rule_to(matches[0].rule)), request.tenant, context)
    await _put_in_force(edition, request.tenant, "activated", context, evidence=list(matches[0].evidence))
    return await rules(Rules(tenant=request.tenant), context)


async def try_rule(request: TryRule, context: Context) -> RuleTrial:
    """Backtest the rule on past cases as if it were the first rule; nothing changes."""
    rule = rule_from(request.rule)
    since = context.clock() - request.days * DAY_MS
    cases, whole = await past_cases(request.scope, since, context)
    trial = await asyncio.to_thread(
        backtest, rule, cases, await context.require_governance().rulebook.policy(request.scope.tenant)
    )
    return RuleTrial(
        rule=rule.name,
        verdict=rule.verdict,
        total=trial.total,
        matched=len(trial.matched),
        changed=len(trial.changed),
        sample=trial.matched[:_SAMPLE],
        summary=str(trial),
        degraded=(*untold(rule), *(() if whole else (OLDER,))),
    )


async def revert_rule(request: RevertRule, context: Context) -> Reverted:
    """Undo, as one change, all that a learned rule let pass in the tenant, and disable the rule."""
    journal = context.require_governance().journal
    current = await journal.find_edition(request.tenant)
    tables = await _read_rules(current, request.tenant, context)
    let_pass = await journal.list_ruled(request.tenant, request.name)
    if not let_pass and not any(_is_learned(table, request) for table in tables):
        raise NotFound(f"no learned rule {request.name} was ever activated", field="name")
    new_tables = ({**table, "enabled": False} if _is_learned(table, request) else table for table in tables)
    edition = _edition(current, new_tables, request.tenant, context)
    change, kept_ids = await _all_taken_back(let_pass, request, context)
    act = Act(edition=edition, entries=(_entry(edition, request.tenant, "reverted", context),))
    result = await _carry_out(change, act, request, context)
    context.require_governance().rulebook.forget()
    return Reverted(
        rule=request.name,
        edition=edition.number,
        reverted_ids=tuple(id for _, id in let_pass if id not in kept_ids),
        kept_ids=tuple(kept_ids),
        ended_ids=() if change is None else tuple(end.id for end in change.end),
        status=None if result is None else result.status,
        change_id=None if result is None else result.change_id,
        outcomes=() if result is None else result.outcomes,
    )


async def _carry_out(
    change: Change | None, act: Act, request: RevertRule, context: Context
) -> CommitResult | None:
    if change is None:
        await context.require_governance().journal.write(act)
        return None
    entry = entry_of(change, "committed", context, reverts=request.name)
    return await Transaction(context).commit_one(change, replace(act, entries=(entry, *act.entries)))


async def _all_taken_back(
    let_pass: Sequence[tuple[Scope, str]], request: RevertRule, context: Context
) -> tuple[Change | None, list[str]]:
    """Build one change that undoes all of them; also returns the ids that can no longer be undone."""
    agents = {scope.agent for scope, _ in let_pass}
    if len(agents) > 1:
        raise InvalidRequest("the rule spoke of several agents", field="name", fix="undo change by change")
    plans, kept_ids = [], []
    for scope, id in let_pass:
        plan = await _plan_reversal(scope, id, context)
        if plan is None:
            kept_ids.append(id)
        else:
            plans.append(plan)
    if not plans:
        return None, kept_ids
    change = replace(
        plans[0],
        operation="undo",
        scope=Scope(agent=plans[0].scope.agent, tenant=request.tenant),
        put=tuple(put for plan in plans for put in plan.put),
        end=tuple(end for plan in plans for end in plan.end),
        reason=f"rule {request.name} was reverted",
        undoes=None if len(plans) > 1 else plans[0].undoes,
    )
    return change, kept_ids


async def _plan_reversal(scope: Scope, id: str, context: Context) -> Change | None:
    """Return the change that undoes this one; None if it can no longer be undone."""
    footprint = await context.historian("revert_rule").footprint(scope, id)
    if footprint is None:
        return None
    try:
        return await build_reversal(Undo(scope=scope, change_id=id), footprint, context)
    except Conflict:
        return None


async def _suggestions(tenant: str, policy: Policy, context: Context) -> list[Suggestion]:
    """Suggest rules from decisions that people made the same way, without those that exist already."""
    filter = Wanted(tenant=tenant, states=frozenset({State.APPROVED, State.REJECTED}))
    decisions = [
        decision
        async for proposal in all_proposals(filter, context.require_governance().journal)
        if (decision := _build_evidence(proposal)) is not None
    ]
    names = {rule.name for rule in policy.rules}
    suggestions = await asyncio.to_thread(suggest, decisions)  # slow with many decisions
    return [one for one in suggestions if one.rule.name not in names]


def _build_evidence(proposal: Proposal) -> Decided | None:
    """Return a decision as evidence for a learned rule; None unless it was a plain approval or rejection."""
    decision = proposal.decision
    if decision is None or proposal.features is None or decision.verb not in _PLAIN:
        return None
    return Decided(
        id=proposal.id,
        features=features_from(proposal.features),
        approved=proposal.state is State.APPROVED,
        by=decision.by,
        at=decision.at,
        automatic=decision.automatic,
    )


async def _read_rules(current: Edition | None, tenant: str, context: Context) -> tuple[Json, ...]:
    """Return the rules of a tenant's current edition.

    Without one, return the default tenant's rules for this tenant alone, as older releases stored them.
    """
    if current is not None or tenant == DEFAULT_TENANT:
        return () if current is None else current.rules
    default_edition = await context.require_governance().journal.find_edition(DEFAULT_TENANT)
    return (
        ()
        if default_edition is None
        else tuple(table for table in default_edition.rules if table.get("tenant") == [tenant])
    )


def _edition(current: Edition | None, tables: Iterable[Json], tenant: str, context: Context) -> Edition:
    """Build the next edition of a tenant; raises if the list of rules is invalid."""
    number = 1 if current is None else current.number + 1
    rule_tables = tuple(tables)
    base = context.require_governance().rulebook.base
    with_rules(replace(base, rules=tuple(_about(base.rules, tenant))), rule_tables)
    return Edition(
        tenant=tenant,
        number=number,
        at=context.clock(),
        by=context.require_governance().caller,
        rules=rule_tables,
    )


def _refuse_secrets(request: SetRules, context: Context) -> None:
    """Raise SecretLeakage if a rule contains a secret: rules are stored verbatim and cannot be redacted."""
    _, findings = context.require_governance().redactor.json(list(request.rules), "rules")
    if findings:
        raise SecretLeakage(
            f"a rule holds a secret: {findings[0].kind}",
            field=findings[0].place,
            fix="name what gives it away, not the secret itself",
        )


async def _put_in_force(edition: Edition, tenant: str, kind: str, context: Context, **details: Json) -> None:
    entry = _entry(edition, tenant, kind, context, **details)
    await context.require_governance().journal.write(Act(edition=edition, entries=(entry,)))
    context.require_governance().rulebook.forget()


def _entry(edition: Edition, tenant: str, kind: str, context: Context, **details: Json) -> Entry:
    return Entry(
        at=edition.at,
        operation="rules",
        scope=Scope(agent=_EVERYBODY, tenant=tenant),
        actor=context.require_governance().caller,
        kind=kind,
        details={
            "edition": edition.number,
            "rules": [table["name"] for table in edition.rules if table.get("enabled", True)],
            **details,
        },
    )


def _about(rules: Iterable[Rule], tenant: str) -> list[Rule]:
    return [rule for rule in rules if not rule.when.tenant or tenant in (DEFAULT_TENANT, *rule.when.tenant)]


def _refuse_foreign(request: SetRules) -> None:
    """Raise InvalidRequest if a rule of a tenant, other than the default one, names another tenant."""
    for table in request.rules:
        if request.tenant != DEFAULT_TENANT and table.get("tenant", [request.tenant]) != [request.tenant]:
            raise InvalidRequest(
                f"rule {table['name']} is about more than this tenant",
                field="rules",
                fix=f'leave its tenant out, or give it tenant = ["{request.tenant}"]',
            )


def _is_learned(table: Json, request: RevertRule) -> bool:
    return table["name"] == request.name and bool(table.get("learned"))
