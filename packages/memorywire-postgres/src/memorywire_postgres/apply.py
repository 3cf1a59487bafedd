"""Applies a change inside a transaction that the caller began."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict
from memorywire.model.kv import saying
from memorywire.model.record import Record, Scope
from memorywire.model.space import Space
from memorywire_postgres.database import Connection, Row
from memorywire_postgres.migrate import refuse_if_reembedded
from memorywire_postgres.rows import (
    QUERIES,
    bind_scope,
    build_change_row,
    build_version_row,
    decode_text,
    dumps,
    encode_optional,
    encode_text,
)

T = TypeVar("T")

_GROUP = 500  # versions per INSERT
_MANY = 8  # with more versions than this, serialisation runs on a thread, to keep the event loop responsive


class _Head(Struct, frozen=True):
    """The last version of an id; `begun` is its index among the versions that this change begins."""

    scope: Scope
    number: int
    live: bool
    erased: bool
    begun: int | None = None


class _Statement(Struct, frozen=True):
    """The fields of a live record that decide whether another record is a duplicate of it."""

    scope: Scope
    digest: str
    expires_at: int | None

    def repeats(self, record: Record, digest: str, at: int) -> bool:
        alive = self.expires_at is None or at < self.expires_at
        return alive and self.digest == digest and self.scope == record.scope


def applying(
    change: Change, space: Space, *, announce: bool = False
) -> Callable[[Connection], Awaitable[int]]:
    """Return a function that commits the whole change or raises; rows are built here, before any transaction.

    Raises InvalidRequest for a value that no row can hold. `announce` notifies other processes of the commit.
    """
    row, rows = build_change_row(change), [build_version_row(put, space) for put in change.put]

    async def work(db: Connection) -> int:
        existing, sequence, draft = await _read_state(db, change, row, rows, space)
        if existing is not None:
            return existing
        draft.plan()
        await _write(db, draft, row | {"seq": sequence})
        if announce:
            await db.execute(QUERIES["announce"], {"seq": sequence})
        return sequence

    return work


async def _read_state(
    db: Connection, change: Change, row: dict[str, Any], rows: Sequence[dict[str, Any]], space: Space
) -> tuple[int | None, int, "_Draft"]:
    """Read, under the agent's lock, everything the change depends on."""
    ids = {encode_text(end.id) for end in change.end} | {encode_text(id) for id in change.erase}
    digests = {saying(put.record) for put in change.put if put.unique}
    bindings = {
        "ids": sorted(ids | {put["id"] for put in rows}),
        "digests": [bytes.fromhex(digest) for digest in digests if digest is not None],
    }
    async with db.pipeline():
        await db.execute(QUERIES["lock_agent"], row)
        existing = await db.execute(QUERIES["known_changes"], row)
        sequence = await db.execute(QUERIES["next_sequence"])
        heads = await db.execute(QUERIES["heads"], row | bindings)
        sayings = await db.execute(QUERIES["sayings"], row | bindings)
        # Must be the last query: vectors cannot be replaced after the query before it, until we commit.
        current_space = await db.execute(QUERIES["reembedded_to"])
    refuse_if_reembedded(next((str(to) for (to,) in await current_space.fetchall()), None), space)
    before = await existing.fetchall()
    again = next((int(seq) for seq, id in before if id == row["id"]), None)
    if before and again is None:
        raise IdempotencyConflict("the idempotency key is already used", field="idempotency_key")
    [(number,)] = await sequence.fetchall()
    draft = _Draft(change, rows, int(number), await heads.fetchall(), await sayings.fetchall())
    return again, int(number), draft


