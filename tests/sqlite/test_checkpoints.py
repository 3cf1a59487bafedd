"""The log is moved into the file beside the commits, and never grows without end."""

import asyncio
from pathlib import Path

import apsw
import pytest

from memorywire.stores.sqlite.connection import connect
from memorywire.stores.sqlite.file import SqliteFile
from memorywire.stores.sqlite.location import Location
from tests.sqlite.desk import rows, run, until

PAGE = 4_096
ROUNDS, EACH = 60, 500  # pages in all: more than a log may have
MOST = 4 * 4_000 + 4 * EACH


def _tables(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS heap (filling BLOB)")


def _heap(db: apsw.Connection) -> None:
    db.execute(f"DELETE FROM heap WHERE rowid <= {EACH}")
    db.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "INSERT INTO heap SELECT randomblob(4000) FROM n",
        (EACH,),
    )


def _log(path: Path) -> int:
    """The pages that the log's file holds."""
    return path.with_name(f"{path.name}-wal").stat().st_size // PAGE


def test_a_log_is_moved_while_others_write_and_begins_anew(tmp_path: Path) -> None:
    path, made = tmp_path / "h.db", []

    def counted(location: Location) -> apsw.Connection:
        made.append(location)
        return connect(location)

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables, connect=counted)
        assert len(made) == 3  # the writer's and the readers'
        for _ in range(ROUNDS):
            await file.write(_heap)
        assert len(made) == 4
        assert _log(path) < MOST < ROUNDS * EACH
        await file.close()
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    run(main())


def test_a_young_log_begins_anew_early_so_that_commits_find_it_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "h.db"

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables)
        for _ in range(100):
            await file.write(lambda db: db.execute("INSERT INTO heap VALUES (randomblob(40000))"))
        assert 256 < _log(path) < 600 < 100 * 40_000 // PAGE
        await file.close()

    run(main())


def test_where_nobody_can_move_the_log_beside_them_writers_do(tmp_path: Path) -> None:
    path, made = tmp_path / "h.db", []

    def thrice(location: Location) -> apsw.Connection:
        if len(made) == 3:
            raise apsw.CantOpenError("no more files")
        made.append(location)
        return connect(location)

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables, connect=thrice)
        for _ in range(ROUNDS):
            await file.write(_heap)
        assert _log(path) < MOST < ROUNDS * EACH
        await file.close()
        assert rows(path, "PRAGMA integrity_check") == [("ok",)]

    run(main())


def test_what_a_reader_needs_stays_in_the_log_until_it_has_read(tmp_path: Path) -> None:
    path = tmp_path / "h.db"

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables)
        await file.write(_heap)
        reader = apsw.Connection(str(path))
        reader.execute("BEGIN")
        seen = reader.execute("SELECT max(rowid) FROM heap").get
        for _ in range(ROUNDS):
            await file.write(_heap)
        long = _log(path)
        assert reader.execute("SELECT max(rowid) FROM heap").get == seen
        assert long > MOST  # nothing could be moved
        reader.execute("ROLLBACK")
        reader.close()
        for _ in range(4):
            await file.write(_heap)
        assert _log(path) <= long + 2 * EACH  # it began anew
        await file.close()

    run(main())


@pytest.mark.parametrize("many", [1, 20])
def test_closing_takes_the_log_along(tmp_path: Path, many: int) -> None:
    path = tmp_path / "h.db"

    async def main() -> None:
        file = SqliteFile(Location(path=path), _tables)
        await asyncio.gather(*(file.write(_heap) for _ in range(many)))
        await file.close()

        async def gone() -> bool:
            return not path.with_name("h.db-wal").exists()

        await until(gone)

    run(main())
