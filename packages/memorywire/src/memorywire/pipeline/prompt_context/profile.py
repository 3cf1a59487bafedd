"""The profile of a user: the values of labelled memories by slot, with history. Nothing is inferred."""

from collections.abc import Sequence

from memorywire.facts import SINGLE, Label, is_pinned, read_label
from memorywire.model.answers import PastValue, Profile, Slot, SlotValue
from memorywire.model.change import Version
from memorywire.model.query import Compare, Operator, Where
from memorywire.model.record import Record, Scope
from memorywire.model.requests import ReadProfile
from memorywire.pipeline.context import Context
from memorywire.pipeline.redact import drop_redacted, redact_versions
from memorywire.stores.contract import SupportsHistory

MOST_HISTORY = 50
"""The maximum number of earlier values of a slot."""


async def read_profile(request: ReadProfile, context: Context) -> Profile:
    """Read the slots of the user in the scope; without a user, those of the agent's own memories."""
    now = context.clock()
    where = _build_where(request.scope, now)
    groups: dict[tuple[str, str | None, str], list[tuple[Record, Label]]] = {}
    unsorted = 0
    every = [record async for record in context.all_matching(where)]
    records = await drop_redacted(every, request.scope, context)
    if await context.finds_loans(request.scope):
        from memorywire.pipeline.share import open_loans  # few agents are lent anything

        for loan in await open_loans(request.scope, context, []):
            records += await loan.find(where)
    for record in records:
        label = read_label(record)
        if label is None or label.slot is None:
            unsorted += 1
        else:
            groups.setdefault((label.kind.value, label.subject, label.slot), []).append((record, label))
    slots = [
        await _build_slot(key, members, now, context, request.scope.agent)
        for key, members in sorted(
            groups.items(), key=lambda item: (item[0][0], item[0][1] or "", item[0][2])
        )
    ]
    return Profile(slots=tuple(slots), unsorted=unsorted, at=now)


def _build_where(scope: Scope, now: int) -> Where:
    if scope.user is not None:
        return Where(scope=scope, alive_at=now)
    return Where(scope=scope, alive_at=now, filter=Compare(("user_id",), Operator.EXISTS, False))


async def _build_slot(
    key: tuple[str, str | None, str],
    members: Sequence[tuple[Record, Label]],
    now: int,
    context: Context,
    agent: str,
) -> Slot:
    kind, subject, slot = key
    newest = sorted(members, key=lambda one: (one[0].moment, one[0].id), reverse=True)
    affirmed = {_fold(record, label) for record, label in newest if not label.negative}
    denied = {_fold(record, label) for record, label in newest if label.negative}
    return Slot(
        kind=kind,
        subject=subject,
        slot=slot,
        values=tuple(_build_value(record, label, now, agent) for record, label in newest),
        conflict=slot in SINGLE and (len(affirmed) > 1 or not affirmed.isdisjoint(denied)),
        history=await _read_history([one for one, _ in newest if one.scope.agent == agent], slot, context),
    )


def _fold(record: Record, label: Label) -> str:
    return " ".join((label.value or record.words).casefold().split())


def _build_value(record: Record, label: Label, now: int, agent: str) -> SlotValue:
    return SlotValue(
        id=record.id,
        version=record.version,
        content=record.content,
        value=label.value,
        since=record.moment,
        age_ms=max(0, now - record.moment),
        source=record.source,
        trust=record.trust.value,
        pinned=is_pinned(record),
        lender=None if record.scope.agent == agent else record.scope.agent,
    )


async def _read_history(records: Sequence[Record], slot: str, context: Context) -> tuple[PastValue, ...]:
    """Read earlier versions of these memories and of the memories that they replaced, newest first."""
    if not isinstance(context.store, SupportsHistory):
        return ()
    values: dict[tuple[str, int], PastValue] = {}
    waiting = [(record.scope, record.id) for record in records]
    seen: set[str] = set()
    while waiting and len(values) < MOST_HISTORY:
        scope, id = waiting.pop(0)
        if id in seen:
            continue
        seen.add(id)
        versions = await redact_versions(await context.store.history(scope, id), scope, context)
        for version in versions:
            if version.record is not None:
                waiting += [(scope, earlier) for earlier in version.record.supersedes]
            if version.ended is not None:
                values[id, version.number] = _build_past(version)
    ordered = sorted(values.values(), key=lambda value: (value.since, value.id, value.version), reverse=True)
    return tuple(ordered[:MOST_HISTORY])


def _build_past(version: Version) -> PastValue:
    record = version.record
    label = None if record is None else read_label(record)
    return PastValue(
        id=version.id,
        version=version.number,
        since=version.began_at if record is None else record.moment,
        until=version.ended_at,
        reason=None if version.reason is None else version.reason.value,
        content=None if record is None else record.content,
        value=None if label is None else label.value,
    )
