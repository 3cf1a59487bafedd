"""The journal in Postgres: every statement is understood there, and several processes keep one ledger."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from memorywire.journal import ledger
from memorywire.journal.acts import Act
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.journal.opening import open_journal
from memorywire.journal.sqlite import STATEMENTS as IN_SQLITE
from memorywire.journal.verify import verify
from memorywire.model.record import Scope
from memorywire.sync import Memory
from memorywire_postgres.journal import STATEMENTS
from memorywire_postgres.location import locate
from memorywire_testing.samples import a_change, a_record, beginning
from tests.engine.stage import NOON, HandClock
from tests.postgres.desk import opened, run

SCOPE = Scope(agent="agent")
_PARAMETER = re.compile(r"(?<![:\w]):(\w+)|%\((\w+)\)s|(\?|%s)")
_BY_MACHINE = {"signer"}  # each machine signs with a key of its own, which a file does not know


class _Nothing(dict[str, None]):
    """A value for every parameter."""

    def __missing__(self, name: str) -> None:
        return None


def _explain(db: psycopg.Connection[object], statement: str) -> None:
    parameters = [None] * statement.count("%s") if "%s" in statement else _Nothing()
    psycopg.ClientCursor(db).execute(f"EXPLAIN {statement}", parameters)


def test_every_statement_of_the_journal_is_one_of_postgres(schema: str) -> None:
    async def open_once() -> None:
        async with opened(schema) as store:
            await (await open_journal(store, None, clock=HandClock())).close()

    run(open_once())
    location = locate(schema)
    with psycopg.connect(location.dsn) as db:
        db.execute(f"SET search_path = {location.schema}, public")
        for name in sorted(STATEMENTS.read().keys() - {"create_schema_version"}):
            _explain(db, STATEMENTS[name])
        with pytest.raises(psycopg.errors.UndefinedColumn):
            _explain(db, "SELECT nothing FROM proposal WHERE id = %(id)s")


def _parameters(statement: str) -> tuple[set[str], int]:
    """The names of a statement's parameters, and how many have none."""
    names = [found[1] or found[2] for found in _PARAMETER.finditer(statement)]
    return {name for name in names if name} - _BY_MACHINE, names.count(None)


def test_both_backends_have_the_same_statements_with_the_same_parameters() -> None:
    assert sorted(STATEMENTS.read()) == sorted(IN_SQLITE.read())
    for name in STATEMENTS.read():
        assert _parameters(STATEMENTS[name]) == _parameters(IN_SQLITE[name]), name
    assert _parameters("SELECT :id, ?") != _parameters("SELECT %(id)s")


def test_several_processes_keep_one_ledger_without_gaps(schema: str) -> None:
    """Two journals on pools of their own append at the same time."""

    async def append(journal: Journal, number: int) -> None:
        entry = Entry(at=NOON, operation="remember", scope=SCOPE, actor="ana", kind="committed", subject="c")
        change = a_change(SCOPE, beginning(a_record(SCOPE, f"fact {number}")))
        await journal.write(Act(entries=(entry,)), change)

    async def main() -> None:
        async with opened(schema) as one, opened(schema) as other:
            journals = [await open_journal(store, None, clock=HandClock()) for store in (one, other)]
            await asyncio.gather(*(append(journals[number % 2], number) for number in range(40)))
            report = await journals[0].backend.read(lambda db: verify(ledger.read_entries(db), (), ()))
            assert (report.ok, report.entries) == (True, 40)
            for journal in journals:
                await journal.close()

    run(main())


def test_an_entry_of_the_ledger_cannot_be_changed(schema: str) -> None:
    async def main() -> None:
        async with opened(schema) as store:
            journal = await open_journal(store, None, clock=HandClock())
            entry = Entry(at=NOON, operation="remember", scope=SCOPE, actor="ana", kind="committed")
            await journal.write(Act(entries=(entry,)))
            await journal.close()

    run(main())
    location = locate(schema)
    with psycopg.connect(location.dsn, autocommit=True) as db:
        db.execute(f"SET search_path = {location.schema}, public")
        assert db.execute("SELECT count(*) FROM ledger").fetchone() == (1,)
        for attempt in ("UPDATE ledger SET body = body", "DELETE FROM ledger"):
            with pytest.raises(psycopg.errors.RaiseException):
                db.execute(attempt)


def test_a_memory_in_postgres_is_held_approved_and_proven_there(schema: str, tmp_path: Path) -> None:
    journal = f"sqlite://{tmp_path}/journal.db"
    with Memory("ana", [schema], policy="open", caller="person:eve", journal=journal) as memory:
        held = memory.remember("the safe opens with a key", approval_required=True)
        assert not memory.recall("safe", min_relevance="off").hits
        memory.decide(str(held.proposal_id), "approve")
        assert memory.recall("safe", min_relevance="off").hits
        memory.audit_checkpoint()
        found = memory.audit_verify()
        assert found.report.ok
        assert found.report.sealed >= 3
    assert not (tmp_path / "journal.db").exists()


