"""Setting keys: each set is a planned change, judged and written like any other.

Sets that arrive at the same time share a commit. Each names the version it expects, so a set that lost a
race is refused, and is retried alone in the turn of its key.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.answers import Redacted
from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import (
    Conflict,
    DimensionMismatch,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    SecretLeakage,
    ValueTooLarge,
    VectorUnsupported,
)
from memorywire.model.kv import AREA, MARK, Indexing, Kept, Setting, size_of
from memorywire.model.record import ENTRY_TEXT, Json, MemoryType, Record, Standing, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import commit
from memorywire.pipeline.kv.keys import Keys, Place, place_of_glimpse, place_of_record
from memorywire.pipeline.kv.usage import MOST_TOGETHER, Seen
from memorywire.pipeline.plan import CommitResult, Plan
from memorywire.pipeline.remember import SafeRequest, draft_record, find_trust, redact
from memorywire.policy.injection import find_clear
from memorywire.policy.judge import trust_of
from memorywire.policy.redact import Redactor
from memorywire.stores.contract import Glimpse, SupportsPeek

Result: TypeAlias = Kept | MemorywireError
_Outcome: TypeAlias = Kept | Exception

_SECOND_MS = 1_000
_FLOAT_BYTES = 4


class Ready(Struct, frozen=True, kw_only=True):
    """A validated setting, ready to be planned once the key's record is known.

    `secrets` are the kinds and places of the secrets that were replaced in it.
    """

    setting: Setting
    size: int
    content: dict[str, Json]
    trust: Trust
    vector: bytes | None = None
    warning: str | None = None
    secrets: tuple[tuple[str, str], ...] = ()


def content_of(setting: Setting) -> dict[str, Json]:
    """Return the content of the record of a key."""
    document = {setting.key: setting.value}
    return document if setting.text is None else {ENTRY_TEXT: setting.text, **document}


def text_of(content: Json) -> str | None:
    """Return the text that an entry is found by, besides its key and value; None if it has none."""
    return content.get(ENTRY_TEXT) if isinstance(content, Mapping) else None


def measure(keys: Keys, setting: Setting) -> int:
    """Return the bytes of the value; raises if the key or the value exceeds its limit."""
    if not 0 < len(setting.key) <= keys.limits.key_chars or not setting.key.isprintable():
        raise InvalidRequest(
            f"a key must have 1 to {keys.limits.key_chars} printable characters", field="key"
        )
    if not setting.key.startswith(keys.area):
        raise InvalidRequest(f"keys of this area must begin with {keys.area}", field="key")
    size = size_of(setting.value)
    if size > keys.limits.value_bytes:
        raise ValueTooLarge(
            f"the value is {size} bytes of JSON, {keys.limits.value_bytes} are allowed",
            field="value",
            fix="store large values elsewhere and keep a reference",
        )
    return size


class PlannedSet(NamedTuple):
    """A set that can be committed, and by how many bytes the owner's usage grows."""

    ready: Ready
    change: Change
    growth: int


def plan_set(keys: Keys, ready: Ready, place: Place, now: int, change_id: str) -> PlannedSet:
    """Plan the change with this id that stores the setting at its place."""
    setting = ready.setting
    goes_on = place.alive(now)
    mark: dict[str, Json] = {
        "of": keys.owner.kind.value,
        "key": setting.key,
        "bytes": ready.size,
        "embedded": ready.vector is not None,
    }
    if keys.area:
        mark[AREA] = keys.area
    if setting.index is not Indexing.ALL:
        mark["index"] = setting.index.value
    record = Record(
        id=place.id,
        scope=keys.scope,
        type=MemoryType.SEMANTIC,
        content=ready.content,
        metadata={MARK: mark},
        source=setting.source,
        expires_at=_find_expiry(setting, place.expires_at if goes_on else None, now),
        version=place.number,
        created_at=place.created_at if goes_on else now,
        updated_at=now,
        standing=Standing.ARCHIVED if setting.index is Indexing.NONE else Standing.ACTIVE,
        trust=ready.trust,
    )
    bare = not setting.embed or ready.warning is not None
    put = Put(record=record, base=place.base, vector=ready.vector, bare=bare)
    change = Change(id=change_id, operation="remember", scope=keys.scope, at=now, put=(put,))
    return PlannedSet(ready, change, ready.size - (place.size if goes_on else 0))


