"""Ledgers to examine: a database with the ledger's tables, entries, and somebody who signs."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import apsw

from memorywire.journal.entries import Content, Entry, draft
from memorywire.journal.ledger import append, rows
from memorywire.journal.sealing import advanced, keep, sealed_size
from memorywire.journal.signer import Notary
from memorywire.journal.verify import Report, verify
from memorywire.model.record import Scope

_MIGRATIONS = files("memorywire.journal") / "migrations"
SCHEMA = "".join(
    (_MIGRATIONS / name).read_text(encoding="utf-8")
    for name in ("0001_ledger.sql", "0011_people_and_state.sql")
)
ANA = Scope(agent="assistant", user="ana")


def entropy(count: int) -> bytes:
    return bytes(range(count))


def a_ledger(path: Path | None = None) -> apsw.Connection:
    db = apsw.Connection(":memory:" if path is None else str(path))
    db.execute("PRAGMA foreign_keys = ON")
    db.execute(SCHEMA)
    # So that equal entries make equal ledgers: the mark of a user is random.
    db.execute("INSERT INTO ledger_person VALUES ('mark of ana', 'default', 'ana', x'00')")
    return db


def an_entry(number: int, **fields: object) -> Entry:
    contents = (Content(memory=f"m{number}", version=1, digest=bytes([number % 256]) * 32),)
    given = {"operation": "remember", "scope": ANA, "actor": "cli", "kind": "committed", "contents": contents}
    return Entry(at=1_000 + number, subject=f"c{number}", **(given | fields))


@contextmanager
def writing(db: apsw.Connection) -> Iterator[None]:
    with db:
        yield


def write_entries(db: apsw.Connection, count: int, first: int = 1) -> None:
    with writing(db):
        append(db, [draft(an_entry(number), entropy) for number in range(first, first + count)])


def a_notary(folder: Path, fill: bytes = b"k") -> Notary:
    return Notary(key=folder / "ledger.key", checkpoints=folder / "checkpoints", entropy=lambda n: fill * n)


def seal(db: apsw.Connection, notary: Notary) -> str:
    frontier = advanced(db)
    assert frontier is not None
    note = notary.sign(frontier.checkpoint)
    keep(db, frontier)
    return note


def rotated(db: apsw.Connection, notary: Notary) -> None:
    frontier = advanced(db)
    assert frontier is not None
    notary.rotate(frontier.checkpoint)
    keep(db, frontier)


def audit(db: apsw.Connection, notary: Notary) -> Report:
    """As `memorywire audit verify` does."""
    key = notary.verifier()
    return verify(rows(db), notary.saved()[0], [] if key is None else [key], expected=sealed_size(db))
