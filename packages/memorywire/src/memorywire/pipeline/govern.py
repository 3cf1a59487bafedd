"""The governed corridor: a plan is judged, and then refused, held for a person, or carried out."""

import hashlib
from collections.abc import Mapping

from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.model.change import Change
from memorywire.model.clock import DAY_MS
from memorywire.model.codec import dumps
from memorywire.model.errors import Duplicate, MemorywireError, Refused, SecretLeakage
from memorywire.model.proposal import WAITING, Proposal, State, is_agent
from memorywire.model.record import Json, Record, Scope
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import Plan, Submitted, effect, staged
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_about, entry_of
from memorywire.pipeline.outbox import carry_out, unsaid
from memorywire.pipeline.review import moved, nearest
from memorywire.policy.injection import screen
from memorywire.policy.judge import Case, Judgement, Policy, judge
from memorywire.policy.learned import features, features_to
from memorywire.policy.rules import SECRETS, Verdict

_SILENT = frozenset({int, float, bool, type(None)})  # what says nothing


async def governed(plan: Plan, context: Context) -> Submitted:
    """What policy makes of the plan; every outcome is in the ledger before it is answered."""
    office = context.governance
    policy = await office.rulebook.policy(plan.change.scope.tenant)
    case = await case_of(plan, context, policy)
    judgement = judge(case, policy)
    if judgement.verdict is Verdict.REFUSE:
        await _write_down_refusal(plan.change, judgement, context)
        raise _refusal(judgement)
    if judgement.verdict is Verdict.HOLD:
        return await hold(plan, case, judgement, policy, context)
    return await carry_out(plan.change, await _committed_act(plan, judgement, context), context)


def _refusal(judgement: Judgement) -> MemorywireError:
    if judgement.rule == SECRETS:
        return SecretLeakage(judgement.refusal, fix="take the secret out and send it again")
    return Refused(judgement.refusal, fix="ask whoever keeps the policy, or change what you send")


async def case_of(plan: Plan, context: Context, policy: Policy) -> Case:
    """What the policy judges: only what one of its rules asks about is looked up."""
    change = plan.change
    asked = plan.request if isinstance(plan.request, Remember) else None
    records = tuple([put.record for put in change.put])
    look = asked is not None and "similar_to_existing" in policy.asked
    return Case(
        operation=change.operation,
        scope=change.scope,
        caller=context.governance.caller,
        records=records,
        ended=len(change.end),
        erased=len(change.erase),
        by_filter=plan.by_filter,
        secrets=plan.secrets,
        instructions=tuple([sign for record in records for sign in screen(places(record))]),
        similar=await _similar(records, context) if look else (),
        approval_required=asked is not None and asked.approval_required,
        privacy_intent=None if asked is None else asked.privacy_intent,
        ending=await _ending(change, context) if change.end or change.erase else (),
        rejected=bool(records)
        and "rejected_before" in policy.asked
        and await context.governance.rejected.has_any(records),
        undoes_person=change.undoes is not None and await _undoes_person(change, context),
    )


async def _undoes_person(change: Change, context: Context) -> bool:
    """Whether an agent would take back a change that no agent made: nobody it may overrule."""
    office = context.governance
    if not is_agent(office.caller) or change.undoes is None:
        return False
    entries = await office.journal.about(change.scope.tenant, change.undoes)
    actors = [str(entry["actor"]) for entry in entries if entry["kind"] == "committed"]
    return not actors or not all(is_agent(actor) for actor in actors)


def places(record: Record) -> Mapping[str, str]:
    """Everything a memory says, by place, so that a finding can name where it stands."""
    said: dict[str, str] = {}
    _tell(record.content, "content", said)
    if type(record.content) is not str:
        _name(record.content, "content", said)
    beside = {"source": record.source, "metadata": record.metadata, "tags": record.tags}
    for place, value in beside.items():
        if value:
            _tell(value, place, said)
    return said


def _tell(value: Json, place: str, said: dict[str, str]) -> None:
    if isinstance(value, str):
        if value:  # two ways may lead to a place of one name
            said[place] = f"{said[place]}\n{value}" if place in said else value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if type(inner) not in _SILENT:
                _tell(inner, f"{place}.{key}", said)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _tell(inner, f"{place}[{at}]", said)


