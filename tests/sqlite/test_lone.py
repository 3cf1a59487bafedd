"""A brief write that comes alone is committed where it was asked, and only then."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.journal.opening import open_journal
from memorywire.model.errors import Conflict, StoreBusy
from memorywire.stores.sqlite.connection import RetryPolicy, configure
from memorywire.stores.sqlite.file import SqliteFile, request_scrub
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.writer import Work
from memorywire_testing.samples import NOW, a_change, a_record, a_scope, beginning, everything, ids, keep
from tests.sqlite.desk import Notes, opened, rows, run, until

ENOUGH = 20  # works until the writer knows how quick the disk is, and has forgotten who else was there


class _Time:
    """A clock that goes on by so many seconds whenever anybody looks."""

    def __init__(self, step: float) -> None:
        self.step = step
        self.now = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def _tables(db: apsw.Connection) -> None:
    db.execute("CREATE TABLE IF NOT EXISTS note (said TEXT)")


def _file(path: Path | None, step: float = 0.0002, **options: Any) -> SqliteFile:
    return SqliteFile(Location(path=path), _tables, retry_policy=RetryPolicy(clock=_Time(step)), **options)


def _noting(said: str) -> Work[int]:
    """Writes a note, and says which thread did."""

    def work(db: apsw.Connection) -> int:
        db.execute("INSERT INTO note VALUES (?)", (said,))
        return threading.get_ident()

    return work


async def _settled(file: SqliteFile) -> bool:
    """Whether the last of some brief works was done on this thread."""
    return [await file.write(_noting("x"), brief=True) for _ in range(ENOUGH)][-1] == threading.get_ident()


@pytest.mark.parametrize("name", ["n.db", None])
def test_a_brief_write_that_comes_alone_is_done_where_it_was_asked(tmp_path: Path, name: str | None) -> None:
    async def main() -> None:
        file = _file(tmp_path / name if name else None)
        assert await _settled(file)
        assert await file.write(_noting("long")) != threading.get_ident()
        assert await file.read(lambda db: db.execute("SELECT count(*) FROM note").get) == ENOUGH + 1
        await file.close()

    run(main())


def test_writes_of_one_moment_share_a_commit_and_leave_the_event_loop_alone(tmp_path: Path) -> None:
    begun: list[str] = []

    class Counting(apsw.Connection):
        def execute(self, statements: str, *args: Any, **kwargs: Any) -> apsw.Cursor:
            begun.extend([statements] * statements.startswith("BEGIN IMMEDIATE"))
            return super().execute(statements, *args, **kwargs)

    async def main() -> None:
        file = _file(
            tmp_path / "n.db", connect=lambda location: configure(Counting(str(location.path)), location)
        )
        assert await _settled(file)
        begun.clear()
        threads = await asyncio.gather(*(file.write(_noting("x"), brief=True) for _ in range(8)))
        assert threading.get_ident() not in threads
        assert len(begun) == 1
        assert await file.write(_noting("a moment later"), brief=True) != threading.get_ident()
        assert await _settled(file)
        await file.close()

    run(main())


def test_a_slow_disk_never_holds_up_the_event_loop(tmp_path: Path) -> None:
    async def main() -> None:
        file = _file(tmp_path / "n.db", step=0.004)
        assert not await _settled(file)
        await file.close()

    run(main())


def test_a_file_that_another_holds_is_waited_for_by_the_thread(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        file = _file(path)
        assert await _settled(file)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(file.write(_noting("late"), brief=True))
        await asyncio.sleep(0.1)  # the event loop goes on
        assert not waiting.done()
        other.execute("ROLLBACK")
        other.close()
        assert await waiting != threading.get_ident()
        await file.close()
        assert rows(path, "SELECT count(*) FROM note WHERE said = 'late'") == [(1,)]

    run(main())


def test_what_is_refused_where_it_was_asked_leaves_nothing_behind(tmp_path: Path) -> None:
    scope, taken = a_scope(), a_record(a_scope(), id="taken")

    async def main() -> None:
        async with opened(tmp_path / "m.db", retry_policy=RetryPolicy(clock=_Time(0.0002))) as store:
            await keep(store, taken)
            for number in range(ENOUGH):
                await keep(store, a_record(scope, id=f"k{number}"))
            with pytest.raises(Conflict):
                await store.write(a_change(scope, beginning(a_record(scope, id="new")), beginning(taken)))
            await keep(store, a_record(scope, id="after"))
            kept = ids(await store.find(everything(scope)))
            assert kept == sorted(["after", *(f"k{number}" for number in range(ENOUGH))])

    run(main())


def test_a_change_with_its_ledger_entry_is_brief_unless_it_erases(tmp_path: Path) -> None:
    scope, at = a_scope(), list[int]()

    class Telling(apsw.Connection):
        def execute(self, statements: str, *args: Any, **kwargs: Any) -> apsw.Cursor:
            at.extend([threading.get_ident()] * (statements == "COMMIT"))
            return super().execute(statements, *args, **kwargs)

    async def main() -> None:
        async with opened(
            tmp_path / "m.db",
            connect=lambda location: configure(Telling(str(location.path)), location),
            retry_policy=RetryPolicy(clock=_Time(0.0002)),
        ) as store:
            journal = await open_journal(store, None, clock=lambda: NOW)
            for number in range(ENOUGH):
                await journal.write(Act(), a_change(scope, beginning(a_record(scope, id=f"k{number}"))))
            assert at[-1] == threading.get_ident()
            await journal.write(Act(), replace(a_change(scope), erase=("k0",)))
            assert at[-1] != threading.get_ident()
            await journal.close()

    run(main())


def test_few_notes_go_along_and_many_are_left_to_the_thread(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        file, notes = _file(path), Notes()
        file.defer(notes, notes.write)
        assert await _settled(file)
        here = threading.get_ident()
        for many in (False, True):
            for said in ["few"] if not many else ["many"] * 50:
                file.later(lambda said=said: notes.waiting.append(said))
            assert (await file.write(_noting("x"), brief=True) == here) is not many
            assert not notes
        assert rows(path, "SELECT said, count(*) FROM note WHERE said <> 'x' GROUP BY said") == [
            ("few", 1),
            ("many", 50),
        ]
        await file.close()

    run(main())


def test_what_another_left_in_the_log_is_taken_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    unpaid = "SELECT count(*) FROM meta WHERE key = 'scrub_paid'"

    async def paid() -> bool:
        return rows(path, unpaid) == [(1,)]

    async def main() -> None:
        file = _file(path)
        assert await _settled(file)
        assert file._writer._pending_scrub is None  # it has looked, and waits for nothing
        other = apsw.Connection(str(path))
        request_scrub(other)
        other.close()
        assert not await paid()
        assert await file.write(_noting("x"), brief=True) == threading.get_ident()
        await until(paid)
        await file.close()

    run(main())


def test_event_loops_of_several_threads_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "n.db"
    file = SqliteFile(Location(path=path), _tables)

    async def some(name: int) -> None:
        for number in range(100):
            await file.write(_noting(f"{name} {number}"), brief=True)
            if number % 7 == name:
                await asyncio.sleep(0.001)

    def each(work: Callable[[int], Any]) -> None:
        threads = [threading.Thread(target=lambda n=n: run(work(n))) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    each(some)
    run(file.close())
    assert rows(path, "SELECT count(DISTINCT said), count(*) FROM note") == [(400, 400)]


def test_who_gives_up_a_lone_write_leaves_it_whole_behind(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        file = _file(path)
        assert await _settled(file)
        giving_up = asyncio.create_task(file.write(_noting("given up"), brief=True))
        await asyncio.sleep(0)  # it is handed in, and no more
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
        await file.close()
        assert rows(path, "SELECT count(*) FROM note WHERE said = 'given up'") == [(1,)]

    run(main())


def test_a_busy_file_is_busy_for_a_lone_write_too(tmp_path: Path) -> None:
    path = tmp_path / "n.db"

    async def main() -> None:
        patience = RetryPolicy(budget=0.01, clock=_Time(0.0002))
        file = SqliteFile(Location(path=path), _tables, retry_policy=patience)
        assert await _settled(file)
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy):
            await file.write(_noting("hasty"), brief=True)
        other.execute("ROLLBACK")
        other.close()
        await file.write(_noting("later"), brief=True)
        await file.close()
        assert rows(path, "SELECT said FROM note WHERE said <> 'x'") == [("later",)]

    run(main())
