"""The append-only ledger inside a database: rows of canonical text, each chained to all before it.

Every function works inside the caller's transaction.
"""

import json
import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeAlias

import apsw
from msgspec import Struct
from msgspec.structs import asdict

from memorywire.journal.canonical import canonical
from memorywire.journal.entries import Draft, mark_of
from memorywire.journal.merkle import HASH_BYTES, leaf_hash
from memorywire.model.record import Json, Scope
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_ledger.sql")
GENESIS = bytes(HASH_BYTES)
_SALT_BYTES = 16
Person: TypeAlias = tuple[str, str]
"""A tenant and one of its users."""


class Row(NamedTuple):
    """An entry as it is kept; `body` is the text that is hashed.

    `user` is the id of the user whose mark stands in the body, as long as it is known.
    """

    seq: int
    body: str
    chain: bytes
    user: str | None = None

    @property
    def leaf(self) -> bytes | None:
        """The hash of the body; None when the row was tampered with so that it holds no text."""
        try:
            return leaf_hash(self.body.encode())
        except UnicodeEncodeError:
            return None

    @property
    def said(self) -> dict[str, Json]:
        """The entry as JSON: actor, agent, at, kind, operation, seq, tenant, and what else there is."""
        entry: dict[str, Json] = json.loads(self.body)
        return entry if self.user is None else entry | {"user": self.user}


class Salted(NamedTuple):
    """Which entry committed to a version, and with which salt; None when a hard delete took it."""

    seq: int
    version: int
    salt: bytes | None


class Filters(Struct, frozen=True, kw_only=True):
    """Which entries of the log; what is None does not matter. `memory` is an id that an entry names."""

    tenant: str | None = None
    agent: str | None = None
    user: str | None = None
    operation: str | None = None
    kind: str | None = None
    actor: str | None = None
    memory: str | None = None
    since: int | None = None
    until: int | None = None


def linked(chain: bytes, leaf: bytes) -> bytes:
    """The chain hash after one more leaf."""
    return sha256(chain + leaf).digest()


def is_there(db: apsw.Connection) -> bool:
    """Whether this database has a ledger at all."""
    return bool(db.execute(QUERIES["is_there"]).get)


def head(db: apsw.Connection) -> tuple[int, bytes]:
    """How many entries there are, and the chain hash of the last."""
    row: tuple[int, bytes] | None = db.execute(QUERIES["head"]).fetchone()
    return row or (0, GENESIS)


def append(db: apsw.Connection, drafts: Sequence[Draft], *, state: str = "") -> list[int]:
    """Write entries at the end, and give their sequence numbers: from 1, without gaps.

    `state` is the JSON that the last of them holds about the rows it changed.
    """
    last, chain, marks = _start(db, {draft.person for draft in drafts if draft.person is not None})
    rows, salts = [], []
    for sequence, draft in enumerate(drafts, last + 1):
        mark = None if draft.person is None else marks[draft.person]
        body = draft.body(sequence, mark, state if sequence == last + len(drafts) else "")
        chain = linked(chain, leaf_hash(body.encode()))
        rows.append((sequence, body, chain))
        salts += [(sequence, *salt) for salt in draft.salts]
    db.executemany(QUERIES["append"], rows)
    db.executemany(QUERIES["salt"], salts)
    return list(range(last + 1, last + 1 + len(drafts)))


def _start(db: apsw.Connection, people: set[Person]) -> tuple[int, bytes, dict[Person, str]]:
    """As `head`, with the mark of each user; a user who has none yet gets one.

    The mark is read with the head where it can be: a statement may be a round trip.
    """
    if not people:
        return *head(db), {}
    first, *others = people
    row = db.execute(QUERIES["head_for"], _named(first)).fetchone()
    last, chain, mark = row or (0, GENESIS, None)
    marks = {first: mark or mark_for(db, first)}
    for person in others:
        marks[person] = mark_for(db, person)
    return last, chain, marks


def mark_for(db: apsw.Connection, person: Person) -> str:
    """What the ledger calls this user from now on."""
    return db.execute(QUERIES["mark"], _named(person)).get or _mark_anew(db, person)


def _mark_anew(db: apsw.Connection, person: Person) -> str:
    salt = os.urandom(_SALT_BYTES)
    mark = mark_of(salt, *person)
    db.execute(QUERIES["add_person"], _named(person) | {"mark": mark, "salt": salt})
    return mark


def _named(person: Person) -> dict[str, str | bytes]:
    tenant, user = person
    return {"tenant": tenant, "user": user}


def scrub(db: apsw.Connection, scope: Scope, id: str) -> None:
    """Take the salts of an agent's memory: nothing can be learned from its digests any more."""
    db.execute(QUERIES["scrub"], {"tenant": scope.tenant, "agent": scope.agent, "id": id})


def log(
    db: apsw.Connection, filters: Filters, *, before: int | None = None, limit: int | None = None
) -> list[Row]:
    """Matching entries, newest first; `before` is the last of the previous page."""
    mention = None if filters.memory is None else canonical(filters.memory)
    wanted = asdict(filters) | {"memory": mention, "before": before, "limit": -1 if limit is None else limit}
    return [_row(*row) for row in db.execute(QUERIES["log"], wanted)]


def about(db: apsw.Connection, tenant: str, subject: str) -> list[Row]:
    """The entries whose subject is this change, proposal or recall, newest first."""
    return [_row(*row) for row in db.execute(QUERIES["about"], {"tenant": tenant, "subject": subject})]


def by_day(db: apsw.Connection, tenant: str, newest: int) -> list[tuple[int, str, int]]:
    """How often each operation is among the newest entries, as (days since the epoch, operation, count)."""
    wanted = {"tenant": tenant, "newest": newest}
    return [(day, what, count) for day, what, count in db.execute(QUERIES["by_day"], wanted)]


def entry(db: apsw.Connection, sequence: int) -> Row | None:
    row = db.execute(QUERIES["entry"], (sequence,)).fetchone()
    return None if row is None else _row(*row)


def rows(db: apsw.Connection, after: int = 0) -> Iterator[Row]:
    """Every entry behind one, in order."""
    for row in db.execute(QUERIES["rows"], (after,)):
        yield _row(*row)


def links(db: apsw.Connection, after: int) -> Iterator[tuple[int, bytes, bytes]]:
    """The sequence, leaf and chain hash of every entry behind one; a body that is no text has no leaf."""
    for sequence, body, chain in db.execute(QUERIES["rows"], (after,)):
        yield sequence, _leaf(body or b""), chain or b""


def _leaf(body: bytes) -> bytes:
    try:
        body.decode()
    except UnicodeDecodeError:
        return b""
    return leaf_hash(body)


def salts(db: apsw.Connection, tenant: str, memory: str) -> list[Salted]:
    """Every commitment to versions of a memory, oldest first."""
    return [Salted(*row) for row in db.execute(QUERIES["salts"], {"tenant": tenant, "memory": memory})]


def _row(seq: int, body: bytes | None, chain: bytes | None, user: str | None = None) -> Row:
    """A row, read so that a damaged one does not keep the others from being read."""
    return Row(seq, (body or b"").decode(errors="surrogateescape"), chain or b"", user)
