"""The floor of a remember: its rows, made beforehand, written by SQL alone."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from memorywire.journal import ledger
from memorywire.journal.entries import Entry, build_draft, contents_of
from memorywire.journal.merkle import leaf_hash
from memorywire.journal.sqlite import STATEMENTS, SqliteSession
from memorywire.model.change import Base, Change, Put
from memorywire.model.clock import system_clock
from memorywire.model.record import MemoryType, Scope
from memorywire.model.requests import Remember
from memorywire.pipeline.remember import first_version
from memorywire.stores.sqlite.apply import chain_row, prepare
from memorywire.stores.sqlite.connection import connect
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.sql import QUERIES
from memorywire_evals.bench.known import Known
from memorywire_evals.bench.stage import AGENT, mint

_Statement: TypeAlias = tuple[str, Any]

_SEQUENCE = "SELECT IFNULL(max(seq), 0) FROM change"


class Floor:
    """What a governed remember leaves in a file: a change, a version in all its indexes, a ledger entry.

    The file has its tables already, and nobody else writes it.
    """

    def __init__(self, path: Path, contents: Sequence[str], vectors: Known) -> None:
        self._db = connect(Location(path=path))
        self._rows = iter([*self._prepared(contents, vectors)])

    def _prepared(self, contents: Sequence[str], vectors: Known) -> Iterator[list[_Statement]]:
        began = int(self._db.execute(_SEQUENCE).get)
        last, chain = ledger.read_head(SqliteSession(self._db))
        ids = mint()
        for number, content in enumerate(contents, 1):
            change = _change(ids(), ids(), content, vectors.known(content))
            told = build_draft(_entry(change))
            body = told.body(last + number)
            chain = ledger.link(chain, leaf_hash(body.encode()))
            prepared = prepare(change, vectors.space)
            version = chain_row(change, began + number, change.put[0], prepared.puts[0])
            (salt,) = told.salts
            yield [
                (QUERIES["begin_change"], tuple(prepared.row.values())),
                (QUERIES["begin_chain"], version),
                (STATEMENTS["append_entry"], (last + number, body, chain)),
                (
                    STATEMENTS["add_salt"],
                    (last + number, salt.tenant, salt.memory, salt.version, salt.salt),
                ),
            ]

    def write(self) -> None:
        """Write the rows of the next memory, in a transaction of their own."""
        statements = next(self._rows)
        self._db.execute("BEGIN IMMEDIATE")
        for statement, bindings in statements:
            self._db.execute(statement, bindings).fetchall()
        self._db.execute("COMMIT")

    def close(self) -> None:
        self._db.close()


def _change(id: str, memory: str, content: str, vector: bytes) -> Change:
    request = Remember(scope=Scope(agent=AGENT), type=MemoryType.SEMANTIC, content=content)
    record = first_version(request, memory, system_clock())
    put = Put(record=record, base=Base.NOTHING, vector=vector, unique=True)
    return Change(id=id, operation="remember", scope=record.scope, at=record.created_at, put=(put,))


def _entry(change: Change) -> Entry:
    return Entry(
        at=change.at,
        operation=change.operation,
        scope=change.scope,
        actor=AGENT,
        kind="committed",
        subject=change.id,
        contents=contents_of(change),
    )
