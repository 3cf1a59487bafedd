"""Writing keys: each set is a planned change that is judged and written down like any other."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from memorywire.engine.clean import Cleaned, weighed, without_secrets
from memorywire.engine.commit import Plan
from memorywire.engine.kv.keys import Keys, Place
from memorywire.engine.remember import draft
from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, End, EndReason, Put
from memorywire.model.errors import (
    Conflict,
    DimensionMismatch,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    SecretLeakage,
    ValueTooLarge,
    VectorUnsupported,
    WrongType,
)
from memorywire.model.kv import MARK, Deleted, Entry, Kept, Owner, Reembedded, Setting, entry_of, size_of
from memorywire.model.record import MemoryType, Record
from memorywire.model.requests import Forget, Remember
from memorywire.model.values import dataclass

T = TypeVar("T")

_ATTEMPTS = 20  # another process may move the same key between two looks
_SECOND_MS = 1_000
_FLOAT_BYTES = 4
_TEXT = ""
"""No key is empty, so beside the key this name is free for the text an entry is found by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A setting that may be kept, as far as the key's record does not matter."""

    setting: Setting
    size: int
    asked: Cleaned
    vector: bytes | None
    warning: str | None


async def keep(keys: Keys, setting: Setting) -> Kept:
    """Keep one value; raises before anything is written when it may not be kept."""
    ready = await _ready(keys, setting)

    async def attempt(place: Place) -> Kept:
        return await _write(keys, ready, place)

    return await _in_turn(keys, setting.key, attempt, setting.if_version)


async def keep_each(keys: Keys, settings: Sequence[Setting]) -> list[Kept | MemorywireError]:
    """Keep many values that share commits, each with its own receipt or problem."""
    if len(settings) > keys.limits.entries_at_once:
        raise InvalidRequest(
            f"{len(settings)} entries at once, {keys.limits.entries_at_once} are allowed", field="entries"
        )
    if len({setting.key for setting in settings}) < len(settings):
        raise InvalidRequest("a key is named twice", field="entries", fix="name each key once")
    return await asyncio.gather(*(_kept(keys, setting) for setting in settings))


async def add(keys: Keys, key: str, by: float) -> Kept:
    """Add to the number under the key, which is 0 when there is none; however many do, none is lost."""

    async def attempt(place: Place) -> Kept:
        total = _number(_alive(keys, place)) + by
        kept = await _write(keys, await _ready(keys, Setting(key=key, value=total)), place)
        return replace(kept, value=total)

    return await _in_turn(keys, key, attempt)


async def delete(keys: Keys, key: str) -> Deleted:
    """End the entry; that there was none is no problem."""

    async def attempt(place: Place) -> Deleted:
        current = place.current or (await keys.trace(key)).current
        if current is None or not current.alive(keys.tools.clock()):
            return Deleted(key=key, existed=False)
        scope = keys.owner.scope
        change = Change(
            id=keys.tools.mint(),
            operation="forget",
            scope=scope,
            at=keys.tools.clock(),
            end=(End(id=current.id, version=current.version, reason=EndReason.FORGOTTEN),),
        )
        done = await keys.tools.submit(Plan(change=change, request=Forget(scope=scope, ids=(current.id,))))
        if not done.staged:
            keys.usage.give_back(keys.owner, _bytes(current))
        return Deleted(key=key, existed=True, status=done.status, proposal_id=done.proposal_id)

    return await _in_turn(keys, key, attempt)


async def reembed(keys: Keys) -> Reembedded:
    """See that every entry has a vector; those that have one keep it."""
    _refuse_without_vectors(keys)
    bare = [record async for record in keys.every() if not record.metadata[MARK]["embedded"]]
    settings = [_again(entry_of(record), record.content) for record in bare]
    done = [await _kept(keys, setting) for setting in settings]
    told = zip(settings, done, strict=True)
    failed = {setting.key: why for setting, kept in told if (why := _shortfall(kept)) is not None}
    return Reembedded(entries=len(done) - len(failed), failed=failed)


def _again(found: Entry, content: object) -> Setting:
    text = content.get(_TEXT) if isinstance(content, Mapping) else None
    return Setting(key=found.key, value=found.value, embed=True, text=text, if_version=found.version)


def _shortfall(kept: Kept | MemorywireError) -> str | None:
    return kept.detail if isinstance(kept, MemorywireError) else kept.embed_warning


async def _kept(keys: Keys, setting: Setting) -> Kept | MemorywireError:
    try:
        return await keep(keys, setting)
    except MemorywireError as problem:
        return problem


async def _in_turn(
    keys: Keys, key: str, attempt: Callable[[Place], Awaitable[T]], if_version: int | None = None
) -> T:
    """What the attempt gives, at the place where the key stands; again when a rival moved it meanwhile.

    Raises Conflict when another version stands there than the one that must.
    """
    id = keys.owner.address(key)
    async with keys.usage.turn(id):
        place = await keys.look(id)
        if if_version is not None and if_version != _version(keys, place):
            place = await keys.trace(key)  # there may be more to the key than a single look shows
        for _ in range(_ATTEMPTS - 1):
            _refuse_another(keys, key, if_version, place)
            try:
                return await attempt(place)
            except Conflict:
                place = await keys.trace(key)
        _refuse_another(keys, key, if_version, place)
        return await attempt(place)


