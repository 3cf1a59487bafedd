"""A set as a plan: what is asked, the version that would be begun, and its receipt."""

from collections.abc import Mapping

from msgspec import Struct

from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import InvalidRequest, ValueTooLarge
from memorywire.model.kv import AREA, MARK, Indexing, Kept, Setting, size_of
from memorywire.model.record import ENTRY_TEXT, Json, MemoryType, Record, Standing, Trust
from memorywire.model.requests import Remember
from memorywire.pipeline.commit import Plan, Submitted
from memorywire.pipeline.kv.keys import Keys, Place

_SECOND_MS = 1_000


class Ready(Struct, frozen=True, kw_only=True):
    """A setting that may be kept, as far as the key's record does not matter.

    `secrets` are the kinds and places of what was replaced in it.
    """

    setting: Setting
    size: int
    content: dict[str, Json]
    trust: Trust
    vector: bytes | None = None
    warning: str | None = None
    secrets: tuple[tuple[str, str], ...] = ()


def content_of(setting: Setting) -> dict[str, Json]:
    """What the record of a key says."""
    said = {setting.key: setting.value}
    return said if setting.text is None else {ENTRY_TEXT: setting.text, **said}


def text_of(content: Json) -> str | None:
    """The text that an entry is found by, besides its key and its value."""
    return content.get(ENTRY_TEXT) if isinstance(content, Mapping) else None


def fitting(keys: Keys, setting: Setting) -> int:
    """The bytes of the value, when key and value are within their limits."""
    if not 0 < len(setting.key) <= keys.limits.key_chars or not setting.key.isprintable():
        raise InvalidRequest(f"a key has 1 to {keys.limits.key_chars} printable characters", field="key")
    if not setting.key.startswith(keys.area):
        raise InvalidRequest(f"keys of this area begin with {keys.area}", field="key")
    size = size_of(setting.value)
    if size > keys.limits.value_bytes:
        raise ValueTooLarge(
            f"the value is {size} bytes of JSON, {keys.limits.value_bytes} are allowed",
            field="value",
            fix="keep large things elsewhere and refer to them",
        )
    return size


def planned(keys: Keys, ready: Ready, place: Place, now: int, id: str) -> tuple[Change, int]:
    """The change of this id that keeps the setting there, and how many bytes more the owner holds then."""
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
        expires_at=_end(setting, place.expires_at if goes_on else None, now),
        version=place.number,
        created_at=place.created_at if goes_on else now,
        updated_at=now,
        standing=Standing.ARCHIVED if setting.index is Indexing.NONE else Standing.ACTIVE,
        trust=ready.trust,
    )
    bare = not setting.embed or ready.warning is not None
    put = Put(record=record, base=place.base, vector=ready.vector, bare=bare)
    change = Change(id=id, operation="remember", scope=keys.scope, at=now, put=(put,))
    return change, ready.size - (place.held if goes_on else 0)


def plan_of(change: Change, secrets: tuple[tuple[str, str], ...] = ()) -> Plan:
    """The whole plan of a change that was planned here, with what is asked as a reviewer would read it."""
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


def receipt(change: Change, done: Submitted, warning: str | None = None) -> Kept:
    """What is said of a change that was planned here; the warning says why there is no vector."""
    record = change.put[0].record
    mark = record.metadata[MARK]
    return Kept(
        key=mark["key"],
        id=record.id,
        version=record.version,
        status=done.status,
        embedded=mark["embedded"],
        embed_warning=warning,
        expires_at=record.expires_at,
        change_id=done.change_id,
        proposal_id=done.proposal_id,
    )


def _end(setting: Setting, before: int | None, now: int) -> int | None:
    if setting.ttl is not None and setting.ttl > 0:
        return now + max(1, round(setting.ttl * _SECOND_MS))
    return before
