"""Applies changes inside a transaction of the caller."""

from collections.abc import Sequence
from operator import attrgetter
from typing import TypeAlias
from zlib import crc32

import apsw
from msgspec import Struct

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.codec import write_json
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict, InvalidRequest
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.search.relevance import read_tokens
from memorywire.stores.sqlite.connection import Savepoint, Work
from memorywire.stores.sqlite.file import request_scrub
from memorywire.stores.sqlite.rows import (
    CHANGE,
    RECORD,
    VERSION,
    Bindings,
    Columns,
    Row,
    bind_scope,
    build_change_columns,
    build_version_columns,
    checksum_end,
    checksum_row,
    checksum_vector,
)
from memorywire.stores.sqlite.sql import QUERIES

_FEW = 2
_DIGEST = VERSION.index("digest")
_SAYING = [*map(VERSION.index, ("tenant", "agent", "user", "digest"))]  # the columns that define a duplicate


class _Newest(Struct, frozen=True):
    """The last version of an id."""

    scope: Scope
    number: int
    live: bool
    erased: bool


def apply(db: apsw.Connection, change: Change, row: Row, versions: Sequence[Row]) -> int:
    """Write a change and return its commit sequence; if it raises, the caller rolls back."""
    started = db.execute(QUERIES["begin_change"], row).get
    if started is None:
        return _find_committed(db, change)
    sequence = int(started)
    # Ends first, so that a put may repeat the content that its own change ends.
    for end in change.end:
        _end(db, change, sequence, end)
    for put, version in zip(change.put, versions, strict=True):
        _put(db, change, sequence, put, version)
    for id in change.erase:
        _erase(db, change, sequence, id)
    return sequence


def _find_committed(db: apsw.Connection, change: Change) -> int:
    """Return the sequence if the change is committed; raises IdempotencyConflict if only its key is used."""
    name = {"tenant": change.scope.tenant, "id": change.id}
    sequence = db.execute(QUERIES["change_by_id"], name).get
    if sequence is None:
        raise IdempotencyConflict("the idempotency key is already used", field="idempotency_key")
    return int(sequence)


def _end(db: apsw.Connection, change: Change, sequence: int, end: End) -> None:
    newest = _find_covered(db, change, end.id)
    if newest is None or newest.erased:
        raise Conflict("no memory has this id", field="id")
    if not newest.live or newest.number != end.version:
        raise Conflict("the memory is no longer at this version", field="if_version")
    _end_live(db, change, sequence, end)


def _end_live(db: apsw.Connection, change: Change, sequence: int, end: End) -> None:
    name = {"tenant": change.scope.tenant, "agent": change.scope.agent, "id": end.id}
    reason, into = end.reason.value, end.into
    end_row = {"seq": sequence, "reason": reason, "into": into, "end": checksum_end(sequence, reason, into)}
    db.execute(QUERIES["end_live"], name | end_row)


def _put(db: apsw.Connection, change: Change, sequence: int, put: Put, version: Row) -> None:
    if is_first_version(change, put):
        scope = put.record.scope
        same = (scope.tenant, scope.agent, version[_DIGEST], scope.user, change.at)
        db.execute(QUERIES["begin_chain"], (*version, sequence, put.unique, *same))
        if db.changes():
            _keep_tokens(db, put)
            return  # the usual case; the rest finds the reason of a refusal
    elif is_next_version(change, put) and _replace_live(db, sequence, put):
        db.execute(QUERIES["begin_version"], (*version, sequence))
        _keep_tokens(db, put)
        return
    _refuse_wrong_base(db, change, put)
    if put.unique:
        digest = {"id": put.record.id, "digest": version[_DIGEST], "at": change.at}
        existing = db.execute(QUERIES["same_content"], bind_scope(put.record.scope) | digest).get
        if existing is not None:
            raise Duplicate(str(existing))
    if put.vector is None and put.like is not None:
        vector = _read_vector(db, put)
        *fields, _, terms, checksum, _ = version
        version = (*fields, vector, terms, checksum, checksum_vector(vector))
    if put.base is Base.LIVE:
        previous = End(id=put.record.id, version=put.record.version - 1, reason=EndReason.REPLACED)
        _end_live(db, change, sequence, previous)
    db.execute(QUERIES["begin_version"], (*version, sequence))
    _keep_tokens(db, put)


