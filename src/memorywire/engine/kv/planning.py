"""A set as a plan: what is asked, the version that would be begun, and its receipt."""

from collections.abc import Mapping

from memorywire.engine.commit import Plan, Submitted
from memorywire.engine.kv.keys import Keys, Place
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import InvalidRequest, ValueTooLarge
from memorywire.model.kv import MARK, Kept, Setting, size_of
from memorywire.model.record import Json, MemoryType, Record, Trust
from memorywire.model.requests import Remember
from memorywire.model.values import dataclass

_SECOND_MS = 1_000
_TEXT = ""
"""No key is empty, so beside the key this name is free for the text an entry is found by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A setting that may be kept, as far as the key's record does not matter."""

    setting: Setting
    size: int
    content: dict[str, Json]
    trust: Trust
    vector: bytes | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be committed, and how many bytes more the owner holds then."""

    ready: Ready
    change: Change
    growth: int

    @property
    def record(self) -> Record:
        return self.change.put[0].record

    @property
    def plan(self) -> Plan:
        """The whole plan, with what is asked as a reviewer would read it."""
        record = self.record
        request = Remember(
            scope=record.scope,
            type=record.type,
            content=record.content,
            source=record.source,
            id=record.id,
            metadata=record.metadata,
            expires_at=record.expires_at,
            if_version=record.version - 1 if self.change.put[0].base is Base.LIVE else None,
        )
        return Plan(change=self.change, request=request)


def content_of(setting: Setting) -> dict[str, Json]:
    """What the record of a key says."""
    said = {setting.key: setting.value}
    return said if setting.text is None else {_TEXT: setting.text, **said}


def text_of(content: Json) -> str | None:
    """The text that an entry is found by, besides its key and its value."""
    return content.get(_TEXT) if isinstance(content, Mapping) else None


def fitting(keys: Keys, setting: Setting) -> int:
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


def planned(keys: Keys, ready: Ready, place: Place, now: int, id: str) -> Planned:
    """What keeps the setting there, by a change of this id."""
    setting = ready.setting
    found = alive(place, now)
    mark = {
        "of": keys.owner.kind.value,
        "key": setting.key,
        "bytes": ready.size,
        "embedded": ready.vector is not None,
    }
    record = Record(
        id=place.id,
        scope=keys.scope,
        type=MemoryType.SEMANTIC,
        content=ready.content,
        metadata={MARK: mark},
        source=setting.source,
        expires_at=_end(setting, found, now),
        version=place.number,
        created_at=now if found is None else found.created_at,
        updated_at=now,
        trust=ready.trust,
    )
    bare = not setting.embed or ready.warning is not None
    put = Put(record=record, base=place.base, vector=ready.vector, bare=bare)
    change = Change(id=id, operation="remember", scope=keys.scope, at=now, put=(put,))
    before = 0 if found is None else held(found)
    return Planned(ready, change, ready.size - before)


def receipt(planned: Planned, done: Submitted) -> Kept:
    ready, record = planned.ready, planned.record
    return Kept(
        key=ready.setting.key,
        id=record.id,
        version=record.version,
        status=done.status,
        embedded=ready.vector is not None,
        embed_warning=ready.warning,
        expires_at=record.expires_at,
        change_id=done.change_id,
        proposal_id=done.proposal_id,
    )


def alive(place: Place, now: int) -> Record | None:
    """What stands at a place, unless its time has passed."""
    current = place.current
    return current if current is not None and current.alive(now) else None


def version_of(found: Record | None) -> int:
    return 0 if found is None else found.version


def held(record: Record) -> int:
    """How many bytes an entry counts for."""
    size: int = record.metadata[MARK]["bytes"]
    return size


def _end(setting: Setting, found: Record | None, now: int) -> int | None:
    if setting.ttl is not None and setting.ttl > 0:
        return now + max(1, round(setting.ttl * _SECOND_MS))
    return None if found is None else found.expires_at
