"""The ledger grows at its end and nowhere else, and says what was done without saying what was said."""

import hashlib
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields, replace

from memorywire.journal.audit import find_contradicted
from memorywire.journal.entries import (
    Entry,
    build_draft,
    canonical,
    commitment,
    contents_of,
    record_digest,
)
from memorywire.journal.ledger import (
    Filters,
    append,
    delete_salts,
    filter_entries,
    find_entries_about,
    find_entry,
    find_salts,
    read_entries,
    read_head,
)
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.verify import verify
from memorywire.model.change import Base, Change, Put
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust
from tests.journal.books import ANA, a_ledger, an_entry, entropy, write_entries

# From the appendix of RFC 8785, and the borders of ECMAScript's notations.
NUMBERS = {
    0.0: "0",
    5e-324: "5e-324",
    -5e-324: "-5e-324",
    1.7976931348623157e308: "1.7976931348623157e+308",
    9007199254740992.0: "9007199254740992",
    295147905179352830000.0: "295147905179352830000",
    1e21: "1e+21",
    9.999999999999997e22: "9.999999999999997e+22",
    1e23: "1e+23",
    999999999999999700000.0: "999999999999999700000",
    333333333.3333332: "333333333.3333332",
    0.000001: "0.000001",
    1e-7: "1e-7",
    1.5e-7: "1.5e-7",
    9.999999999999997e-7: "9.999999999999997e-7",
    4.5: "4.5",
    2e-3: "0.002",
    1e16: "10000000000000000",
    -1.0: "-1",
}


@pytest.mark.parametrize("number", [*NUMBERS, -0.0])
def test_a_number_has_the_one_text_that_rfc_8785_gives_it(number: float):
    assert canonical(number) == NUMBERS[number]


def test_every_number_reads_back_as_itself():
    dice = random.Random(5)
    for _ in range(2_000):
        number = dice.choice([1, -1]) * dice.random() * 10 ** dice.randint(-300, 300)
        assert float(canonical(number)) == number


def test_names_are_sorted_as_rfc_8785_sorts_them():
    value = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\x80": 6, "\u00f6": 7}
    assert list(json.loads(canonical(value)).values()) == [2, 4, 6, 7, 1, 5, 3]
    assert canonical({"b": [True, None], "a": {}}) == '{"a":{},"b":[true,null]}'


def test_a_text_is_escaped_no_more_than_it_must_be():
    assert canonical('\x0f\n"\\/\x7f<é') == '"\\u000f\\n\\"\\\\/\x7f<é"'


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf"), "\ud800"])
def test_what_has_no_canonical_text_is_refused(wrong: object):
    with pytest.raises(InvalidRequest):
        build_draft(an_entry(1, details={"value": wrong}))
    assert build_draft(an_entry(1, details={"value": 1.5}))


def test_entries_are_numbered_from_one_without_gaps_and_each_is_canonical():
    db = a_ledger()
    assert append(SqliteSession(db), [build_draft(an_entry(1)), build_draft(an_entry(2))]) == [1, 2]
    assert append(
        SqliteSession(db),
        [build_draft(an_entry(3, details={"scores": [0.5, 1e-9], "élan": {"b": 1, "a": 2}}))],
    ) == [3]
    assert append(SqliteSession(db), []) == []
    kept = list(read_entries(SqliteSession(db)))
    assert [row.seq for row in kept] == [row.said["seq"] for row in kept] == [1, 2, 3]
    assert all(canonical(row.said) == row.body for row in kept)
    assert read_head(SqliteSession(db)) == (3, kept[-1].chain)


def test_each_entry_is_chained_to_all_before_it():
    db = a_ledger()
    write_entries(db, 3)
    chain = bytes(32)
    for row in read_entries(SqliteSession(db)):
        leaf = hashlib.sha256(b"\0" + row.body.encode()).digest()
        chain = hashlib.sha256(chain + leaf).digest()
        assert row.chain == chain


def test_a_transaction_that_fails_leaves_no_gap():
    db = a_ledger()
    write_entries(db, 2)
    db.execute("SAVEPOINT work")
    append(SqliteSession(db), [build_draft(an_entry(3))])
    db.execute("ROLLBACK TO work; RELEASE work")
    assert append(SqliteSession(db), [build_draft(an_entry(4))]) == [3]
    assert verify(read_entries(SqliteSession(db)), [], []).ok


