"""One file for several kinds of tables: works share its writer and its transactions, and fail alone."""

import asyncio
from pathlib import Path

import apsw
import pytest

from memorywire.model.errors import Conflict, MemorywireError, NotFound, StoreBusy, StoreNewer
from memorywire.stores.sqlite.connection import RetryPolicy
from memorywire.stores.sqlite.file import SqliteFile, request_scrub
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import add_tables
from memorywire.stores.sqlite.writer import Work
from memorywire_testing.samples import NOW, a_change, a_record, a_scope, beginning, everything, ids, keep
from tests.sqlite.desk import Notes, bytes_on_disk, opened, rows, run, until

NOTES = ((1, "CREATE TABLE note (said TEXT)"),)


def _tables(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS note (said TEXT)")


def _noting(said: str) -> Work[int]:
    def work(db: apsw.Connection) -> int:
        db.execute("INSERT INTO note VALUES (?)", (said,))
        return int(db.execute("SELECT count(*) FROM note").get)

    return work


def _said(db: apsw.Connection) -> list[str]:
    return [said for (said,) in db.execute("SELECT said FROM note ORDER BY said")]


def test_a_change_and_the_rows_of_another_are_committed_together(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await store.file.write(_tables)
            applying = store.applying(a_change(scope, beginning(a_record(scope, id="a"))))

            def both(db: apsw.Connection) -> int:
                sequence = applying(db)
                _noting(f"change {sequence}")(db)
                return sequence

            sequence = await store.file.write(both)
            assert ids(await store.find(everything(scope))) == ["a"]
            assert await store.file.read(_said) == [f"change {sequence}"]

    run(main())


def test_a_change_whose_companion_fails_is_not_made(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await store.file.write(_tables)
            applying = store.applying(a_change(scope, beginning(a_record(scope, id="a"))))

            def both(db: apsw.Connection) -> None:
                applying(db)
                _noting("half")(db)
                raise NotFound("the companion has nothing to stand on")

            with pytest.raises(NotFound, match="companion"):
                await store.file.write(both)
            assert await store.count(everything(scope)) == 0
            assert await store.file.read(_said) == []
            await keep(store, a_record(scope, id="b"))
            assert ids(await store.find(everything(scope))) == ["b"]

    run(main())


@pytest.mark.parametrize("error", [Conflict("no"), KeyError("no"), apsw.ConstraintError("no")])
def test_a_work_that_fails_takes_nobody_with_it(tmp_path: Path, error: Exception) -> None:
    def failing(db: apsw.Connection) -> None:
        _noting("never")(db)
        raise error

    async def main() -> None:
        file = SqliteFile(Location(path=tmp_path / "n.db"), _tables)
        works = [_noting(f"{number:02}") if number % 2 else failing for number in range(20)]
        outcomes = await asyncio.gather(*map(file.write, works), return_exceptions=True)
        assert [isinstance(outcome, type(error)) for outcome in outcomes] == [True, False] * 10
        assert await file.read(_said) == [f"{number:02}" for number in range(1, 20, 2)]
        await file.close()

    run(main())


def _refused(db: apsw.Connection) -> int:
    _noting("never")(db)
    raise Conflict("no")


@pytest.mark.parametrize("refused", [False, True], ids=["accepted", "refused"])
def test_a_work_that_is_refused_is_asked_another_way_if_it_has_one(tmp_path: Path, refused: bool) -> None:
    work = _refused if refused else _noting("at once")

    async def main() -> None:
        file = SqliteFile(Location(path=tmp_path / "n.db"), _tables)
        writes = [file.write(_noting("before")), file.write(work, alone=_noting("alone"))]
        assert await asyncio.gather(*writes, file.write(_noting("behind"))) == [1, 2, 3]
        assert await file.read(_said) == sorted(["before", "alone" if refused else "at once", "behind"])
        await file.close()

    run(main())


def test_a_file_of_its_own_keeps_its_rows_and_the_promises(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> list[str]:
        file = SqliteFile(Location(path=path), _tables)
        assert await file.write(_noting("one")) == 1
        await file.close()
        file = SqliteFile(Location(path=path), _tables)
        assert await file.write(_noting("two")) == 2
        said = await file.read(_said)
        await file.close()
        await file.close()
        return said

    assert run(main()) == ["one", "two"]
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_read_sees_one_moment(tmp_path: Path) -> None:
    async def main() -> None:
        file = SqliteFile(Location(path=tmp_path / "n.db"), _tables)
        other = apsw.Connection(str(tmp_path / "n.db"))

        def twice(db: apsw.Connection) -> tuple[list[str], list[str]]:
            before = _said(db)
            _noting("between")(other)
            return before, _said(db)

        assert await file.read(twice) == ([], [])
        assert await file.read(_said) == ["between"]
        other.close()
        await file.close()

    run(main())


def test_a_reading_work_cannot_write(tmp_path: Path) -> None:
    async def main() -> None:
        file = SqliteFile(Location(path=tmp_path / "n.db"), _tables)
        with pytest.raises(MemorywireError):
            await file.read(_noting("sneaked in"))
        assert await file.read(_said) == []
        await file.close()

    run(main())


def test_words_that_are_scrubbed_from_a_file_of_its_own_leave_its_log(tmp_path: Path) -> None:
    def erasing(db: apsw.Connection) -> None:
        db.execute("DELETE FROM note")
        request_scrub(db)

    async def main() -> None:
        file = SqliteFile(Location(path=tmp_path / "n.db"), _tables)
        await file.write(_noting("xylophone"))
        assert b"xylophone" in bytes_on_disk(tmp_path)
        await file.write(erasing)
        assert b"xylophone" not in bytes_on_disk(tmp_path)
        await file.close()

    run(main())


def test_what_is_deferred_is_written_with_the_next_work(tmp_path: Path) -> None:
    async def main() -> None:
        file, notes = SqliteFile(Location(path=tmp_path / "n.db"), _tables), Notes()
        file.defer(notes, notes.write)
        file.later(lambda: notes.waiting.append("deferred"))
        await file.write(_noting("work"))
        assert await file.read(_said) == ["deferred", "work"]
        await file.close()

    run(main())


def test_what_is_deferred_is_written_once_beside_a_work_that_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        file, notes = SqliteFile(Location(path=tmp_path / "n.db"), _tables), Notes()
        file.defer(notes, notes.write)
        file.later(lambda: notes.waiting.append("deferred"))
        outcomes = await asyncio.gather(
            file.write(_refused), file.write(_noting("work")), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [Conflict, int]
        assert await file.read(_said) == ["deferred", "work"]
        assert (notes.waiting, notes.taken) == ([], [])
        await file.close()

    run(main())


def test_what_is_deferred_is_written_when_nothing_else_happens_and_at_close(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        file, notes = SqliteFile(Location(path=path), _tables), Notes()
        file.defer(notes, notes.write)
        file.later(lambda: notes.waiting.append("idle"))

        async def written() -> bool:
            return rows(path, "SELECT said FROM note") == [("idle",)]

        await until(written)
        file.later(lambda: notes.waiting.append("last"))
        await file.close()
        assert rows(path, "SELECT said FROM note ORDER BY said") == [("idle",), ("last",)]

    run(main())


def test_what_is_deferred_is_not_lost_when_the_file_is_busy(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables, retry_policy=RetryPolicy(budget=0.05))
        notes = Notes()
        file.defer(notes, notes.write)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        file.later(lambda: notes.waiting.append("patient"))
        with pytest.raises(StoreBusy):
            await file.write(_noting("hasty"))
        other.execute("ROLLBACK")
        other.close()
        await file.write(_noting("later"))
        assert await file.read(_said) == ["later", "patient"]
        await file.close()

    run(main())


def test_tables_of_several_owners_share_a_file_and_are_added_once(tmp_path: Path) -> None:
    async def main() -> None:
        for _ in range(2):
            async with opened(tmp_path / "m.db") as store:
                await store.file.write(lambda db: add_tables(db, "notes", NOTES))
                await store.file.write(_noting(str(NOW)))
        more = (*NOTES, (2, "ALTER TABLE note ADD COLUMN who TEXT"))
        async with opened(tmp_path / "m.db") as store:
            await store.file.write(lambda db: add_tables(db, "notes", more))
            assert await store.file.read(_said) == [str(NOW), str(NOW)]
            with pytest.raises(StoreNewer, match="notes tables 2"):
                await store.file.write(lambda db: add_tables(db, "notes", NOTES))

    run(main())