def _keep_tokens(db: apsw.Connection, put: Put) -> None:
    """Store the tokens of the version that was just inserted."""
    position, tokens = db.last_insert_rowid(), read_tokens(put.vector)
    if tokens is not None:
        db.execute(QUERIES["keep_tokens"], (position, tokens, crc32(tokens)))
    elif put.vector is None and put.like is not None:
        name = {"tenant": put.record.scope.tenant, "id": put.record.id, "number": put.like}
        db.execute(QUERIES["copy_tokens"], name | {"position": position})


def is_brief(change: Change) -> bool:
    """Return whether a change takes only a few statements and erases nothing."""
    return not change.erase and len(change.put) + len(change.end) <= _FEW


def is_first_version(change: Change, put: Put) -> bool:
    """Return whether this put begins a new record; only constraints of the file can refuse it."""
    fresh = put.base is Base.NOTHING and put.record.version == 1 and put.like is None
    return fresh and change.scope.covers(put.record.scope)


def is_next_version(change: Change, put: Put) -> bool:
    """Return whether this put replaces a live version; it is refused only if another version is live."""
    next_one = put.base is Base.LIVE and put.like is None and not put.unique
    return next_one and change.scope.covers(put.record.scope)


def _replace_live(db: apsw.Connection, sequence: int, put: Put) -> bool:
    """End the version before this one; False if it was not live."""
    record = put.record
    name: Bindings = {
        "id": record.id,
        "before": record.version - 1,
        "seq": sequence,
        "end": checksum_end(sequence, EndReason.REPLACED.value, None),
    }
    db.execute(QUERIES["replace_live"], bind_scope(record.scope) | name)
    return bool(db.changes())


def _refuse_wrong_base(db: apsw.Connection, change: Change, put: Put) -> None:
    """Raise Conflict unless the newest version of the id is the one that the put expects."""
    record = put.record
    newest = _find_newest(db, record.scope.tenant, record.id)
    if not change.scope.covers(record.scope) or (put.base is Base.NOTHING and newest is not None):
        raise Conflict("the id is taken", field="id")
    if put.base is not Base.NOTHING and (newest is None or newest.erased or newest.scope != record.scope):
        raise Conflict("no memory has this id", field="id")
    number, live = (0, False) if newest is None else (newest.number, newest.live)
    if live != (put.base is Base.LIVE) or record.version != number + 1:
        raise Conflict("the memory is no longer at this version", field="if_version")


def _read_vector(db: apsw.Connection, put: Put) -> bytes | None:
    name = {"tenant": put.record.scope.tenant, "id": put.record.id, "number": put.like}
    row = db.execute(QUERIES["vector_of"], name).fetchone()
    if row is None:
        raise Conflict(f"there is no version {put.like} to take the vector from", field="if_version")
    vector: bytes | None = row[0]
    return vector


def _erase(db: apsw.Connection, change: Change, sequence: int, id: str) -> None:
    if _find_covered(db, change, id) is None:
        return
    name: Bindings = {"tenant": change.scope.tenant, "id": id}
    db.execute(QUERIES["erase_packs"], name | {"agent": change.scope.agent})
    db.execute(QUERIES["erase_versions"], name | {"seq": sequence})
    db.execute(QUERIES["erase_tokens"], name)
    db.execute(QUERIES["erase_recall"], name)
    db.execute(QUERIES["erase_reembedded"], name)
    db.execute(QUERIES["erase_fingerprints"], name)
    db.execute(QUERIES["erase_reasons"], name | {"seq": sequence})
    _update_checksums(db, name)
    request_scrub(db)


def _update_checksums(db: apsw.Connection, name: Bindings) -> None:
    """Update the checksums of erased versions, and of changes from which the erasure removed values."""
    versions = [
        (checksum_row(row[: len(RECORD)]) ^ checksum_end(*row[len(RECORD) + 1 :]), row[len(RECORD)])
        for row in db.execute(QUERIES["erased_versions"], name)
    ]
    changes = [
        (checksum_row(row[: len(CHANGE)]), row[len(CHANGE)])
        for row in db.execute(QUERIES["changes_about"], name)
    ]
    db.executemany(QUERIES["keep_checksum"], versions)
    db.executemany(QUERIES["keep_change_checksum"], changes)


def _find_covered(db: apsw.Connection, change: Change, id: str) -> _Newest | None:
    newest = _find_newest(db, change.scope.tenant, id)
    return newest if newest is not None and change.scope.covers(newest.scope) else None


