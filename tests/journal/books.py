"""Ledgers to examine: a database with the ledger's tables, entries, and somebody who signs."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import apsw

from memorywire.journal.entries import Content, Entry, build_draft
from memorywire.journal.ledger import append, read_entries, read_signed_size, read_tree_head, save_tree_head
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.verify import Report, verify
from memorywire.model.record import Scope

_MIGRATIONS = files("memorywire.journal.sqlite") / "migrations"
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
        append(
            SqliteSession(db),
            [build_draft(an_entry(number), entropy) for number in range(first, first + count)],
        )


def a_signer(folder: Path, fill: bytes = b"k") -> Signer:
    return Signer(key=folder / "ledger.key", checkpoints=folder / "checkpoints", entropy=lambda n: fill * n)


def seal(db: apsw.Connection, signer: Signer) -> str:
    head = read_tree_head(SqliteSession(db))
    assert head is not None
    note = signer.sign(head.checkpoint)
    save_tree_head(SqliteSession(db), head)
    return note


def rotated(db: apsw.Connection, signer: Signer) -> None:
    head = read_tree_head(SqliteSession(db))
    assert head is not None
    signer.rotate(head.checkpoint)
    save_tree_head(SqliteSession(db), head)


def audit(db: apsw.Connection, signer: Signer) -> Report:
    """As `memorywire audit verify` does."""
    key = signer.verifier()
    return verify(
        read_entries(SqliteSession(db)),
        signer.load_checkpoints()[0],
        [] if key is None else [key],
        expected=read_signed_size(SqliteSession(db)),
    )
