"""Whatever somebody does with SQL to memories and changes in Postgres is found and named."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import psycopg
import pytest

from memorywire.journal.state import Difference, StateReport, compare
from memorywire.sync import Memory
from memorywire_postgres.journal import PostgresSession
from memorywire_postgres.location import locate
from tests.cli.shell import Inside
from tests.journal.forging import fill
from tests.postgres.conftest import schema_of
from tests.postgres.desk import Server, rows

AUDITOR = "memorywire_auditor"


@pytest.fixture(scope="module")
def state(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a schema with something of everything that the ledger speaks of.

    A role that may only read it, and is bound by row-level security, compares it.
    """
    folder = tmp_path_factory.mktemp("state")
    for url in schema_of(server, f"state{os.urandom(6).hex()}"):
        fill(folder, MEMORYWIRE_STORE=url)
        name = locate(url).schema
        with psycopg.connect(server.dsn, autocommit=True) as db:
            db.execute(f"DROP ROLE IF EXISTS {AUDITOR}")
            db.execute(f"CREATE ROLE {AUDITOR}")
            db.execute(f"GRANT USAGE ON SCHEMA {name} TO {AUDITOR}")
            db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {AUDITOR}")
        yield url
        with psycopg.connect(server.dsn, autocommit=True) as db:
            db.execute(f"DROP OWNED BY {AUDITOR}")
            db.execute(f"DROP ROLE {AUDITOR}")


# Whoever owns the database is bound by no trigger and no check.
_DISARM = """
SET LOCAL session_replication_role = replica;
ALTER TABLE version DROP CONSTRAINT version_check, DROP CONSTRAINT version_check1;
"""


def compare_after(url: str, edit: str, after: int = 0) -> StateReport:
    """What a comparison finds after an edit, which is then taken back."""

    async def main() -> StateReport:
        location = locate(url)
        async with await psycopg.AsyncConnection.connect(location.dsn, autocommit=True) as db:
            await db.execute(f"BEGIN; SET LOCAL search_path = {location.schema}, public; {_DISARM}")
            if edit:
                changed = await db.execute(edit)
                assert changed.rowcount, f"{edit} changed nothing"
            await db.execute(f"SET LOCAL ROLE {AUDITOR}; SET LOCAL memorywire.journal = 'on'")
            report = await asyncio.to_thread(compare, PostgresSession(db, "signer"), after)
            await db.execute("ROLLBACK")
        return report

    return asyncio.run(main())


def _set(table: str, where: str, **columns: str) -> dict[str, str]:
    """An edit of each column by itself."""
    return {
        f"{table}: change {name} ({where})": f"UPDATE {table} SET {name} = {value} WHERE {where}"
        for name, value in columns.items()
    }


def _body(name: str, value: str) -> str:
    return f"(body::jsonb || '{{\"{name}\": {value}}}')::text"


def _copy(**columns: str) -> str:
    """Plant a copy of a version in which some columns are others."""
    names = (
        *("began", "ended", "number", "length", "created_at", "occurred_at", "expires_at", "confidence"),
        *("machine_said", "structured", "tenant", "agent", "user_id", "id", "standing", "session", "vector"),
        *("type", "reason", "into_id", "digest", "terms", "counts", "facts", "body", "content"),
    )
    values = ", ".join(columns.get(name, name) for name in names)
    return f"INSERT INTO version ({', '.join(names)}) SELECT {values} FROM version WHERE id = 'twin'"


_LIVE, _OLD = "id = 'live' AND ended IS NULL", "id = 'old'"
_TWIN = "seq = (SELECT began FROM version WHERE id = 'twin')"
_SAID = {
    "agent": "'eve'",
    "user_id": "'eve'",
    "type": "'episodic'",
    "standing": "'archived'",
    "confidence": "0.01",
    "created_at": "created_at - 1",
    "occurred_at": "77",
    "expires_at": "5",
    "session": "'eve'",
    "content": "'eve was here'",
}
_IN_BODY = {
    "updated_at": "1",
    "trust": '"trusted"',
    "source": '"eve"',
    "tags": '["eve"]',
    "metadata": '{"eve": 1}',
    "supersedes": '["twin"]',
    "merged_from": '["twin"]',
    "derived_from": '["twin"]',
}

