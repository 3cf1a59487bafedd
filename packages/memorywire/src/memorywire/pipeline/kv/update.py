"""Changes of existing keys: add to a number, delete, extend the time to live, add missing vectors."""

from math import isfinite

from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import InvalidRequest, MemorywireError, WrongType
from memorywire.model.kv import AREA, MARK, Deleted, Entry, Indexing, Kept, Reembedded, Setting, entry_of
from memorywire.model.record import Record
from memorywire.model.requests import Forget
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.kv.keys import Keys, Place
from memorywire.pipeline.kv.set import (
    build_plan,
    prepare,
    refuse_without_vectors,
    text_of,
    try_alone,
    write,
)
from memorywire.pipeline.plan import Plan

_LEAST_GAIN_MS = 1_000  # each extension is a version in the ledger, so reads must not cause many
_TTL_MS = "ttl_ms"
"""Field in the mark of a touched entry: its time to live, counted from each touch."""
_BEYOND = 2**63  # integers have 64 bits on the wire and in stores


async def add(keys: Keys, key: str, by: float) -> Kept:
    """Add to the number under the key, 0 if there is none; no concurrent addition is lost."""

    async def attempt(place: Place) -> Kept:
        total = _sum(_number(place.current if place.alive(keys.context.clock()) else None), by)
        receipt = await write(keys, await prepare(keys, Setting(key=key, value=total)), place)
        return replace(receipt, value=total)

    return await keys.take_turn(key, attempt)


async def delete(keys: Keys, key: str) -> Deleted:
    """End the entry; a missing key is not an error."""

    async def attempt(place: Place) -> Deleted:
        current = place.current or (await keys.trace(key)).current
        if current is None or not current.alive(keys.context.clock()):
            return Deleted(key=key, existed=False)
        scope, records = keys.scope, await keys.all_of(current)
        change = Change(
            id=keys.context.mint(),
            operation="forget",
            scope=scope,
            at=keys.context.clock(),
            end=tuple(End(id=one.id, version=one.version, reason=EndReason.FORGOTTEN) for one in records),
        )
        request = Forget(scope=scope, ids=tuple(one.id for one in records))
        result = await commit_one(Plan(change=change, request=request), keys.context)
        if not result.is_staged:
            mark = current.metadata[MARK]
            keys.usage.give_back(keys.owner, mark.get(AREA, ""), mark["bytes"])
            keys.usage.known.forget(current.id)
        return Deleted(key=key, existed=True, status=result.status, proposal_id=result.proposal_id)

    return await keys.take_turn(key, attempt)


async def touch(keys: Keys, key: str) -> Entry | None:
    """Restart the entry's time to live and return the entry; None if there is none.

    An entry without expiry is unchanged, and so is one whose expiry would move by less than a second.
    """

    async def attempt(place: Place) -> Entry | None:
        now, current = keys.context.clock(), place.current or (await keys.trace(key)).current
        if current is None or not current.alive(now):
            return None
        following = _prolong(current, now)
        if following is None:
            return entry_of(current)
        put = Put(record=following, base=Base.LIVE, like=current.version)
        change = Change(id=keys.context.mint(), operation="remember", scope=keys.scope, at=now, put=(put,))
        result = await commit_one(build_plan(change), keys.context)
        keys.usage.known.forget(current.id)
        return entry_of(current if result.is_staged else following)

    return await keys.take_turn(key, attempt)


def _prolong(current: Record, now: int) -> Record | None:
    """Return the next version with a later expiry; None if that would not move enough."""
    if current.expires_at is None:
        return None
    mark = current.metadata[MARK]
    ttl_ms = mark.get(_TTL_MS) or current.expires_at - current.updated_at
    if now + ttl_ms - current.expires_at < _LEAST_GAIN_MS:
        return None
    metadata = {**current.metadata, MARK: {**mark, _TTL_MS: ttl_ms}}
    version = current.version + 1
    return replace(current, version=version, expires_at=now + ttl_ms, metadata=metadata)


async def reembed(keys: Keys) -> Reembedded:
    """Embed every entry that has no vector, except those excluded from searches."""
    refuse_without_vectors(keys)
    marks = [(record, record.metadata[MARK]) async for record in keys.every()]
    bare = [one for one, mark in marks if not mark["embedded"] and mark.get("index") != Indexing.NONE]
    failures: dict[str, str] = {}
    for setting in map(_again, bare):
        receipt = await try_alone(keys, setting)
        why = receipt.detail if isinstance(receipt, MemorywireError) else receipt.embed_warning
        if why is not None:
            failures[setting.key] = why
    return Reembedded(entries=len(bare) - len(failures), failed=failures)


def _again(record: Record) -> Setting:
    entry, mark = entry_of(record), record.metadata[MARK]
    return Setting(
        key=entry.key,
        value=entry.value,
        embed=True,
        text=text_of(record.content),
        source=record.source,
        if_version=entry.version,
        index=Indexing(mark.get("index", Indexing.ALL)),
    )


def _sum(number: float, by: float) -> float:
    """Return the sum; raises InvalidRequest if it is too large for a value."""
    total = number + by
    if -_BEYOND <= total < _BEYOND if isinstance(total, int) else isfinite(total):
        return total
    raise InvalidRequest(
        "the sum is too large for a number", field="by", fix="set the key to a smaller number first"
    )


def _number(record: Record | None) -> float:
    value = 0 if record is None else entry_of(record).value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(
            "the value under this key is not a number",
            field="key",
            fix="set a number first, or use another key",
        )
    return value
