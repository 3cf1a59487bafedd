"""What somebody could do to a ledger who owns the database, and whether an examination notices."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import apsw

from memorywire.journal.ledger import GENESIS, leaf_hash, link, read_entries
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.verify import Report

Attack: TypeAlias = Callable[[apsw.Connection, int, random.Random], range]
"""Does it at an entry, and says which entries may be named as the first bad one."""

# Whoever can write the file is bound by no trigger, type or check.
_DISARM = """
PRAGMA foreign_keys = OFF;
ALTER TABLE ledger RENAME TO guarded;
CREATE TABLE ledger (seq INTEGER PRIMARY KEY, body, chain);
INSERT INTO ledger SELECT seq, body, chain FROM guarded;
"""


@dataclass(frozen=True)
class Trial:
    """One attack on one entry: whether it was found, and whether the right entry was named.

    `named` alone: as one of the entries since the last checkpoint that fits, or as the one the bad entry
    breaks the chain for. `exact`: as itself.
    """

    attack: str
    entry: int
    found: bool
    named: bool
    exact: bool


def try_attack(
    name: str, image: bytes, entry: int, dice: random.Random, examine: Callable[[apsw.Connection], Report]
) -> Trial:
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    db.execute(_DISARM)
    bad = ATTACKS[name](db, entry, dice)
    fault = examine(db).fault
    last = None if fault is None else fault.until or fault.entry
    named = fault is not None and last is not None and fault.entry <= bad[-1] and last >= bad[0]
    exact = fault is not None and (fault.entry, fault.until) == (bad[0], None)
    return Trial(name, entry, found=fault is not None, named=named, exact=exact)


def _size(db: apsw.Connection) -> int:
    return int(db.execute("SELECT max(seq) FROM ledger").get)


def _other_text(body: str, dice: random.Random) -> str:
    """The body with one character changed: sometimes still JSON, sometimes not."""
    place = dice.randrange(len(body))
    return body[:place] + chr((ord(body[place]) - 32 + dice.randrange(1, 94)) % 94 + 32) + body[place + 1 :]


def _plausible(body: str) -> str:
    """The body with another actor: a lie that reads well."""
    return body.replace('"actor":"cli"', '"actor":"eve"')


def _edit_number(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    db.execute("UPDATE ledger SET seq = ? WHERE seq = ?", (_size(db) + dice.randrange(1, 1000), entry))
    return range(entry, entry + 1)


def _edit_body(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    body = _other_text(db.execute("SELECT body FROM ledger WHERE seq = ?", (entry,)).get, dice)
    db.execute("UPDATE ledger SET body = ? WHERE seq = ?", (body, entry))
    return range(entry, entry + 1)


def _edit_type(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    column = dice.choice(["body", "chain"])
    same = "CAST(body AS BLOB)" if column == "body" else "CAST(chain AS TEXT)"
    value = dice.choice([same, "NULL", "7", "x'00'", "'{}'", "CAST(x'ff' AS TEXT)", f"'{'[' * 5000}'"])
    db.execute(f"UPDATE ledger SET {column} = {value} WHERE seq = ?", (entry,))
    return range(entry, entry + 1)


def _edit_chain(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    chain = bytearray(db.execute("SELECT chain FROM ledger WHERE seq = ?", (entry,)).get)
    chain[dice.randrange(len(chain))] ^= 1 << dice.randrange(8)
    db.execute("UPDATE ledger SET chain = ? WHERE seq = ?", (bytes(chain), entry))
    return range(entry, entry + 1)


def _edit_with_own_hash(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    """The chain breaks behind it: which of the two is the liar, only a checkpoint can say."""
    _lie(db, entry)
    _rebuild(db, entry, entry)
    return range(entry, entry + 2)


def _edit_and_rebuild(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    _lie(db, entry)
    _rebuild(db)
    return range(entry, entry + 1)


def _delete(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    db.execute("DELETE FROM ledger WHERE seq = ?", (entry,))
    return range(entry, entry + 1)


def _delete_and_rebuild(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    _delete(db, entry, dice)
    _renumber(db, entry, -1)
    _rebuild(db)
    return range(entry, entry + 1)


def _insert(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    _renumber(db, entry, +1)
    copy = "INSERT INTO ledger (seq, body, chain) SELECT ?, body, chain FROM ledger WHERE seq = ?"
    db.execute(copy, (entry, entry + 1))
    _lie(db, entry)
    return range(entry, entry + 1)


def _insert_and_rebuild(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    _insert(db, entry, dice)
    _rebuild(db)
    return range(entry, entry + 1)


def _swap(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    other = dice.choice([number for number in range(1, _size(db) + 1) if number != entry])
    for old, new in ((entry, 10**6), (other, entry), (10**6, other)):
        db.execute("UPDATE ledger SET seq = ? WHERE seq = ?", (new, old))
    first = min(entry, other)
    return range(first, first + 1)


def _swap_and_rebuild(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    bad = _swap(db, entry, dice)
    _rebuild(db)
    return bad


def _truncate(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    db.execute("DELETE FROM ledger WHERE seq >= ?", (entry,))
    return range(entry, entry + 1)


def _truncate_and_forget(db: apsw.Connection, entry: int, dice: random.Random) -> range:
    """As a restored older copy of the database would look."""
    db.execute("DELETE FROM ledger_edge")
    return _truncate(db, entry, dice)


ATTACKS: Mapping[str, Attack] = {
    "edit the number": _edit_number,
    "edit the body": _edit_body,
    "edit the chain hash": _edit_chain,
    "edit the type": _edit_type,
    "edit body and own hash": _edit_with_own_hash,
    "delete": _delete,
    "insert": _insert,
    "reorder": _swap,
    "edit and rebuild": _edit_and_rebuild,
    "delete and rebuild": _delete_and_rebuild,
    "insert and rebuild": _insert_and_rebuild,
    "reorder and rebuild": _swap_and_rebuild,
    "truncate": _truncate,
    "roll back": _truncate_and_forget,
}

NEED_CHECKPOINTS = {name for name in ATTACKS if name.endswith("rebuild")} | {"truncate", "roll back"}


def _lie(db: apsw.Connection, entry: int) -> None:
    body = db.execute("SELECT body FROM ledger WHERE seq = ?", (entry,)).get
    db.execute("UPDATE ledger SET body = ? WHERE seq = ?", (_plausible(body), entry))


def _renumber(db: apsw.Connection, first: int, by: int) -> None:
    away = 10**6
    db.execute("UPDATE ledger SET seq = seq + ? WHERE seq >= ?", (away, first))
    db.execute("UPDATE ledger SET seq = seq - ? WHERE seq >= ?", (away - by, away))


def _rebuild(db: apsw.Connection, first: int = 1, last: int = 10**6) -> None:
    """Give each of these entries the number and the chain hash that fit those before it."""
    chain = GENESIS
    for row in list(read_entries(SqliteSession(db))):
        if not first <= row.seq <= last:
            chain = row.chain
            continue
        renumbered = "UPDATE ledger SET body = json_set(body, '$.seq', seq) WHERE seq = ?"
        db.execute(renumbered, (row.seq,))
        body = db.execute("SELECT body FROM ledger WHERE seq = ?", (row.seq,)).get
        chain = link(chain, leaf_hash(body.encode()))
        db.execute("UPDATE ledger SET chain = ? WHERE seq = ?", (chain, row.seq))