def build_plan(change: Change, secrets: tuple[tuple[str, str], ...] = ()) -> Plan:
    """Build the plan of a change from this module, with an equivalent request for reviewers."""
    (put,) = change.put
    record = put.record
    request = Remember(
        scope=record.scope,
        type=record.type,
        content=record.content,
        source=record.source,
        id=record.id,
        metadata=record.metadata,
        expires_at=record.expires_at,
        if_version=record.version - 1 if put.base is Base.LIVE else None,
    )
    return Plan(change=change, request=request, secrets=secrets)


def build_receipt(plan: PlannedSet, result: CommitResult) -> Kept:
    """Build the receipt of a set; its warning says why there is no vector."""
    ready, record = plan.ready, plan.change.put[0].record
    mark = record.metadata[MARK]
    receipt = Kept(
        key=mark["key"],
        id=record.id,
        version=record.version,
        status=result.status,
        embedded=mark["embedded"],
        embed_warning=ready.warning,
        expires_at=record.expires_at,
        change_id=result.change_id,
        proposal_id=result.proposal_id,
    )
    if not ready.secrets:
        return receipt
    return replace(receipt, redacted=tuple(Redacted(kind=kind, place=place) for kind, place in ready.secrets))


def _find_expiry(setting: Setting, before: int | None, now: int) -> int | None:
    if setting.ttl is not None and setting.ttl > 0:
        return now + max(1, round(setting.ttl * _SECOND_MS))
    return before


async def keep(keys: Keys, setting: Setting) -> Kept:
    """Store one value, in one commit with other values set at the same time.

    Raises before anything is written if the value may not be stored.
    """
    if setting.embed:
        return await keep_alone(keys, setting)
    return await keys.usage.join(keys, setting, _keep_together)


async def keep_each(keys: Keys, settings: Sequence[Setting]) -> list[Result]:
    """Store many values that share commits; returns the receipt or the error of each."""
    if len(settings) > keys.limits.entries_at_once:
        raise InvalidRequest(
            f"{len(settings)} entries at once, {keys.limits.entries_at_once} are allowed", field="entries"
        )
    if len({setting.key for setting in settings}) < len(settings):
        raise InvalidRequest("a key appears twice", field="entries", fix="send each key once")
    parts = [settings[at : at + MOST_TOGETHER] for at in range(0, len(settings), MOST_TOGETHER)]
    groups = await asyncio.gather(*(_keep_together(keys, part) for part in parts))
    results: list[Result] = []
    for outcome in chain.from_iterable(groups):
        if not isinstance(outcome, Kept | MemorywireError):
            raise outcome
        results.append(outcome)
    return results


async def keep_alone(keys: Keys, setting: Setting) -> Kept:
    """Store one value in the turn of its key; raises before anything is written if it may not be stored."""
    able = await prepare(keys, setting)

    async def attempt(place: Place) -> Kept:
        return await write(keys, able, place)

    return await keys.take_turn(setting.key, attempt, setting.if_version)


async def try_alone(keys: Keys, setting: Setting) -> Kept | MemorywireError:
    """Like `keep_alone`, but returns the error instead of raising it."""
    try:
        return await keep_alone(keys, setting)
    except MemorywireError as problem:
        return problem


