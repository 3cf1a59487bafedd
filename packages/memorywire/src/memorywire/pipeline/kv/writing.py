"""Writing keys: each set is a planned change that is judged and written down like any other."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from math import isfinite
from typing import TypeVar

from msgspec.structs import replace

from memorywire.model.answers import Redacted
from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import (
    Conflict,
    DimensionMismatch,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    SecretLeakage,
    VectorUnsupported,
    WrongType,
)
from memorywire.model.kv import AREA, MARK, Deleted, Entry, Indexing, Kept, Reembedded, Setting, entry_of
from memorywire.model.record import MemoryType, Record
from memorywire.model.requests import Forget, Remember
from memorywire.pipeline.commit import Plan
from memorywire.pipeline.kv.keys import Keys, Place
from memorywire.pipeline.kv.planning import (
    Ready,
    content_of,
    fitting,
    plan_of,
    planned,
    receipt,
    text_of,
)
from memorywire.pipeline.remember import Cleaned, draft_record, weighed, without_secrets

T = TypeVar("T")

_RIVAL_SECONDS = 30.0  # another process may move the same key between two looks
_FIRST_PAUSE, _LONGEST_PAUSE = 0.002, 0.25
_jitter = random.uniform
_FLOAT_BYTES = 4
_LEAST_GAIN_MS = 1_000  # each prolonging is a version in the ledger, so that reads must not cause many
_TTL_MS = "ttl_ms"
"""In the mark of an entry that was touched: how long it lives from each touch on."""
_BEYOND = 2**63  # whole numbers have 64 bits, on the wire as in a store


async def keep_alone(keys: Keys, setting: Setting) -> Kept:
    """Keep one value; raises before anything is written when it may not be kept."""
    able = await ready(keys, setting)

    async def attempt(place: Place) -> Kept:
        return await _write(keys, able, place)

    return await _in_turn(keys, setting.key, attempt, setting.if_version)


async def kept_alone(keys: Keys, setting: Setting) -> Kept | MemorywireError:
    """The receipt, or the problem."""
    try:
        return await keep_alone(keys, setting)
    except MemorywireError as problem:
        return problem


async def add(keys: Keys, key: str, by: float) -> Kept:
    """Add to the number under the key, which is 0 when there is none; however many do, none is lost."""

    async def attempt(place: Place) -> Kept:
        total = _sum(_number(place.current if place.alive(keys.context.clock()) else None), by)
        kept = await _write(keys, await ready(keys, Setting(key=key, value=total)), place)
        return replace(kept, value=total)

    return await _in_turn(keys, key, attempt)


async def delete(keys: Keys, key: str) -> Deleted:
    """End the entry; that there was none is no problem."""

    async def attempt(place: Place) -> Deleted:
        current = place.current or (await keys.trace(key)).current
        if current is None or not current.alive(keys.context.clock()):
            return Deleted(key=key, existed=False)
        scope, gone = keys.scope, await keys.all_of(current)
        change = Change(
            id=keys.context.mint(),
            operation="forget",
            scope=scope,
            at=keys.context.clock(),
            end=tuple(End(id=one.id, version=one.version, reason=EndReason.FORGOTTEN) for one in gone),
        )
        request = Forget(scope=scope, ids=tuple(one.id for one in gone))
        done = await keys.context.submit(Plan(change=change, request=request))
        if not done.staged:
            mark = current.metadata[MARK]
            keys.usage.give_back(keys.owner, mark.get(AREA, ""), mark["bytes"])
            keys.usage.known.forget(current.id)
        return Deleted(key=key, existed=True, status=done.status, proposal_id=done.proposal_id)

    return await _in_turn(keys, key, attempt)


async def touch(keys: Keys, key: str) -> Entry | None:
    """The entry, with its time to live counted from now; None when there is none.

    An entry without an end stays as it is, and so does one whose end would move by less than a second.
    """

    async def attempt(place: Place) -> Entry | None:
        now, current = keys.context.clock(), place.current or (await keys.trace(key)).current
        if current is None or not current.alive(now):
            return None
        following = _prolonged(current, now)
        if following is None:
            return entry_of(current)
        put = Put(record=following, base=Base.LIVE, like=current.version)
        change = Change(id=keys.context.mint(), operation="remember", scope=keys.scope, at=now, put=(put,))
        done = await keys.context.submit(plan_of(change))
        keys.usage.known.forget(current.id)
        return entry_of(current if done.staged else following)

    return await _in_turn(keys, key, attempt)


def _prolonged(current: Record, now: int) -> Record | None:
    """The next version, which ends later; None if there is nothing to gain."""
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
    """See that every entry has a vector, but those that are kept out of searches; none is made twice."""
    _refuse_without_vectors(keys)
    bare = [record async for record in keys.every() if _lacks_vector(record)]
    settings = [_again(record) for record in bare]
    done = [await kept_alone(keys, setting) for setting in settings]
    told = zip(settings, done, strict=True)
    failed = {setting.key: why for setting, kept in told if (why := _shortfall(kept)) is not None}
    return Reembedded(entries=len(done) - len(failed), failed=failed)


def _lacks_vector(record: Record) -> bool:
    mark = record.metadata[MARK]
    return not mark["embedded"] and mark.get("index") != Indexing.NONE


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


def _shortfall(kept: Kept | MemorywireError) -> str | None:
    return kept.detail if isinstance(kept, MemorywireError) else kept.embed_warning


async def _in_turn(
    keys: Keys, key: str, attempt: Callable[[Place], Awaitable[T]], if_version: int | None = None
) -> T:
    """What the attempt gives, at the place where the key stands; again when a rival moved it meanwhile.

    Raises Conflict when another version stands there than the one that must.
    """
    id = keys.owner.address(key)
    async with keys.usage.turns.turn(id):
        place = await keys.look(id)
        if if_version is not None and if_version != place.version(keys.context.clock()):
            place = await keys.trace(key)  # there may be more to the key than a single look shows
        clock, pause = asyncio.get_running_loop().time, _FIRST_PAUSE
        deadline = clock() + _RIVAL_SECONDS
        while True:
            _refuse_another(keys, key, if_version, place)
            try:
                return await attempt(place)
            except Conflict:
                if clock() >= deadline:
                    raise
            await asyncio.sleep(_jitter(0, pause))  # rivals that wait equally long would meet again
            pause = min(2 * pause, _LONGEST_PAUSE)
            place = await keys.trace(key)


async def ready(keys: Keys, setting: Setting) -> Ready:
    """The setting as it may be kept; raises when it may not."""
    fitting(keys, setting)
    redacted = without_secrets(_request(keys, setting), keys.context)
    clean = _without(redacted, setting) if redacted.secrets else setting
    size = fitting(keys, clean)
    trust = (await weighed(redacted, keys.context)).trust
    vector, warning = await _vector(keys, clean) if clean.embed else (None, None)
    return Ready(
        setting=clean,
        size=size,
        content=content_of(clean),
        trust=trust,
        vector=vector,
        warning=warning,
        secrets=redacted.secrets,
    )


def _request(keys: Keys, setting: Setting) -> Remember:
    content = content_of(setting)
    return Remember(scope=keys.scope, type=MemoryType.SEMANTIC, content=content, source=setting.source)


def _without(redacted: Cleaned, setting: Setting) -> Setting:
    """The setting with markers for its secrets, if it asked for that; else raises SecretLeakage."""
    content = redacted.request.content
    if not setting.redact or not isinstance(content, Mapping) or setting.key not in content:
        kinds = ", ".join(sorted({kind for kind, _ in redacted.secrets}))
        raise SecretLeakage(
            f"the entry holds a secret ({kinds}), and a value is kept as it is or not at all",
            field="value",
            fix="keep the secret where secrets are kept, and its name here",
        )
    source = redacted.request.source
    return replace(setting, value=content[setting.key], text=text_of(content), source=source)


async def _vector(keys: Keys, setting: Setting) -> tuple[bytes | None, str | None]:
    """The entry's vector, or why there is none now; what cannot work is raised before anything is kept."""
    _refuse_without_vectors(keys)
    try:
        (vector,) = await keys.context.embedder.embed([_meaning(keys, setting)])
    except DimensionMismatch:
        raise
    except EmbedderFailed as failure:
        return None, failure.detail
    dimension = keys.context.embedder.space.dimension
    if len(vector) != dimension * _FLOAT_BYTES:
        raise DimensionMismatch(
            f"the embedder gave {len(vector) // _FLOAT_BYTES} dimensions, the store keeps {dimension}",
            field="embed",
            fix="configure the embedder with the dimension it has",
        )
    return vector, None