def _find_newest(db: apsw.Connection, tenant: str, id: str) -> _Newest | None:
    row = db.execute(QUERIES["newest"], {"tenant": tenant, "id": id}).fetchone()
    if row is None:
        return None
    agent, user, number, live, erased = row
    return _Newest(Scope(tenant=tenant, agent=agent, user=user), number, bool(live), bool(erased))


_REPLACED = EndReason.REPLACED.value

GroupResult: TypeAlias = list[int | Exception]
"""For each change its commit sequence, or its error."""


class GroupRefused(Exception):
    """A change in the group was refused, so each change must be tried alone."""


class Group(Struct, frozen=True):
    """Changes as columns of rows; each change begins one version and does nothing else.

    `replaced` are the versions that end: the index of the change, and the version that must be live. `said`
    is JSON with the content digests that no other live memory may have, if that must be checked. `tokens`
    are (index of the change, tokens) for versions with tokens.
    """

    count: int
    changes: Columns
    versions: Columns
    replaced: Sequence[tuple[int, Row]]
    said: str | None
    tokens: Sequence[tuple[int, bytes]]


def prepare_group(changes: Sequence[Change], space: Space) -> Group | None:
    """Prepare the rows of these changes as a group; None if they cannot be written together."""
    unique = {put.unique for change in changes for put in change.put}
    if len(unique) > 1 or not all(map(_is_plain, changes)):
        return None
    try:
        versions = build_version_columns([change.put[0] for change in changes], space)
        change_rows = build_change_columns(changes)
    except InvalidRequest:
        return None
    contents = None
    if True in unique:
        owners_and_digests = zip(*map(versions.__getitem__, _SAYING), strict=True)
        sayings = dict(zip(owners_and_digests, map(attrgetter("at"), changes), strict=True))
        if len(sayings) < len(changes):
            return None
        contents = write_json(
            [[*owner, digest and digest.hex(), at] for (*owner, digest), at in sayings.items()]
        )
    return Group(
        count=len(changes),
        changes=change_rows,
        versions=versions,
        replaced=[(at, _previous_row(change)) for at, change in enumerate(changes) if _replaces(change)],
        said=contents,
        tokens=[(at, tokens) for at, one in enumerate(changes) if (tokens := read_tokens(one.put[0].vector))],
    )


def apply_group(db: apsw.Connection, group: Group) -> GroupResult:
    """Write the whole group and return the commit sequence of each change.

    Raises GroupRefused or a constraint error if a change is refused; the caller rolls back
    the transaction.
    """
    if group.said is not None and db.execute(QUERIES["same_contents"], {"said": group.said}).get:
        raise GroupRefused
    heads: tuple[int, int] | None = db.execute(QUERIES["heads"]).fetchone()
    last, position = heads or (0, 0)
    sequences = range(last + 1, last + 1 + group.count)
    positions = range(position + 1, position + 1 + group.count)
    db.executemany(QUERIES["begin_changes"], zip(sequences, positions, *group.changes, strict=True))
    if group.replaced:
        before = db.total_changes()
        ends = [
            (sequences[at], checksum_end(sequences[at], _REPLACED, None), *row) for at, row in group.replaced
        ]
        db.executemany(QUERIES["replace_each"], ends)
        if db.total_changes() - before != len(group.replaced):
            raise GroupRefused
    db.executemany(QUERIES["begin_versions"], zip(positions, sequences, *group.versions, strict=True))
    rows = [(positions[at], tokens, crc32(tokens)) for at, tokens in group.tokens]
    db.executemany(QUERIES["keep_tokens"], rows)
    return [*sequences]


def run_in_savepoint(db: apsw.Connection, work: Work[int]) -> int | Exception:
    """Run a work and return its result or its error; an error rolls back only this work."""
    with Savepoint(db) as attempt:
        return work(db)
    if not isinstance(attempt.error, Exception):  # e.g. KeyboardInterrupt
        raise attempt.error or AssertionError("unreachable: what failed has an error")
    return attempt.error


def _is_plain(change: Change) -> bool:
    if change.end or change.erase or len(change.put) != 1:
        return False
    put = change.put[0]
    return is_first_version(change, put) or is_next_version(change, put)


def _replaces(change: Change) -> bool:
    return change.put[0].base is Base.LIVE


def _previous_row(change: Change) -> Row:
    record = change.put[0].record
    return (record.scope.tenant, record.scope.agent, record.id, record.scope.user, record.version - 1)