async def write(keys: Keys, ready: Ready, place: Place) -> Kept:
    """Commit one set at its place; raises the error that prevents it."""
    plan = plan_set(keys, ready, place, keys.context.clock(), keys.context.mint())
    await keys.usage.reserve(keys, plan.growth)
    (outcome,) = await _commit_each(keys, [plan])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _commit_each(keys: Keys, sets: Sequence[PlannedSet]) -> list[_Outcome]:
    """Commit sets whose bytes were reserved; releases the bytes of those that fail."""
    results = await commit([build_plan(one.change, one.ready.secrets) for one in sets], keys.context)
    outcomes: list[_Outcome] = []
    for plan, result in zip(sets, results, strict=True):
        keys.usage.settle(keys, plan.change, plan.growth, result)
        outcomes.append(result if isinstance(result, Exception) else build_receipt(plan, result))
    return outcomes


async def _keep_together(keys: Keys, settings: Sequence[Setting]) -> list[_Outcome]:
    """Store each setting as `keep_alone` would; a failure affects only its own setting."""
    ids = [keys.owner.address(setting.key) for setting in settings]
    with keys.usage.turns.hold(ids) as turns:
        apart = sorted({*turns.missed, *(at for at, setting in enumerate(settings) if setting.embed)})
        others = asyncio.gather(*(try_alone(keys, settings[at]) for at in apart)) if apart else None
        group = {ids[at]: settings[at] for at in range(len(ids)) if at not in apart}
        outcomes = await _write_group(keys, group)
    # These were changed concurrently, or their key has a history: retry each in the turn of its key.
    conflict_ids = [id for id, outcome in outcomes.items() if isinstance(outcome, Conflict)]
    if conflict_ids:
        again = await asyncio.gather(*(try_alone(keys, group[id]) for id in conflict_ids))
        outcomes |= zip(conflict_ids, again, strict=True)
    late = {} if others is None else dict(zip(apart, await others, strict=True))
    return [late[at] if at in late else outcomes[id] for at, id in enumerate(ids)]


async def _write_group(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, _Outcome]:
    """Plan and commit these settings together; returns the outcome by record id. Conflicts may be retried."""
    try:
        plans, outcomes = await _plan_each(keys, settings)
        refusals = await keys.usage.reserve_each(keys, [one.growth for one in plans.values()])
    except MemorywireError as problem:
        return dict.fromkeys(settings, problem)
    outcomes |= {id: no for id, no in zip(plans, refusals, strict=True) if no is not None}
    if len(plans) > 1:
        await asyncio.sleep(0)  # planning a large group takes long: let other tasks run
    sets = {id: one for id, one in plans.items() if id not in outcomes}
    return outcomes | dict(zip(sets, await _commit_each(keys, list(sets.values())), strict=True))


async def _plan_each(
    keys: Keys, settings: Mapping[str, Setting]
) -> tuple[dict[str, PlannedSet], dict[str, _Outcome]]:
    """Plan the settings; returns by record id the sets to commit, and the errors of the others."""
    able = await _prepare_each(keys, settings)
    if len(able) > 1:
        await asyncio.sleep(0)
    places = await _find_places(keys, list(able))
    now = keys.context.clock()
    plans: dict[str, PlannedSet] = {}
    problems: dict[str, _Outcome] = {}
    for (id, one), change_id in zip(able.items(), keys.context.mint.many(len(able)), strict=True):
        try:
            plans[id] = _plan_at(keys, one, _read_place(id, places.get(id)), now, change_id)
        except MemorywireError as problem:
            problems[id] = problem
    return plans, problems


async def _find_places(keys: Keys, ids: Sequence[str]) -> Mapping[str, Record | Glimpse | Seen]:
    """Read the records of these ids, or only the fields the next version needs if the store can peek."""
    store = keys.context.store
    if not isinstance(store, SupportsPeek):
        return {record.id: record for record in await store.get(keys.scope, ids)}
    guesses = keys.usage.known.guesses(keys.owner, store, ids)
    others = [id for id in ids if id not in guesses]
    if not others:
        return guesses
    glimpses = await store.glance(keys.scope, others, MARK)
    return {**guesses, **{glimpse[0]: glimpse for glimpse in glimpses}}


def _read_place(id: str, record: Record | Glimpse | Seen | None) -> Place:
    if record is None:
        return Place(id=id, base=Base.NOTHING)
    return place_of_record(record) if isinstance(record, Record) else place_of_glimpse(record)