def _name(value: Json, place: str, said: dict[str, str]) -> None:
    """Add the names of fields in a structured content: they are words too, each at its field's place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _tell(key, f"{place}.{key}", said)
            _name(inner, f"{place}.{key}", said)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _name(inner, f"{place}[{at}]", said)


async def _similar(records: tuple[Record, ...], context: Context) -> tuple[str, ...]:
    """Live memories that nearly say what these say, best first."""
    return tuple([hit.record.id for record in records for hit in await nearest(record, context)])


async def _ending(change: Change, context: Context) -> tuple[Record, ...]:
    ids = [*(end.id for end in change.end), *change.erase]
    return tuple(await context.store.get(change.scope, ids))


async def hold(plan: Plan, case: Case, judgement: Judgement, policy: Policy, context: Context) -> Submitted:
    """Keep the plan as a proposal until a person decides."""
    office = context.governance
    change = replace(plan.change, put=tuple(replace(put, vector=None) for put in plan.change.put))
    waiting = await _already_held(change, context)
    if waiting is not None:
        return staged(waiting, context)
    key = change.key or _repeat_key(plan, context)
    repeated = await _repeated(change, key, context)
    if repeated is not None:
        return staged(repeated, context)
    proposal = Proposal(
        id=context.mint(),
        scope=change.scope,
        operation=change.operation,
        at=change.at,
        caller=office.caller,
        rule=judgement.rule,
        why=judgement.reason,
        request=plan.request,
        change=change,
        secrets=plan.secrets,
        instructions=case.instructions,
        similar=case.similar,
        features=features_to(features(case)),
        key=key,
        batch=office.batch,
        expires_at=change.at + policy.pending_days * DAY_MS,
        proposer=office.principal,
    )
    await office.journal.write(
        Act(proposals=(proposal,), entries=(entry_about(proposal, "staged", office.caller, change.at),))
    )
    return staged(proposal, context)


async def _already_held(change: Change, context: Context) -> Proposal | None:
    """The proposal that already waits with the same words; raises Duplicate when a live memory says them."""
    if len(change.put) != 1 or not change.put[0].unique:
        return None
    record = change.put[0].record
    twin = await context.store.duplicate(record, change.at)
    if twin is not None:
        raise Duplicate(twin.id)
    return await context.governance.journal.held(record.scope, record.digest)


def _repeat_key(plan: Plan, context: Context) -> str:
    """The same for the same request of the same caller: a repetition finds the proposal that waits."""
    said = f"{context.governance.caller}\n{dumps(plan.request)}"
    return f"{plan.change.operation}:{hashlib.blake2b(said.encode(), digest_size=16).hexdigest()}"


async def _repeated(change: Change, key: str, context: Context) -> Proposal | None:
    """The proposal of the same request, if it still waits, with what the request means now."""
    office = context.governance
    agent = Scope(agent=change.scope.agent, tenant=change.scope.tenant)
    waiting = await office.journal.keyed(agent, key)
    if waiting is None or waiting.change is None or waiting.state not in WAITING:
        return None
    if effect(change) == effect(waiting.change) and waiting.state is State.PENDING:
        return waiting
    renewed = replace(
        moved(waiting, State.PENDING, None),
        change=replace(change, id=waiting.change.id, key=waiting.change.key),
    )
    entry = entry_about(renewed, "rebased", office.caller, change.at, why="the request was repeated")
    await office.journal.write(Act(proposals=(renewed,), entries=(entry,)))
    return renewed


async def _write_down_refusal(change: Change, judgement: Judgement, context: Context) -> None:
    entry = replace(entry_of(change, "refused", context, rule=judgement.rule), contents=())
    await context.governance.journal.write(Act(entries=(entry,)))


async def _committed_act(plan: Plan, judgement: Judgement, context: Context) -> Act:
    change = plan.change
    secrets = [list(found) for found in plan.secrets] or None
    return Act(
        entries=(entry_of(change, "committed", context, rule=judgement.rule, secrets=secrets),),
        ruled=((change.scope, judgement.rule, change.id),) if judgement.learned else (),
        erased=tuple([(change.scope, id) for id in change.erase]),
        unsaid=await unsaid(change, context),
    )