EDITS: Mapping[str, str] = {
    **_set("version", _LIVE, **_SAID),
    **_set("version", _OLD, **_SAID),
    **{
        f"version: change {name} in the body": f"UPDATE version SET body = {_body(name, value)} WHERE {_LIVE}"
        for name, value in _IN_BODY.items()
    },
    **_set(
        "version",
        _LIVE,
        id="'other'",
        tenant="'acme'",
        number="9",
        began="1",
        digest="'\\x00'",
        length="length + 1",
        terms="'{5}'",
        counts="'{5}'",
        facts='facts || \'{"trust": "trusted"}\'',
        machine_said="true",
        structured="true",
        body="'{}'",
    ),
    **_set("version", _OLD, reason="'expired'", into_id="'twin'", ended="1", began="1", number="3"),
    "version: delete a live one": f"DELETE FROM version WHERE {_LIVE}",
    "version: delete the past of one": "DELETE FROM version WHERE id = 'live' AND ended IS NOT NULL",
    "version: delete all of a memory": "DELETE FROM version WHERE id = 'live'",
    "version: delete an ended one": f"DELETE FROM version WHERE {_OLD}",
    "version: delete an erased one": "DELETE FROM version WHERE id = 'erased'",
    "version: delete a memory and its change": (
        "WITH gone AS (DELETE FROM version WHERE id = 'twin' RETURNING began)"
        " DELETE FROM change WHERE seq IN (SELECT began FROM gone)"
    ),
    "version: revive a forgotten one": f"UPDATE version SET ended = NULL, reason = NULL WHERE {_OLD}",
    "version: revive a merged one": (
        "UPDATE version SET ended = NULL, reason = NULL, into_id = NULL WHERE id = 'merged'"
    ),
    "version: fill an erased one": "UPDATE version SET content = 'eve' WHERE id = 'erased'",
    "version: revive an erased one": (
        "UPDATE version SET (content, type, standing, confidence, created_at, body, facts, structured) ="
        " (SELECT content, type, standing, confidence, created_at, body, facts, structured FROM version"
        " WHERE id = 'twin'), ended = NULL, reason = NULL WHERE id = 'erased'"
    ),
    "version: end a live one": f"UPDATE version SET ended = 1, reason = 'forgotten' WHERE {_LIVE}",
    "version: hide a live one": "UPDATE version SET ended = 99999 WHERE id = 'twin'",
    "version: empty a live one": (
        "UPDATE version SET ended = 1, reason = 'erased', content = NULL WHERE id = 'twin'"
    ),
    "version: erased one to another agent": "UPDATE version SET agent = 'eve' WHERE id = 'erased'",
    "version: erased one to another user": "UPDATE version SET user_id = 'eve' WHERE id = 'erased'",
    "version: plant a copy": _copy(id="'planted'", content="'eve planted this'"),
    "version: plant a copy for another tenant": _copy(tenant="'acme'"),
    "version: plant a copy for a tenant that the ledger does not know": _copy(tenant="'unknown'"),
    "version: plant a next version": _copy(number="2", content="'eve'", ended="99999"),
    "version: swap two contents": (
        "UPDATE version SET content = (SELECT content FROM version WHERE id = 'kept' AND ended IS NULL)"
        " WHERE id = 'twin'"
    ),
    "version: move all of a tenant to another": "UPDATE version SET tenant = 'default' WHERE tenant = 'acme'",
    "version: move all of a user to another": "UPDATE version SET user_id = 'ben' WHERE user_id = 'ana'",
    "posting: delete": (
        "DELETE FROM posting WHERE position = (SELECT position FROM version WHERE id = 'twin')"
    ),
    "posting: change a count": (
        "UPDATE posting SET count = 99 WHERE position = (SELECT position FROM version WHERE id = 'twin')"
    ),
    "posting: plant": (
        "INSERT INTO posting (key, position, count, tenant)"
        " SELECT 5, position, 1, tenant FROM version WHERE id = 'twin'"
    ),
    "salt: remove and forge the content": (
        "WITH gone AS (DELETE FROM ledger_salt WHERE memory = 'twin' RETURNING memory)"
        " UPDATE version SET content = 'eve' WHERE id IN (SELECT memory FROM gone)"
    ),
    "salt: empty": "UPDATE ledger_salt SET salt = NULL WHERE memory = 'twin'",
    "salt: change": "UPDATE ledger_salt SET salt = '\\x00' WHERE memory = 'twin'",
    "salt: give one to an erased memory": "UPDATE ledger_salt SET salt = '\\x00' WHERE memory = 'erased'",
    **_set(
        "change",
        _TWIN,
        id="'eve'",
        seq="99999",
        tenant="'acme'",
        agent="'eve'",
        user_id="'eve'",
        operation="'forget'",
        at="at + 1",
        key="'other'",
        fingerprint="'eve'",
        reason="'eve'",
        undoes="'eve'",
        about="'live'",
    ),
    "change: remove a key": f"UPDATE change SET key = NULL WHERE {_TWIN}",
    "change: remove a fingerprint": f"UPDATE change SET fingerprint = NULL WHERE {_TWIN}",
    "change: remove a reason": "UPDATE change SET reason = NULL WHERE reason = 'outdated'",
    "change: delete": f"DELETE FROM change WHERE {_TWIN}",
    "change: plant": (
        "INSERT INTO change (seq, id, tenant, agent, operation, at)"
        " VALUES (99999, 'eve', 'default', 'default', 'remember', 1)"
    ),
    "kv: change a value": (
        "UPDATE version SET content = replace(content, 'green', 'black') WHERE content LIKE '%green%'"
    ),
    "kv: delete": "DELETE FROM version WHERE content LIKE '%green%'",
}
"""What is done, by name. Each leaves the ledger as it is."""


