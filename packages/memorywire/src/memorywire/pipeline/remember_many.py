"""Remembers many at once: requests that ask for nothing special go through the corridor together."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from msgspec import Struct

from memorywire.model.answers import Remembered
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import Conflict, Duplicate, MemorywireError
from memorywire.model.record import MemoryType, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import Plan
from memorywire.pipeline.commit_many import Ended, submit_each
from memorywire.pipeline.context import Context
from memorywire.pipeline.remember import (
    Cleaned,
    first_version,
    is_large,
    receipt,
    remember,
    weighed,
    without_secrets,
)
from memorywire.policy.judge import cleared
from memorywire.policy.redact import are_innocent

Result: TypeAlias = Remembered | MemorywireError


class Asked(Struct, frozen=True):
    """A request, its redacted form, and its vector."""

    request: Remember
    redacted: Cleaned
    vector: bytes


def all_without_secrets(requests: Sequence[Remember], context: Context) -> list[Cleaned | MemorywireError]:
    """Each request without its secrets, or its problem; one reading clears all that show no secret."""
    clear = [False] * len(requests)
    if context.office is not None:
        clear = cleared(requests, partial(are_innocent, redactor=context.office.redactor))
    pairs = zip(requests, clear, strict=True)
    return [_innocent(request) if is_clear else _cleaned(request, context) for request, is_clear in pairs]


def _innocent(request: Remember) -> Cleaned:
    return Cleaned(request=request, secrets=(), trust=Trust.STANDARD)


def _cleaned(request: Remember, context: Context) -> Cleaned | MemorywireError:
    try:
        return without_secrets(request, context)
    except MemorywireError as problem:
        return problem


async def remember_each(items: Sequence[Asked], context: Context) -> list[Result]:
    """The receipt or problem of each, as if it had been remembered alone; no two may say the same."""
    now = context.clock()
    changes = {at: await _change(item, context, now) for at, item in enumerate(items) if _is_plain(item, now)}
    ended = await _submitted(changes, items, context)
    done = {at: one for at, one in ended.items() if not isinstance(one, Conflict | Duplicate)}
    # What is there already, and what met a rival, is looked at alone.
    alone = [at for at in range(len(items)) if at not in done]
    done |= zip(alone, await asyncio.gather(*(_remembered(items[at], context) for at in alone)), strict=True)
    return [done[at] for at in range(len(items))]


def _is_plain(item: Asked, now: int) -> bool:
    """Whether it asks for a new memory and for nothing that needs a look at others."""
    request = item.redacted.request
    named = request.id or request.idempotency_key or request.supersedes or request.derived_from
    asks = request.approval_required or request.privacy_intent is not None or request.if_version is not None
    late = request.expires_at is not None and request.expires_at <= now
    foreign = not (request.source or "").isascii()  # it may be refused, and then alone
    special = item.redacted.secrets or request.type is MemoryType.PROCEDURAL or foreign
    return not (named or asks or late or special or is_large(request.metadata))


async def _change(item: Asked, context: Context, now: int) -> Change:
    asked = await weighed(item.redacted, context)
    record = first_version(asked.request, context.mint(), now, asked.trust)
    put = Put(record=record, base=Base.NOTHING, vector=item.vector, unique=True)
    return Change(id=context.mint(), operation="remember", scope=record.scope, at=now, put=(put,))


async def _submitted(
    changes: Mapping[int, Change], items: Sequence[Asked], context: Context
) -> dict[int, Result]:
    places, each = list(changes), list(changes.values())

    def plan(at: int) -> Plan:
        return Plan(change=each[at], request=items[places[at]].redacted.request)

    done = await submit_each(each, plan, context)
    return {at: _told(one, change) for at, change, one in zip(places, each, done, strict=True)}


def _told(ended: Ended, change: Change) -> Result:
    if isinstance(ended, MemorywireError):
        return ended
    if isinstance(ended, Exception):
        raise ended
    record = change.put[0].record
    return receipt(ended, record.id, record.version, change.at)


async def _remembered(item: Asked, context: Context) -> Result:
    try:
        return await remember(item.request, context, item.vector, item.redacted)
    except MemorywireError as problem:
        return problem