async def _ready(keys: Keys, setting: Setting) -> _Ready:
    size = _fitting(keys, setting)
    content = {setting.key: setting.value}
    redacted = without_secrets(
        Remember(
            scope=keys.owner.scope,
            type=MemoryType.SEMANTIC,
            content=content if setting.text is None else {_TEXT: setting.text, **content},
            source=setting.source,
        ),
        keys.tools,
    )
    if redacted.secrets:
        kinds = ", ".join(sorted({kind for kind, _ in redacted.secrets}))
        raise SecretLeakage(
            f"the entry holds a secret ({kinds}), and a value is kept as it is or not at all",
            field="value",
            fix="keep the secret where secrets are kept, and its name here",
        )
    asked = await weighed(redacted, keys.tools)
    vector, warning = await _vector(keys, asked.request) if setting.embed else (None, None)
    return _Ready(setting=setting, size=size, asked=asked, vector=vector, warning=warning)


def _fitting(keys: Keys, setting: Setting) -> int:
    """The bytes of the value, when key and value are within their limits."""
    if not 0 < len(setting.key) <= keys.limits.key_chars or not setting.key.isprintable():
        raise InvalidRequest(f"a key has 1 to {keys.limits.key_chars} printable characters", field="key")
    size = size_of(setting.value)
    if size > keys.limits.value_bytes:
        raise ValueTooLarge(
            f"the value is {size} bytes of JSON, {keys.limits.value_bytes} are allowed",
            field="value",
            fix="keep large things elsewhere and refer to them",
        )
    return size


async def _vector(keys: Keys, request: Remember) -> tuple[bytes | None, str | None]:
    """The entry's vector, or why there is none now; what cannot work is raised before anything is kept."""
    _refuse_without_vectors(keys)
    try:
        (vector,) = await keys.tools.embedder.embed([draft(request).meaning])
    except EmbedderFailed as failure:
        return None, failure.detail
    dimension = keys.tools.embedder.space.dimension
    if len(vector) != dimension * _FLOAT_BYTES:
        raise DimensionMismatch(
            f"the embedder gave {len(vector) // _FLOAT_BYTES} dimensions, the store keeps {dimension}",
            field="embed",
            fix="configure the embedder with the dimension it has",
        )
    return vector, None


def _refuse_without_vectors(keys: Keys) -> None:
    if Feature.VECTOR not in keys.tools.store.features:
        raise VectorUnsupported(
            "the store keeps no vectors", field="embed", fix="set without embed, or use a store that does"
        )


async def _write(keys: Keys, ready: _Ready, place: Place) -> Kept:
    setting, now = ready.setting, keys.tools.clock()
    found = _alive(keys, place)
    request, put = _planned(ready, keys.owner, place, found, now)
    growth = _bytes(put.record) - (_bytes(place.current) if found and place.current else 0)
    await keys.usage.reserve(keys, growth)
    change = Change(id=keys.tools.mint(), operation="remember", scope=request.scope, at=now, put=(put,))
    try:
        done = await keys.tools.submit(Plan(change=change, request=request))
    except MemorywireError:
        keys.usage.give_back(keys.owner, growth)
        raise
    if done.staged:
        keys.usage.give_back(keys.owner, growth)
    return Kept(
        key=setting.key,
        id=place.id,
        version=put.record.version,
        status=done.status,
        embedded=ready.vector is not None,
        embed_warning=ready.warning,
        expires_at=put.record.expires_at,
        change_id=done.change_id,
        proposal_id=done.proposal_id,
    )


def _planned(
    ready: _Ready, owner: Owner, place: Place, found: Entry | None, now: int
) -> tuple[Remember, Put]:
    """What is asked, as a reviewer would read it, and the version that would be begun."""
    setting, asked = ready.setting, ready.asked
    mark = {
        "of": owner.kind.value,
        "key": setting.key,
        "bytes": ready.size,
        "embedded": ready.vector is not None,
    }
    request = Remember(
        scope=asked.request.scope,
        type=asked.request.type,
        content=asked.request.content,
        source=asked.request.source,
        id=place.id,
        metadata={MARK: mark},
        expires_at=_end(setting, found, now),
        if_version=place.current.version if place.current is not None else None,
    )
    record = Record(
        id=place.id,
        scope=request.scope,
        type=request.type,
        content=request.content,
        metadata=request.metadata,
        source=request.source,
        expires_at=request.expires_at,
        version=place.number,
        created_at=now if found is None else found.created_at,
        updated_at=now,
        trust=asked.trust,
    )
    bare = not setting.embed or ready.warning is not None
    return request, Put(record=record, base=place.base, vector=ready.vector, bare=bare)


def _bytes(record: Record) -> int:
    size: int = record.metadata[MARK]["bytes"]
    return size


def _end(setting: Setting, found: Entry | None, now: int) -> int | None:
    if setting.ttl is not None and setting.ttl > 0:
        return now + max(1, round(setting.ttl * _SECOND_MS))
    return None if found is None else found.expires_at


def _alive(keys: Keys, place: Place) -> Entry | None:
    current = place.current
    return entry_of(current) if current is not None and current.alive(keys.tools.clock()) else None


def _version(keys: Keys, place: Place) -> int:
    found = _alive(keys, place)
    return 0 if found is None else found.version


def _refuse_another(keys: Keys, key: str, wanted: int | None, place: Place) -> None:
    if wanted is not None and wanted != _version(keys, place):
        raise Conflict(
            f"{key} is at version {_version(keys, place)}, not {wanted}",
            field="if_version",
            fix="read it again and decide on the current version",
        )


def _number(found: Entry | None) -> float:
    value = 0 if found is None else found.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WrongType(
            "the value under this key is not a number",
            field="key",
            fix="set a number first, or use another key",
        )
    return value