class _Draft:
    """Applies a change to the state that was read: raises, or collects what to end, begin and erase."""

    def __init__(
        self,
        change: Change,
        rows: Sequence[dict[str, Any]],
        sequence: int,
        heads: Sequence[Row],
        sayings: Sequence[Row],
    ) -> None:
        self.ended: list[tuple[str, EndReason, str | None]] = []
        self.begun: list[dict[str, Any]] = []
        self.erased: list[str] = []
        self._change = change
        self._rows = rows
        self._sequence = sequence
        tenant, agent = change.scope.tenant, change.scope.agent
        self._heads = {
            decode_text(id): _Head(
                Scope(
                    tenant=tenant, agent=decode_text(owner), user=None if user is None else decode_text(user)
                ),
                *rest,
            )
            for id, owner, user, *rest in heads
        }
        self._statements = {
            decode_text(id): _Statement(
                Scope(tenant=tenant, agent=agent, user=None if user is None else decode_text(user)),
                digest.hex(),
                expires_at,
            )
            for id, user, digest, expires_at in sayings
        }
        self._ids_by_digest: defaultdict[str, set[str]] = defaultdict(set)
        for id, other in self._statements.items():
            self._ids_by_digest[other.digest].add(id)
        self._new_rows: dict[tuple[str, int], dict[str, Any]] = {}

    def plan(self) -> None:
        """Process ends before puts: a put may repeat the content of a version that the change ends."""
        for end in self._change.end:
            self._end(end)
        for put, row in zip(self._change.put, self._rows, strict=True):
            self._put(put, row)
        for id in self._change.erase:
            self._erase(id)

    def _end(self, end: End) -> None:
        head = self._find_covered(end.id)
        if head is None or head.erased:
            raise Conflict("no memory has this id", field="id")
        if not head.live or head.number != end.version:
            raise Conflict("the memory is no longer at this version", field="if_version")
        self._end_live(end.id, head, end.reason, end.into)

    def _end_live(self, id: str, head: _Head, reason: EndReason, into: str | None) -> None:
        if head.begun is None:
            self.ended.append((id, reason, into))
        else:
            ending = {"ended": self._sequence, "reason": reason.value, "into": encode_optional(into)}
            self.begun[head.begun] |= ending
        self._heads[id] = replace(head, live=False)
        self._statements.pop(id, None)

    def _put(self, put: Put, row: dict[str, Any]) -> None:
        record = put.record
        head = self._find_base(put)
        if put.unique and row["digest"] is not None:
            self._refuse_repetition(record, row["digest"])
        if row["like"] is not None:
            row = row | self._copy_vector(head, row)
        if head is not None and head.live:
            self._end_live(record.id, head, EndReason.REPLACED, None)
        self._heads[record.id] = _Head(record.scope, record.version, True, False, begun=len(self.begun))
        if row["digest"] is not None:
            self._statements[record.id] = _Statement(record.scope, row["digest"], record.expires_at)
            self._ids_by_digest[row["digest"]].add(record.id)
        row = row | {"began": self._sequence, "ended": None, "reason": None, "into": None}
        self._new_rows[row["id"], record.version] = row
        self.begun.append(row)

    def _find_base(self, put: Put) -> _Head | None:
        """Return the last version of the put's id; raises Conflict unless the put expects it."""
        record = put.record
        head = self._heads.get(record.id)
        if not self._change.scope.covers(record.scope) or (put.base is Base.NOTHING and head is not None):
            raise Conflict("the id is taken", field="id")
        if put.base is not Base.NOTHING and (head is None or head.erased or head.scope != record.scope):
            raise Conflict("no memory has this id", field="id")
        number, live = (0, False) if head is None else (head.number, head.live)
        if live != (put.base is Base.LIVE) or record.version != number + 1:
            raise Conflict("the memory is no longer at this version", field="if_version")
        return head

    def _copy_vector(self, head: _Head | None, row: dict[str, Any]) -> dict[str, Any]:
        """Return the columns of version `like` if this change begins it; else {}, as SQL copies them."""
        like = row["like"]
        if head is None or not 1 <= like <= head.number:
            raise Conflict(f"there is no version {like} to take the vector from", field="if_version")
        own = self._new_rows.get((row["id"], like))
        return {} if own is None else {name: own[name] for name in ("vector", "tokens", "like")}

    def _refuse_repetition(self, record: Record, digest: str) -> None:
        others = [(id, self._statements.get(id)) for id in self._ids_by_digest[digest] - {record.id}]
        same = [id for id, other in others if other and other.repeats(record, digest, self._change.at)]
        if same:
            raise Duplicate(min(same))

    def _erase(self, id: str) -> None:
        head = self._find_covered(id)
        if head is not None:
            if head.live:
                self._end_live(id, head, EndReason.ERASED, None)
            self._heads[id] = replace(self._heads[id], erased=True)
            self.erased.append(id)

    def _find_covered(self, id: str) -> _Head | None:
        head = self._heads.get(id)
        return head if head is not None and self._change.scope.covers(head.scope) else None


async def _write(db: Connection, draft: _Draft, row: dict[str, Any]) -> None:
    async with db.pipeline():
        await db.execute(QUERIES["begin_change"], row)
        if draft.ended:
            ids, reasons, intos = zip(*draft.ended, strict=True)
            ends = {
                "ids": [encode_text(id) for id in ids],
                "reasons": [reason.value for reason in reasons],
                "intos": [encode_optional(into) for into in intos],
            }
            await db.execute(QUERIES["end_live"], row | ends)
        if draft.begun:
            for versions in await run_aside(len(draft.begun), _dump_groups, draft.begun):
                await db.execute(QUERIES["begin_versions"], row | {"versions": versions})
            live = [version["length"] for version in draft.begun if version["ended"] is None]
            await db.execute(QUERIES["count_begun"], row | {"live": len(live), "words": sum(live)})
        if draft.erased:
            erasures = row | {"ids": [encode_text(id) for id in draft.erased]}
            for query in _ERASING:
                await db.execute(QUERIES[query], erasures)


_ERASING = ("erase_fingerprints", "erase_reasons", "erase_postings", "erase_versions", "erase_recalls")


def _dump_groups(versions: Sequence[dict[str, Any]]) -> list[str]:
    return [dumps(versions[start : start + _GROUP]) for start in range(0, len(versions), _GROUP)]


async def run_aside(size: int, work: Callable[..., T], *arguments: Any) -> T:
    """Return the result of `work`; large work runs on a thread, to keep the event loop responsive."""
    return await asyncio.to_thread(work, *arguments) if size > _MANY else work(*arguments)


async def touch(db: Connection, scope: Scope, ids: Sequence[str], at: int) -> None:
    """Record the time of a recall for those of these memories that are live and covered by the scope."""
    await db.execute(QUERIES["touch"], bind_scope(scope) | {"ids": [encode_text(id) for id in ids], "at": at})