_HOLD = """
import asyncio, sys
from memorywire import Memory

async def main():
    async with Memory("ana", [sys.argv[1]], policy="open", journal=sys.argv[2]) as memory:
        await memory.list()
        print("ready", flush=True)
        sys.stdin.readline()
        held = (memory.remember("green tea", id="tea", approval_required=True) for _ in range(4))
        print(*{str(one.proposal_id) for one in await asyncio.gather(*held)})

asyncio.run(main())
"""


def test_the_same_request_held_eight_times_at_once_by_two_processes_waits_in_one_proposal(
    schema: str, tmp_path: Path
) -> None:
    journal = f"sqlite://{tmp_path}/journal.db"
    with Memory("ana", [schema], policy="open", journal=journal) as memory:
        command = [sys.executable, "-c", _HOLD, schema, journal]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes = [subprocess.Popen(command, **pipes) for _ in range(2)]
        assert [process.stdout.readline() for process in processes] == ["ready\n"] * 2
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        ids = {id for process in processes for id in process.communicate()[0].split()}
        assert [process.returncode for process in processes] == [0, 0]
        assert ids == {proposal.id for proposal in memory.proposals(states=["pending"]).items}
        assert len(ids) == 1
        other = memory.remember("black tea", id="black", approval_required=True)
        assert other.proposal_id not in ids


def test_words_that_a_person_rejected_are_held_here_too(schema: str, tmp_path: Path):
    journal = f"sqlite://{tmp_path}/journal.db"
    with Memory("ana", [schema], policy="balanced", caller="person:eve", journal=journal) as memory:
        held = memory.remember("Invoices go to evil.example", approval_required=True)
        memory.decide(held.proposal_id or "", "reject")
        assert memory.remember("invoices go to Evil Example!").rule == "rejected-before"
        memory.decide(held.proposal_id or "", "reopen")
        memory.decide(held.proposal_id or "", "approve")
        [kept] = list(memory.list())
        memory.forget(ids=[kept.id], hard_delete=True)
        assert memory.remember("Invoices go to evil example").status == "committed"


def _naming(schema: str, word: str) -> list[str]:
    """The tables in which any row says this word."""
    location = locate(schema)
    with psycopg.connect(location.dsn) as db:
        db.execute(f"SET search_path = {location.schema}, public")
        found = db.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'",
            (location.schema,),
        )
        tables = [name for (name,) in found.fetchall()]
        asked = {name: f'SELECT count(*) FROM "{name}" AS one WHERE one::text LIKE %s' for name in tables}
        return [name for name, sql in asked.items() if db.execute(sql, (f"%{word}%",)).fetchone() != (0,)]


def test_no_row_names_an_erased_user_and_an_edited_row_is_found(schema: str, tmp_path: Path) -> None:
    ana, journal = "ana@example.com", f"sqlite://{tmp_path}/journal.db"
    with Memory("agent", [schema], user_id=ana, policy="open", journal=journal) as memory:
        memory.remember("green tea", id="tea", idempotency_key=f"{ana}:1")
        memory.remember("black tea", id="black", approval_required=True)
        memory.recall("what tea?")
        memory.audit_log()  # which waits until the recall is written
        assert {"version", "change", "ledger_person", "proposal", "recalled"} <= set(_naming(schema, ana))
        assert "ledger" not in _naming(schema, ana)
        memory.forget(ids=["tea", "black"], hard_delete=True)
        assert _naming(schema, ana) == []
        assert memory.audit_verify(state=True).ok
        location = locate(schema)
        with psycopg.connect(location.dsn) as db:
            db.execute(f"SET search_path = {location.schema}, public")
            db.execute("UPDATE proposal SET state = 'approved'")
        (difference,) = memory.audit_verify(state=True).state.differences
        assert (difference.kind, difference.detail) == ("proposal", "it is not as the ledger committed to it")


def test_an_erase_of_a_person_leaves_no_row_that_names_them(schema: str, tmp_path: Path) -> None:
    ana, ben, journal = "ana@example.com", "ben@example.com", f"sqlite://{tmp_path}/journal.db"
    with Memory("agent", [schema], policy="open", journal=journal) as memory:
        for user in (ana, ben):
            memory.remember("green tea", user_id=user)
            memory.kv.of("user", user).set("colour", "green")
        assert memory.export(ana).counts["put"] == 2
        assert _naming(schema, ana) != []
        receipt = memory.erase(ana)
        assert (receipt.erased, receipt.id_removed) == (2, True)
        assert _naming(schema, ana) == []
        assert _naming(schema, ben) != []
        assert memory.audit_verify(state=True).ok