def test_many_who_write_at_once_leave_one_chain_without_gaps(tmp_path: Path):
    path = tmp_path / "ledger.db"
    a_ledger(path).execute("PRAGMA journal_mode = WAL")

    def work(writer: int) -> None:
        db = apsw.Connection(str(path))
        db.set_busy_timeout(60_000)
        for number in range(20):
            db.execute("BEGIN IMMEDIATE")
            append(SqliteSession(db), [build_draft(an_entry(writer * 100 + number))])
            db.execute("COMMIT")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    report = verify(read_entries(SqliteSession(apsw.Connection(str(path)))), [], [])
    assert (report.fault, report.entries) == (None, 80)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger SET body = '{}' WHERE seq = 2",
        "UPDATE ledger SET seq = 9 WHERE seq = 2",
        "UPDATE OR REPLACE ledger SET seq = 1 WHERE seq = 2",
        "DELETE FROM ledger WHERE seq = 3",
        "DELETE FROM ledger",
        "INSERT INTO ledger (seq, body, chain) VALUES (5, '{}', zeroblob(32))",
        "INSERT INTO ledger (seq, body, chain) VALUES (NULL, '{}', zeroblob(32))",
        "INSERT INTO ledger (body, chain) VALUES ('{}', zeroblob(32))",
        "INSERT OR REPLACE INTO ledger (seq, body, chain) VALUES (2, '{}', zeroblob(32))",
        "INSERT OR REPLACE INTO ledger (seq, body, chain) VALUES (3, '{}', zeroblob(32))",
        "INSERT OR IGNORE INTO ledger (seq, body, chain) VALUES (7, '{}', zeroblob(32))",
        "UPDATE ledger_salt SET salt = zeroblob(16)",
        "UPDATE ledger_salt SET version = 2, salt = NULL",
    ],
)
def test_the_database_refuses_everything_but_growth(statement: str):
    db = a_ledger()
    write_entries(db, 3)
    before = list(read_entries(SqliteSession(db))), find_salts(SqliteSession(db), "default", "m2")
    with pytest.raises(apsw.ConstraintError):
        db.execute(statement)
    assert (list(read_entries(SqliteSession(db))), find_salts(SqliteSession(db), "default", "m2")) == before
    db.execute("INSERT INTO ledger (seq, body, chain) VALUES (4, '{}', zeroblob(32))")
    assert read_head(SqliteSession(db))[0] == 4


def a_record(content: str, version: int = 1) -> Record:
    return Record(
        id="m1",
        scope=ANA,
        type=MemoryType.SEMANTIC,
        content=content,
        created_at=1,
        updated_at=1,
        version=version,
        metadata={"weight": 0.25, "huge": 2**70},
    )


def remembered(db: apsw.Connection, record: Record) -> None:
    change = Change(
        id="c1", operation="remember", scope=ANA, at=5, put=(Put(record=record, base=Base.NOTHING),)
    )
    append(
        SqliteSession(db),
        [
            build_draft(
                Entry(
                    at=5,
                    operation="remember",
                    scope=ANA,
                    actor="cli",
                    kind="committed",
                    subject="c1",
                    contents=contents_of(change),
                ),
                entropy,
            )
        ],
    )


def test_content_is_committed_to_but_not_told():
    db, record = a_ledger(), a_record("the safe opens with 7391")
    remembered(db, record)
    row = find_entry(SqliteSession(db), 1)
    assert row is not None
    assert "7391" not in row.body
    assert record_digest(record).hex() not in row.body
    assert row.said["commitments"] == [
        {"id": "m1", "version": 1, "digest": commitment(entropy(16), record_digest(record))}
    ]


def test_a_memory_that_was_changed_behind_the_ledgers_back_contradicts_it():
    db = a_ledger()
    remembered(db, a_record("the meeting is on Tuesday"))
    assert find_contradicted(SqliteSession(db), [a_record("the meeting is on Tuesday")]) == []
    assert find_contradicted(SqliteSession(db), [a_record("the meeting is on Friday")]) == ["m1"]
    assert find_contradicted(SqliteSession(db), [a_record("the meeting is on Friday", version=2)]) == []


OTHER_VALUES = {
    "id": "m2",
    "scope": replace(ANA, user="ben"),
    "type": MemoryType.EPISODIC,
    "content": "something else",
    "standing": Standing.DEMOTED,
    "trust": Trust.UNTRUSTED,
    "confidence": 0.5,
    "metadata": {},
    "source": "web",
    "session_id": "s1",
}


@pytest.mark.parametrize("field", [field.name for field in fields(Record)])
def test_everything_a_version_says_is_committed_to_and_its_use_is_not(field: str):
    record = a_record("something")
    value = getattr(record, field)
    other = OTHER_VALUES.get(field, ("x",) if isinstance(value, tuple) else 77)
    same = record_digest(replace(record, **{field: other})) == record_digest(record)
    assert same == (field == "recalled_at")


