"""Records, changes, vectors and an embedder for checks. Each call makes new ids."""

import hashlib
import math
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.query import Compare, Operator, Query, Scored, Where
from memorywire.model.record import DEFAULT_TENANT, Json, MemoryType, Record, Scope
from memorywire.model.space import Space
from memorywire.stores.contract import Store

SPACE = Space(model="test", revision="1", dimension=8)
NOW = 1_800_000_000_000


def a_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


def a_scope(user: str | None = None, tenant: str = DEFAULT_TENANT) -> Scope:
    """Return the scope of a new agent, so that checks can share one store."""
    return Scope(agent=a_name("agent"), user=user, tenant=tenant)


def user_of(scope: Scope, user: str | None) -> Scope:
    return replace(scope, user=user)


def a_record(scope: Scope, content: str | Mapping[str, Json] = "the kettle is blue", **fields: Any) -> Record:
    values = {
        "id": str(uuid.uuid4()),
        "type": MemoryType.SEMANTIC,
        "created_at": NOW,
        "updated_at": NOW,
        **fields,
    }
    return Record(scope=scope, content=content, **values)


def records(scope: Scope, count: int, content: str = "the kettle is blue", **fields: Any) -> list[Record]:
    """Return `count` records with distinct texts."""
    return [a_record(scope, f"{content} {number}", **fields) for number in range(count)]


def a_vector(*weights: float) -> bytes:
    """Return a unit vector with these weights on its first axes."""
    axes = (*weights, *[0.0] * (SPACE.dimension - len(weights)))
    length = math.sqrt(sum(axis * axis for axis in axes))
    return struct.pack(f"<{SPACE.dimension}f", *(axis / length for axis in axes))


def beginning(record: Record, vector: bytes | None = None, *, unique: bool = False) -> Put:
    return Put(record=record, base=Base.NOTHING, vector=vector, unique=unique)


def revised(record: Record, **fields: Any) -> Record:
    """Return the next version of a record, with these fields changed."""
    return replace(record, **{"version": record.version + 1, "updated_at": record.updated_at + 1, **fields})


def revising(record: Record, **fields: Any) -> Put:
    """Return a put of the next version over the live one."""
    return Put(record=revised(record, **fields), base=Base.LIVE)


def ending(record: Record, reason: EndReason = EndReason.FORGOTTEN, into: str | None = None) -> End:
    return End(id=record.id, version=record.version, reason=reason, into=into)


def a_change(scope: Scope, *parts: Put | End, at: int = NOW, **fields: Any) -> Change:
    values = {"id": a_name("change"), "operation": "check", **fields}
    return Change(
        scope=scope,
        at=at,
        put=tuple(part for part in parts if isinstance(part, Put)),
        end=tuple(part for part in parts if isinstance(part, End)),
        **values,
    )


async def keep(store: Store, *kept: Record, vector: bytes | None = None, at: int = NOW) -> Change:
    """Write new records of one agent in one change."""
    agent = Scope(agent=kept[0].scope.agent, tenant=kept[0].scope.tenant)
    change = a_change(agent, *(beginning(record, vector) for record in kept), at=at)
    await store.write(change)
    return change


async def keep_new(
    store: Store,
    scope: Scope | None = None,
    content: str | Mapping[str, Json] = "the kettle is blue",
    *,
    vector: bytes | None = None,
    at: int = NOW,
    **fields: Any,
) -> Record:
    """Write one record, of a new agent unless a scope is given, and return it."""
    record = a_record(a_scope() if scope is None else scope, content, **fields)
    await keep(store, record, vector=vector, at=at)
    return record


async def end(store: Store, *records: Record, at: int = NOW) -> Change:
    """Forget records of one scope in one change."""
    change = a_change(records[0].scope, *(ending(record) for record in records), at=at)
    await store.write(change)
    return change


def everything(scope: Scope, **conditions: Any) -> Where:
    return Where(**{"scope": scope, "alive_at": NOW, **conditions})


def a_query(scope: Scope, text: str = "", vector: bytes | None = None, **conditions: Any) -> Query:
    return Query(where=everything(scope, **conditions), text=text, vector=vector)


def compare(path: str, operator: str, value: Json) -> Compare:
    return Compare(tuple(path.split(".")), Operator(operator), value)


def ids(found: Iterable[Record] | Iterable[Scored]) -> list[str]:
    return [(item.record if isinstance(item, Scored) else item).id for item in found]


def by_id(kept: Sequence[Record]) -> list[str]:
    return sorted(record.id for record in kept)


class HandClock:
    """A clock that moves only when it is set."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class WordEmbedder:
    """An Embedder without a model: each word has a fixed direction; a text is the sum of its words."""

    space: Space = SPACE

    async def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [_vector(text) for text in texts]

    async def close(self) -> None:
        """Do nothing: nothing is open."""


def _vector(text: str) -> bytes:
    axes = [0.0] * SPACE.dimension
    for word in text.lower().split() or [""]:
        spun = hashlib.blake2b(word.strip(".,?!").encode(), digest_size=SPACE.dimension).digest()
        axes = [axis + byte - 127.5 for axis, byte in zip(axes, spun, strict=True)]
    length = math.sqrt(sum(axis * axis for axis in axes))
    return struct.pack(f"<{SPACE.dimension}f", *(axis / length for axis in axes))