def _plan_at(keys: Keys, one: Ready | MemorywireError, place: Place, now: int, change_id: str) -> PlannedSet:
    if isinstance(one, MemorywireError):
        raise one
    version = one.setting.if_version
    if version is not None and version != place.version(now):
        raise Conflict("the stored version is another one", field="if_version")
    return plan_set(keys, one, place, now, change_id)


async def _prepare_each(keys: Keys, settings: Mapping[str, Setting]) -> dict[str, Ready | MemorywireError]:
    """Prepare each setting, or return its error; one scan clears all settings without signs of secrets."""
    governance = keys.context.governance
    policy = None if governance is None else await governance.rulebook.policy(keys.scope.tenant)
    items = [(setting, content_of(setting)) for setting in settings.values()]
    clear = [True] * len(items)
    if governance is not None:
        clear = find_clear(items, partial(_has_no_secret, keys, governance.redactor))
    able: dict[str, Ready | MemorywireError] = {}
    for id, (setting, content), is_clear in zip(settings, items, clear, strict=True):
        try:
            if is_clear:
                trust = Trust.STANDARD if policy is None else trust_of(setting.source, policy)
                size = measure(keys, setting)
                able[id] = Ready(setting=setting, size=size, content=content, trust=trust)
            else:
                able[id] = await prepare(keys, setting)
        except MemorywireError as problem:
            able[id] = problem
    return able


def _has_no_secret(
    keys: Keys, redactor: Redactor, items: Sequence[tuple[Setting, Mapping[str, Json]]]
) -> bool:
    """Whether one scan of all these settings finds no sign of a secret."""
    sources = (setting.source for setting, _ in items)
    names = (keys.scope.agent, keys.scope.user, *sources)
    return redactor.finds_nothing(names, [content for _, content in items])


async def prepare(keys: Keys, setting: Setting) -> Ready:
    """Validate, redact and embed the setting; raises if it may not be stored."""
    measure(keys, setting)
    safe_request = redact(_build_request(keys, setting), keys.context)
    clean = _replace_secrets(safe_request, setting) if safe_request.secrets else setting
    size = measure(keys, clean)
    trust = await find_trust(safe_request.request, keys.context)
    vector, warning = await _embed(keys, clean) if clean.embed else (None, None)
    return Ready(
        setting=clean,
        size=size,
        content=content_of(clean),
        trust=trust,
        vector=vector,
        warning=warning,
        secrets=safe_request.secrets,
    )


def _build_request(keys: Keys, setting: Setting) -> Remember:
    content = content_of(setting)
    return Remember(scope=keys.scope, type=MemoryType.SEMANTIC, content=content, source=setting.source)


def _replace_secrets(safe_request: SafeRequest, setting: Setting) -> Setting:
    """Return the setting with markers for its secrets, if it allows that; else raises SecretLeakage."""
    content = safe_request.request.content
    if not setting.redact or not isinstance(content, Mapping) or setting.key not in content:
        kinds = ", ".join(sorted({kind for kind, _ in safe_request.secrets}))
        raise SecretLeakage(
            f"the entry contains a secret ({kinds}), and values are never redacted",
            field="value",
            fix="store the secret in a secret manager, and its name here",
        )
    source = safe_request.request.source
    return replace(setting, value=content[setting.key], text=text_of(content), source=source)


async def _embed(keys: Keys, setting: Setting) -> tuple[bytes | None, str | None]:
    """Return the entry's vector, or None and a warning; raises if the configuration can never work."""
    refuse_without_vectors(keys)
    try:
        text = setting.text or ""
        if setting.index is not Indexing.TEXT:
            text = draft_record(_build_request(keys, setting)).meaning
        (vector,) = await keys.context.embedder.embed([text])
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


def refuse_without_vectors(keys: Keys) -> None:
    if Feature.VECTOR not in keys.context.store.features:
        raise VectorUnsupported(
            "the store keeps no vectors", field="embed", fix="set without embed, or use a store that does"
        )