@pytest.mark.parametrize("field", [None, *OTHER_VALUES, "expires_at", "occurred_at", "tags", "version"])
def test_a_digest_is_that_of_the_canonical_text_of_all_that_is_said(field: str | None):
    odd = {"é": [0.1, 1e-7, True, None, {"b": "\x0f", "a": 2**70}], "\ufb33": 1, "\U0001f600": 2}
    for content in ("plain", "Straße \u2028 \x7f", odd, {"kv": {"n": 1}}):
        record = replace(a_record(""), metadata=odd)
        given = (
            {} if field is None else {field: OTHER_VALUES.get(field, ("x", "y") if field == "tags" else 77)}
        )
        record = replace(record, **({"content": content} | given))
        said = {
            one.name: getattr(record, one.name)
            for one in fields(Record)
            if one.name not in ("scope", "recalled_at") and getattr(record, one.name) != _usual(one)
        }
        scope = record.scope
        said |= {"agent": scope.agent, "tenant": scope.tenant, "user": scope.user}
        assert record_digest(record) == hashlib.sha256(canonical(said).encode()).digest()


def test_records_that_differ_in_one_field_have_different_digests():
    plain = a_record("plain")
    others = [replace(plain, **{name: other}) for name, other in OTHER_VALUES.items()]
    others += [replace(plain, version=2), replace(plain, content={"a": [0.5, True]})]
    assert len({record_digest(record) for record in (plain, *others)}) == 1 + len(others)


def _usual(field: FieldInfo) -> object:
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


def test_every_commitment_has_a_salt_of_its_own():
    puts = tuple(Put(record=replace(a_record("x"), id=f"m{n}"), base=Base.NOTHING) for n in range(3))
    change = Change(id="c1", operation="remember", scope=ANA, at=1, put=puts)
    drafts = [build_draft(an_entry(n, contents=contents_of(change))) for n in range(4)]
    assert len({salt.salt for draft in drafts for salt in draft.salts}) == 12
    assert len({one.digest for draft in drafts for one in draft.body.commitments}) == 12


def test_a_scrubbed_memory_cannot_be_guessed_and_the_chain_still_holds():
    db = a_ledger()
    remembered(db, a_record("secret"))
    write_entries(db, 2, 2)
    for other in (replace(ANA, tenant="elsewhere"), replace(ANA, agent="another")):
        delete_salts(SqliteSession(db), other, "m1")
        assert find_salts(SqliteSession(db), "default", "m1")[0].salt == entropy(16)
    delete_salts(SqliteSession(db), ANA, "unknown")
    delete_salts(SqliteSession(db), ANA, "m1")
    assert [
        (salted.seq, salted.version, salted.salt) for salted in find_salts(SqliteSession(db), "default", "m1")
    ] == [(1, 1, None)]
    assert find_salts(SqliteSession(db), "default", "m2")[0].salt is not None
    assert find_contradicted(SqliteSession(db), [a_record("another guess")]) == []
    assert verify(read_entries(SqliteSession(db)), [], []).ok


def test_salts_of_equal_contents_differ():
    one, other = build_draft(an_entry(1)), build_draft(an_entry(1))
    assert one.salts != other.salts
    assert one.body != other.body


def test_the_log_is_filtered_and_paged_newest_first():
    db = a_ledger()
    write_entries(db, 6)
    recall = an_entry(7, operation="recall", kind="recalled", contents=(), details={"ids": ["m2", "m4"]})
    other = an_entry(8, scope=Scope(agent="other", tenant="t2"), actor="http")
    append(SqliteSession(db), [build_draft(recall), build_draft(other)])

    def found(limit: int | None = None, before: int | None = None, **wanted: object) -> list[int]:
        return [
            row.seq
            for row in filter_entries(SqliteSession(db), Filters(**wanted), before=before, limit=limit)
        ]

    assert found() == [8, 7, 6, 5, 4, 3, 2, 1]
    assert found(limit=3) == [8, 7, 6]
    assert found(limit=3, before=6) == [5, 4, 3]
    assert found(agent="assistant", user="ana", operation="recall") == [7]
    assert found(memory="m4") == [7, 4]
    assert found(memory="m") == []
    assert found(tenant="t2") == found(actor="http") == [8]
    assert found(kind="committed", since=1_003, until=1_005) == [4, 3]
    assert [row.seq for row in find_entries_about(SqliteSession(db), "default", "c5")] == [5]
    assert find_entries_about(SqliteSession(db), "t2", "c5") == []


def test_an_entry_that_is_not_there_is_none():
    db = a_ledger()
    assert read_head(SqliteSession(db)) == (0, bytes(32))
    assert find_entry(SqliteSession(db), 1) is None
    write_entries(db, 1)
    found = find_entry(SqliteSession(db), 1)
    assert found is not None
    assert json.loads(found.body)["actor"] == "cli"