def test_a_state_that_nobody_touched_is_what_the_ledger_says(state: str):
    report = compare_after(state, "")
    assert report.differences == ()
    assert report.versions > 10
    assert report.rows > 10


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_with_sql_is_found(edit: str, state: str):
    assert compare_after(state, EDITS[edit]).differences


@pytest.mark.parametrize(
    ("edit", "kind", "subject", "detail"),
    [
        ("version: plant a copy", "memory", "planted v1", "no entry of the ledger began it"),
        (
            "version: plant a copy for a tenant that the ledger does not know",
            "memory",
            "twin v1 of tenant unknown",
            "no entry of the ledger began it",
        ),
        (
            "version: revive a forgotten one",
            "memory",
            "old v1",
            "it is live here, and ended in the ledger (forgotten)",
        ),
        (
            "version: hide a live one",
            "memory",
            "twin v1",
            "it has ended here, and is live in the ledger",
        ),
        (
            "version: swap two contents",
            "memory",
            "twin v1",
            "it says something else than the ledger committed to",
        ),
        ("posting: plant", "memory", "twin v1", "its search index is not that of its words"),
        ("change: plant", "change", "eve", "no entry of the ledger is about it"),
    ],
)
def test_a_difference_is_named(edit: str, kind: str, subject: str, detail: str, state: str):
    assert Difference(kind, subject, detail) in compare_after(state, EDITS[edit]).differences


def test_a_reader_who_does_not_see_all_tenants_misses_everything(state: str):
    """The control: the policy of the tables lets the comparison read, and nothing else does."""
    found = compare_after(state, "DROP POLICY audit ON version; UPDATE version SET length = length")
    assert {"memory"} <= {difference.kind for difference in found.differences}
    assert found.versions == 0


def test_a_comparison_of_what_is_new_sees_that_and_nothing_older(schema: str, server: Server, tmp_path: Path):
    typed = Inside(tmp_path / "home")

    def do(*words: str) -> None:
        assert typed(*words, MEMORYWIRE_STORE=schema).code == 0

    do("remember", "green tea", "--id", "tea")
    do("remember", "red wine", "--id", "wine")
    (first,) = rows(schema, "SELECT max(seq) FROM ledger")
    do("forget", "wine")
    do("remember", "black tea", "--id", "black")
    name = locate(schema).schema
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute(f"DO $$BEGIN CREATE ROLE {AUDITOR}; EXCEPTION WHEN duplicate_object THEN END$$")
        db.execute(f"GRANT USAGE ON SCHEMA {name} TO {AUDITOR}")
        db.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {AUDITOR}")
    assert compare_after(schema, "", *first).ok
    older = "UPDATE version SET content = 'milk' WHERE id = 'tea'"
    assert compare_after(schema, older, *first).ok
    assert not compare_after(schema, older).ok
    for edit in (
        "UPDATE version SET ended = NULL, reason = NULL WHERE id = 'wine'",
        "UPDATE version SET content = 'milk' WHERE id = 'black'",
        "DELETE FROM version WHERE id = 'black'",
        "DELETE FROM change WHERE seq = (SELECT max(seq) FROM change)",
    ):
        assert compare_after(schema, edit, *first).differences, edit


def test_odd_text_is_what_the_ledger_says(schema: str, tmp_path: Path):
    """The escapes of this store are decoded once."""
    odd = "a\x01\x02c\x01\x01d"
    with Memory("agent", [schema], policy="open", journal=f"sqlite://{tmp_path}/journal.db") as memory:
        memory.remember(odd, id="odd", metadata={"key": odd, "huge": 2**60, "half": 0.5}, tags=[odd])
        memory.remember({"a": [1, 1.0, True, None, odd]}, id="object", type="procedural", confidence=1)
        memory.kv.set("key", odd)
        assert memory.audit_verify(state=True).state.differences == ()


def test_doctor_names_what_differs(schema: str, tmp_path: Path):
    typed = Inside(tmp_path / "home")
    assert typed("remember", "green tea", "--id", "tea", MEMORYWIRE_STORE=schema).code == 0
    assert typed("doctor", MEMORYWIRE_STORE=schema).code == 0
    location = locate(schema)
    with psycopg.connect(location.dsn) as db:
        db.execute(f"UPDATE {location.schema}.version SET content = 'black tea'")
    done = typed("doctor", MEMORYWIRE_STORE=schema)
    assert done.code == 4
    assert "the state differs from the ledger: memory tea v1" in done.out
    verified = typed("audit", "verify", "--state", MEMORYWIRE_STORE=schema)
    assert verified.code == 1
    assert "memory tea v1: it says something else" in verified.out
