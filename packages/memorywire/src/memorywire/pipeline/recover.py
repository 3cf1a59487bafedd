"""Recover: removes what came from a source and everything derived from it, as one change that can be undone.

A tainted memory goes back to its last clean version, and memories that tainted ones replaced are restored.
Remaining memories that read like instructions are archived, so that recalls omit them by default.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import InvalidRequest
from memorywire.model.oversight import Cause, Deed, Recover, Recovered, Step
from memorywire.model.query import Where
from memorywire.model.record import Record, Standing, Trust
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_of
from memorywire.pipeline.rules import OLDER
from memorywire.pipeline.transaction import Transaction
from memorywire.policy.injection import screen_record
from memorywire.policy.patterns import fits

_MOST = 1_000_000
"""How many of the newest changes are examined."""
_PUSHED_ASIDE = (EndReason.SUPERSEDED, EndReason.MERGED)


class Taint(Struct, frozen=True, kw_only=True):
    """Why a memory is tainted, and from which version on."""

    cause: Cause
    via: str | None
    version: int


class Trail(Struct):
    """What a source affected: tainted memories, those they replaced, and those that correct them."""

    pattern: str
    tainted: dict[str, Taint] = field(default_factory=dict)
    aside: dict[str, str] = field(default_factory=dict)
    corrections: dict[str, str] = field(default_factory=dict)
    _clean: dict[str, set[str]] = field(default_factory=dict)

    def follow(self, footprint: Footprint) -> None:
        """Add one change to the trail; must be called in commit order."""
        for version in footprint.ended:
            if version.record is not None and version.id not in self.tainted:
                self._clean.setdefault(version.id, set()).add(version.record.digest)
        for version in footprint.began:
            if version.record is not None:
                self._begin(version, version.record)
        for version in footprint.ended:
            if version.reason in _PUSHED_ASIDE and version.into in self.tainted:
                self.aside[version.id] = version.into

    def _begin(self, version: Version, record: Record) -> None:
        cause, via = self._cause(record)
        if cause is Cause.SUPERSEDES and record.trust is Trust.TRUSTED:
            self.corrections[version.id] = via or ""
        elif cause is not None:
            self.tainted.setdefault(version.id, Taint(cause=cause, via=via, version=version.number))
        elif version.id in self.tainted and record.digest in self._clean.get(version.id, ()):
            del self.tainted[version.id]  # it was restored to a clean version

    def _cause(self, record: Record) -> tuple[Cause | None, str | None]:
        if fits([self.pattern], record.source):
            return Cause.SOURCE, None
        links = (
            (Cause.DERIVED, record.derived_from),
            (Cause.MERGED, record.merged_from),
            (Cause.SUPERSEDES, record.supersedes),
        )
        for cause, ids in links:
            for id in ids:
                if id in self.tainted and id != record.id:
                    return cause, id
        return None, None


def trace(footprints: Iterable[Footprint], pattern: str) -> Trail:
    """Trace what a source affected in these changes, which are given oldest first."""
    trail = Trail(pattern)
    for footprint in footprints:
        trail.follow(footprint)
    return trail


class _Part(Struct, frozen=True, kw_only=True):
    """The action on one memory, and the step that reports it."""

    step: Step
    put: Put | None = None
    end: End | None = None


async def recover(request: Recover, context: Context) -> Recovered:
    """Carry out the recovery, or report it with `dry_run`; no policy judges it, because a person acts."""
    if not request.source.strip():  # as a pattern, a blank matches all memories without a source
        raise InvalidRequest("the source must not be blank", field="source", fix="name it; * is all of them")
    footprints, whole = await _footprints(request, context)
    notes = () if whole else (OLDER,)
    trail = trace(footprints, request.source)
    parts = [part async for part in _parts(trail, request, context)]
    steps = tuple(part.step for part in parts)
    put = tuple(part.put for part in parts if part.put is not None)
    end = tuple(part.end for part in parts if part.end is not None)
    if request.dry_run or not (put or end):
        return Recovered(steps=steps, dry_run=request.dry_run, degraded=notes)
    change = Change(
        id=context.mint(),
        operation="recover",
        scope=request.scope,
        at=context.clock(),
        put=put,
        end=end,
        reason=f"recovered from {request.source}",
    )
    entry = entry_of(change, "committed", context, source=request.source, since=request.since)
    result = await Transaction(context).commit_one(change, Act(entries=(entry,)))
    return Recovered(
        steps=steps,
        dry_run=False,
        status=result.status,
        change_id=result.change_id,
        outcomes=result.outcomes,
        degraded=notes,
    )


async def _footprints(request: Recover, context: Context) -> tuple[list[Footprint], bool]:
    """Return the changes since `request.since`, oldest first, and whether the list is complete."""
    historian = context.historian("recover")
    since = [one for one in await historian.changes(request.scope, _MOST + 1) if one.at >= request.since]
    footprints = [await historian.footprint(request.scope, change.id) for change in reversed(since[:_MOST])]
    return [footprint for footprint in footprints if footprint is not None], len(since) <= _MOST


async def _parts(trail: Trail, request: Recover, context: Context) -> AsyncIterator[_Part]:
    now = context.clock()
    live = {record.id: record for record in await context.store.get(request.scope, list(trail.tainted))}
    for id, taint in trail.tainted.items():
        history = await context.historian("recover").history(request.scope, id)
        yield _purge(id, taint, live.get(id), history, now)
    for id, into in trail.aside.items():
        if id not in trail.tainted:
            history = await context.historian("recover").history(request.scope, id)
            for part in await _restore(id, into, history, trail, context):
                yield part
    for id, via in trail.corrections.items():
        yield _Part(step=Step(id=id, deed=Deed.KEPT, cause=Cause.SUPERSEDES, via=via))
    remaining = [
        record
        async for record in context.all_matching(Where(scope=request.scope, alive_at=now))
        if record.updated_at >= request.since and record.id not in trail.tainted
    ]
    for part in await asyncio.to_thread(_quarantine, remaining, now):
        yield part


def _purge(id: str, taint: Taint, live: Record | None, history: Sequence[Version], now: int) -> _Part:
    """End a tainted memory, or restore its last clean version if there is one."""
    step = Step(id=id, deed=Deed.GONE, cause=taint.cause, via=taint.via)
    if live is None:
        return _Part(step=step)
    clean = [(old.record, old.number) for old in history if old.number < taint.version and old.record]
    if not clean:
        end = End(id=id, version=live.version, reason=EndReason.FORGOTTEN)
        return _Part(step=replace(step, deed=Deed.ENDED), end=end)
    record, number = clean[-1]
    put = Put(record=_build_following(record, live.version, now), base=Base.LIVE, like=number)
    return _Part(step=replace(step, deed=Deed.ROLLED_BACK), put=put)


async def _restore(
    id: str, into: str, history: Sequence[Version], trail: Trail, context: Context
) -> list[_Part]:
    """Restore a memory that a tainted one replaced, unless it changed since or a live duplicate exists."""
    last, now = history[-1], context.clock()
    if last.record is None or last.reason not in _PUSHED_ASIDE or last.into not in trail.tainted:
        return []
    twin = await context.store.duplicate(last.record, now)
    if twin is not None and twin.id not in trail.tainted:
        return []
    step = Step(id=id, deed=Deed.RESTORED, cause=Cause.REPLACED, via=into)
    record = _build_following(last.record, last.number, now)
    return [_Part(step=step, put=Put(record=record, base=Base.ENDED, like=last.number))]


def _build_following(record: Record, latest: int, now: int) -> Record:
    """Return the version after `latest`, with the content of this record."""
    return replace(record, version=latest + 1, updated_at=now, recalled_at=None)


def _quarantine(records: Sequence[Record], now: int) -> list[_Part]:
    found = []
    for record in records:
        signs = tuple(dict.fromkeys(sign for sign, _ in screen_record(record)))
        if signs:
            archive_version = replace(
                _build_following(record, record.version, now), standing=Standing.ARCHIVED
            )
            put = Put(record=archive_version, base=Base.LIVE, like=record.version)
            step = Step(id=record.id, deed=Deed.QUARANTINED, cause=Cause.DIRECTIVE, signs=signs)
            found.append(_Part(step=step, put=put))
    return found
