"""Whatever somebody does with SQL to rows that the ledger speaks of is found."""

import asyncio
from pathlib import Path

import apsw
import pytest

from memorywire.journal import ledger
from memorywire.journal.sqlite import SqliteSession
from memorywire.journal.state import compare
from memorywire.journal.verify import verify
from memorywire_server.background import StateChecks
from tests.cli.shell import Inside
from tests.journal.forging import EDITS, UNSEEN, a_state, forged
from tests.sqlite.governed import a_house, ask


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return a_state(tmp_path_factory.mktemp("state"))


def test_a_state_that_nobody_touched_is_what_the_ledger_says(image: bytes):
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    report = compare(SqliteSession(db))
    assert report.differences == ()
    assert report.versions > 10
    assert report.rows > 10


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_with_sql_is_found(edit: str, image: bytes):
    assert forged(image, EDITS[edit]).differences


def test_the_ledger_alone_shows_none_of_them(image: bytes):
    """The control: what the comparison finds is not found by the chain."""
    db = apsw.Connection(":memory:")
    db.deserialize("main", image)
    db.execute("PRAGMA foreign_keys = OFF")
    db.execute("DELETE FROM version; DELETE FROM change; DELETE FROM operator; DELETE FROM proposal")
    assert verify(ledger.read_entries(SqliteSession(db)), (), ()).ok
    assert not compare(SqliteSession(db)).ok


@pytest.mark.parametrize("edit", UNSEEN)
def test_what_the_ledger_does_not_speak_of_is_not_promised(edit: str, image: bytes):
    """docs/how-to/audit.md names these: whoever makes the ledger speak of one takes it off both lists."""
    assert forged(image, UNSEEN[edit]).ok


def test_the_command_names_each_difference_and_exits_with_1(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed.remember("green tea", "--id", "tea")
    assert typed("audit", "verify", "--state").code == 0
    (path,) = typed.home.glob("*.db")
    db = apsw.Connection(str(path))
    db.execute("UPDATE version SET content = 'black tea'")
    db.close()
    assert typed("audit", "verify").code == 0
    done = typed("audit", "verify", "--state", "--json")
    assert (done.code, done.json["ok"], done.json["fault"]) == (1, False, None)
    assert done.json["state"]["differences"] == [
        {
            "kind": "memory",
            "subject": "tea v1",
            "detail": "it says something else than the ledger committed to",
        }
    ]
    assert "memory tea v1: it says something else" in typed("audit", "verify", "--state").out


def test_rows_of_an_earlier_release_are_adopted_when_the_file_is_opened(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed.remember("a page", "--source", "web:forum")
    typed("operator", "add", "olga", "--role", "admin")
    (path,) = typed.home.glob("*.db")
    db = apsw.Connection(str(path))
    db.execute(
        "DROP TABLE ledger_person; DROP TABLE ledger_state; DROP TABLE state_verified; DROP TABLE loan"
    )
    db.execute("ALTER TABLE webhook DROP COLUMN review")
    db.execute("UPDATE journal_version SET number = 10")
    db.close()
    typed("list")
    assert typed("audit", "verify", "--state").code == 0
    assert typed("audit", "log", "--all-agents", "--operation", "state", "--json").json["entries"]


def test_doctor_names_what_differs(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed("operator", "add", "olga", "--role", "reader")
    assert typed("doctor").code == 0
    (path,) = typed.home.glob("*.db")
    db = apsw.Connection(str(path))
    db.execute("UPDATE operator SET body = replace(body, 'reader', 'admin')")
    db.close()
    done = typed("doctor")
    assert done.code == 4
    assert "the state differs from the ledger: operator olga" in done.out


def test_a_comparison_of_what_is_new_sees_that_and_nothing_older(tmp_path: Path):
    typed = Inside(tmp_path / "home")
    typed.remember("green tea", "--id", "tea")
    typed.remember("red wine", "--id", "wine")
    (path,) = typed.home.glob("*.db")
    db = apsw.Connection(str(path))
    first = compare(SqliteSession(db)).entries
    typed("forget", "wine")
    typed.remember("black tea", "--id", "black")
    assert compare(SqliteSession(db), first).ok
    db.execute("UPDATE version SET content = 'milk' WHERE id = 'tea'")
    assert compare(SqliteSession(db), first).ok
    assert not compare(SqliteSession(db)).ok
    for edit in (
        "UPDATE version SET ended = NULL, reason = NULL WHERE id = 'wine'",
        "UPDATE version SET content = 'milk' WHERE id = 'black'",
        "DELETE FROM version WHERE id = 'black'",
        "DELETE FROM change WHERE seq = (SELECT max(seq) FROM change)",
    ):
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("BEGIN")
        db.execute(edit)
        assert compare(SqliteSession(db), first).differences, edit
        db.execute("ROLLBACK")


def test_a_recall_that_is_not_written_yet_does_not_name_the_erased_user_afterwards(tmp_path: Path):
    async def main() -> None:
        async with a_house(tmp_path / "m.db") as container:
            kept = await ask(
                container, "remember", type="semantic", content="green tea", user_id="ana@example.com"
            )
            await ask(container, "recall", query="what tea?", user_id="ana@example.com")
            await ask(container, "forget", ids=[kept["id"]], hard_delete=True)

    asyncio.run(main())
    assert b"ana@example.com" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_server_raises_an_alarm(tmp_path: Path):
    async def main() -> list[str]:
        alarms: list[str] = []
        async with a_house(tmp_path / "m.db") as container:
            await ask(container, "remember", type="semantic", content="green tea")
            checks = StateChecks(container.journal, alarms.append)
            assert await checks.check()
            db = apsw.Connection(str(tmp_path / "m.db"))
            db.execute("UPDATE version SET source = 'eve'")
            db.close()
            assert not await checks.check()
        return alarms

    (alarm,) = asyncio.run(main())
    assert "it says something else than the ledger committed to" in alarm
