"""Changes of one moment, led through the corridor together: read, judged and committed in few steps."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Record
from memorywire.pipeline.commit import Plan, Submitted, committed, straight
from memorywire.pipeline.context import Context
from memorywire.pipeline.govern import governed
from memorywire.pipeline.ledger import entries_of
from memorywire.policy.judge import Bench, Judgement, cleared, signless
from memorywire.policy.rules import Verdict
from memorywire.stores.contract import SupportsBulkWrite

Ended: TypeAlias = Submitted | Exception
Planning: TypeAlias = Callable[[int], Plan]
"""Gives the whole plan of the change at an index."""
_Writing: TypeAlias = Callable[[Sequence[Change]], Awaitable[Sequence[int | Exception]]]


async def submit_each(changes: Sequence[Change], plan: Planning, context: Context) -> list[Ended]:
    """The result of each change, as if its plan had been submitted alone.

    Each change begins one complete version and does nothing else, and its request held no secret and asks for
    nothing more. No two may concern the same memory or say the same. What a rule holds or refuses, or what
    looks suspicious, is submitted alone.
    """
    ended = await _ended_together(changes, context)
    others = [at for at in range(len(changes)) if at not in ended]
    ended |= zip(others, await asyncio.gather(*(_alone(plan(at), context) for at in others)), strict=True)
    return [ended[at] for at in range(len(changes))]


async def _alone(plan: Plan, context: Context) -> Ended:
    try:
        return await context.submit(plan)
    except MemorywireError as problem:
        return problem


async def _ended_together(changes: Sequence[Change], context: Context) -> dict[int, Ended]:
    """The results of the changes that nothing stands in the way of, by their index."""
    store = context.store
    if context.corridor is straight and isinstance(store, SupportsBulkWrite):
        return await _committed(dict(enumerate(changes)), context, store.write_many)
    if not changes or context.corridor is not governed or not context.governance.journal.shares(store):
        return {}
    policy = await context.governance.rulebook.policy(changes[0].scope.tenant)
    bench = Bench(policy, context.governance.caller)
    if not bench.can_tell:
        return {}
    records = [_record(change) for change in changes]
    clear = cleared(records, signless)
    if "rejected_before" in policy.asked and await context.governance.rejected.has_any(records):
        return {}
    judged = ((at, _judged(change, bench)) for at, change in enumerate(changes) if clear[at])
    allowed = {at: judgement.rule for at, judgement in judged if judgement is not None}

    async def write(passing: Sequence[Change]) -> Sequence[int | Exception]:
        return await context.governance.journal.write_many(
            passing, entries_of(passing, list(allowed.values()), context)
        )

    return await _committed({at: changes[at] for at in allowed}, context, write)


def _record(change: Change) -> Record:
    return change.put[0].record


def _judged(change: Change, bench: Bench) -> Judgement | None:
    """The judgement, if it lets the change pass; None for a learned rule, which counts one by one."""
    judgement = bench.judge(change.operation, change.scope, _record(change))
    return judgement if judgement.verdict is Verdict.ALLOW and not bench.is_learned(judgement) else None


async def _committed(changes: dict[int, Change], context: Context, write: _Writing) -> dict[int, Ended]:
    """The result of each change; when the transaction fails, it fails for all of them."""
    if not changes:
        return {}
    now = asyncio.get_running_loop().time
    began = now()
    done: Sequence[int | Exception]
    try:
        done = await write(list(changes.values()))
    except MemorywireError as problem:
        done = [problem] * len(changes)
    elapsed = now() - began
    for _ in changes:
        context.took(context.store.name, elapsed)
    alike = committed("", 1, context)
    told = zip(changes.items(), done, strict=True)
    return {at: one if isinstance(one, Exception) else _of(alike, change) for (at, change), one in told}


def _of(alike: Submitted, change: Change) -> Submitted:
    return Submitted(status=alike.status, outcomes=alike.outcomes, change_id=change.id)