def _meaning(keys: Keys, setting: Setting) -> str:
    if setting.index is Indexing.TEXT:
        return setting.text or ""
    return draft_record(_request(keys, setting)).meaning


def _refuse_without_vectors(keys: Keys) -> None:
    if Feature.VECTOR not in keys.context.store.features:
        raise VectorUnsupported(
            "the store keeps no vectors", field="embed", fix="set without embed, or use a store that does"
        )


async def _write(keys: Keys, ready: Ready, place: Place) -> Kept:
    now = keys.context.clock()
    change, growth = planned(keys, ready, place, now, keys.context.mint())
    await keys.usage.reserve(keys, growth)
    try:
        done = await keys.context.submit(plan_of(change, ready.secrets))
    except MemorywireError as problem:
        keys.usage.settle(keys, change, growth, problem)
        raise
    keys.usage.settle(keys, change, growth, done)
    kept = receipt(change, done, ready.warning)
    if not ready.secrets:
        return kept
    return replace(kept, redacted=tuple(Redacted(kind=kind, place=place) for kind, place in ready.secrets))


def _refuse_another(keys: Keys, key: str, wanted: int | None, place: Place) -> None:
    if wanted is not None and wanted != (version := place.version(keys.context.clock())):
        raise Conflict(
            f"{key} is at version {version}, not {wanted}",
            field="if_version",
            fix="read it again and decide on the current version",
        )


def _sum(number: float, by: float) -> float:
    """The sum, when a value may be it: no set takes a number that is longer."""
    total = number + by
    if -_BEYOND <= total < _BEYOND if isinstance(total, int) else isfinite(total):
        return total
    raise InvalidRequest(
        "the sum is beyond what a number may be", field="by", fix="set the key to a smaller number first"
    )


def _number(found: Record | None) -> float:
    value = 0 if found is None else entry_of(found).value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(
            "the value under this key is not a number",
            field="key",
            fix="set a number first, or use another key",
        )
    return value
