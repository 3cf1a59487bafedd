"""Writes are grouped, whole, durable before they are answered, and patient with others."""

import asyncio
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

from memorywire.model.errors import Conflict, InvalidRequest, StoreBusy, StoreUnavailable
from memorywire.stores.sqlite import SqliteStore, writer
from memorywire.stores.sqlite.connection import RetryPolicy, configure, connect
from memorywire.stores.sqlite.location import Location
from memorywire_testing.samples import (
    NOW,
    SPACE,
    a_change,
    a_record,
    a_scope,
    a_vector,
    beginning,
    everything,
    ids,
    keep,
    records,
)
from tests.sqlite.desk import opened, rows, run, until


class _Counting(apsw.Connection):
    """Counts the transactions it is asked to begin."""

    begun = 0

    def execute(self, statements: str, *args: Any, **kwargs: Any) -> apsw.Cursor:
        _Counting.begun += statements.startswith("BEGIN IMMEDIATE")
        return super().execute(statements, *args, **kwargs)


def _counting(location: Location) -> apsw.Connection:
    return configure(_Counting(str(location.path)), location)


def test_writes_that_wait_together_are_committed_together(tmp_path: Path) -> None:
    scope = a_scope()
    kept = records(scope, 1_100)

    async def main() -> None:
        async with opened(tmp_path / "m.db", connect=_counting) as store:
            before = _Counting.begun
            sequences = await asyncio.gather(*(keep_one(store, record) for record in kept))
            assert 1_100 / 1_024 <= _Counting.begun - before < 550
            assert sorted(sequences) == list(range(min(sequences), min(sequences) + 1_100))
            assert await store.count(everything(scope)) == 1_100
            assert len(await store.get(scope, [record.id for record in kept])) == 1_100

    async def keep_one(store: Any, record: Any) -> int:
        return await store.write(a_change(scope, beginning(record, a_vector(1))))

    run(main())


def test_what_was_handed_in_a_moment_before_the_file_is_closed_is_kept(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            writing = asyncio.create_task(keep(store, a_record(scope, id="a")))
            await asyncio.sleep(0)  # it is handed in, and no more
            await store.close()
            await writing
            with pytest.raises(StoreUnavailable):
                await keep(store, a_record(scope, id="b"))
        async with opened(tmp_path / "m.db") as store:
            assert ids(await store.find(everything(scope))) == ["a"]

    run(main())


def test_a_refused_change_takes_nobody_with_it(tmp_path: Path) -> None:
    scope = a_scope()
    taken = a_record(scope, "taken")
    good = records(scope, 20)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await keep(store, taken)
            wanted = [a_change(scope, beginning(record)) for record in good]
            doomed = [
                a_change(scope, beginning(a_record(scope, "before")), beginning(taken)) for _ in range(20)
            ]
            pairs = [change for pair in zip(wanted, doomed, strict=True) for change in pair]
            outcomes = await asyncio.gather(*map(store.write, pairs), return_exceptions=True)
            assert all(isinstance(outcome, int) for outcome in outcomes[::2])
            assert all(isinstance(outcome, Conflict) for outcome in outcomes[1::2])
            assert await store.count(everything(scope)) == 21

    run(main())


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("content", "half a \ud83d pair", InvalidRequest),
        ("source", "half a \ud83d pair", InvalidRequest),
        ("occurred_at", 2**63, InvalidRequest),
        ("metadata", {"k": object()}, TypeError),
    ],
)
def test_what_no_row_can_hold_is_refused_and_takes_nobody_with_it(
    tmp_path: Path, field: str, value: Any, error: type[Exception]
) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            bad = a_record(scope, **{field: value})
            outcomes = await asyncio.gather(
                keep(store, a_record(scope, id="a")),
                keep(store, bad),
                keep(store, a_record(scope, id="b")),
                return_exceptions=True,
            )
            assert isinstance(outcomes[1], error)
            assert ids(await store.find(everything(scope))) == ["a", "b"]

    run(main())


def test_a_caller_that_gives_up_leaves_a_whole_write_behind(tmp_path: Path) -> None:
    scope = a_scope()
    kept = records(scope, 50)

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            tasks = [asyncio.create_task(store.write(a_change(scope, beginning(r)))) for r in kept]
            await asyncio.sleep(0)
            for task in tasks[::2]:
                task.cancel()
            outcomes = await asyncio.gather(*tasks, return_exceptions=True)
            assert any(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
            await keep(store, a_record(scope, "afterwards"))
            assert await store.count(everything(scope)) == 51

    run(main())


def test_a_writer_outlives_the_loop_of_an_abandoned_write() -> None:
    scope = a_scope()
    store = SqliteStore(Location(path=None), SPACE)

    async def abandon() -> None:
        waiting = asyncio.create_task(store.write(a_change(scope, beginning(a_record(scope, id="a")))))
        await asyncio.sleep(0)
        waiting.cancel()

    async def later() -> list[str]:
        await keep(store, a_record(scope, id="b"))
        found = ids(await store.find(everything(scope)))
        await store.close()
        return found

    with store.file.writing.borrow():  # the writer must wait until the loop is gone
        run(abandon())
    assert run(later()) == ["a", "b"]


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await store.close()
            await store.close()
            for refused in (
                store.write(a_change(scope)),
                store.get(scope, ["x"]),
                store.touch(scope, ["x"], NOW),
                store.health(),
            ):
                with pytest.raises(StoreUnavailable, match="closed"):
                    await refused

    run(main())


def test_closing_writes_what_waits(tmp_path: Path) -> None:
    scope = a_scope()

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            waiting = [asyncio.create_task(keep(store, record)) for record in records(scope, 200)]
            await asyncio.sleep(0)
            await store.close()
            await asyncio.gather(*waiting)
        async with opened(tmp_path / "m.db") as store:
            assert await store.count(everything(scope)) == 200

    run(main())


def test_a_file_held_too_long_by_another_is_busy_and_can_still_be_read(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    scope = a_scope()

    async def main() -> None:
        async with opened(path, retry_policy=RetryPolicy(budget=0.3)) as store:
            await keep(store, a_record(scope, id="before"))
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")
            started = time.monotonic()
            with pytest.raises(StoreBusy):
                await keep(store, a_record(scope, id="refused"))
            assert time.monotonic() - started >= 0.3
            assert ids(await store.find(everything(scope))) == ["before"]
            other.execute("ROLLBACK")
            await keep(store, a_record(scope, id="later"))
            assert ids(await store.find(everything(scope))) == ["before", "later"]
            other.close()

    run(main())


def test_a_file_held_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    scope = a_scope()

    async def main() -> None:
        async with opened(path) as store:
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")
            writing = asyncio.create_task(keep(store, a_record(scope)))
            await asyncio.sleep(0.2)
            assert not writing.done()
            other.execute("ROLLBACK")
            await writing
            other.close()

    run(main())


def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    scope = a_scope()

    def small(location: Location) -> apsw.Connection:
        db = connect(location)
        db.execute("PRAGMA max_page_count = 60").fetchall()
        return db

    async def fill(store: SqliteStore, kept: list[str]) -> None:
        for record in records(scope, 500, "x" * 900):
            await keep(store, record)
            kept.append(record.id)

    async def main() -> None:
        kept: list[str] = []
        async with opened(path, connect=small) as store:
            with pytest.raises(StoreUnavailable, match="full") as refusal:
                await fill(store, kept)
            assert "space" in str(refusal.value.fix)
            assert ids(await store.find(everything(scope), limit=500)) == sorted(kept)
            assert (await store.health())["ok"]
        async with opened(path) as store:
            await keep(store, a_record(scope))
            assert await store.count(everything(scope)) == len(kept) + 1
        assert len(kept) > 5

    run(main())


def test_recalls_wait_in_memory_and_are_written_at_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "_IDLE_SECONDS", 3600.0)  # no moment is idle enough before the close
    path = tmp_path / "m.db"
    kept, other = a_record(a_scope()), a_record(a_scope())

    async def main() -> None:
        async with opened(path) as store:
            await keep(store, kept)
            await store.touch(kept.scope, [kept.id], NOW + 5)
            await store.touch(kept.scope, [kept.id], NOW + 3)
            assert rows(path, "SELECT * FROM recall") == []
            assert (await store.get(kept.scope, [kept.id]))[0].recalled_at == NOW + 5
            assert await store.recalls([kept, other]) == [2, 0]
        assert rows(path, "SELECT id, at, count FROM recall") == [(kept.id, NOW + 5, 2)]
        async with opened(path) as store:
            await store.touch(kept.scope, [kept.id], NOW + 6)
            assert await store.recalls([other, kept]) == [0, 3]

    run(main())


def test_recalls_are_written_with_the_next_change(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    kept = a_record(a_scope())

    async def main() -> None:
        async with opened(path) as store:
            await keep(store, kept)
            await store.touch(kept.scope, [kept.id], NOW + 5)
            await keep(store, a_record(a_scope()))
            assert rows(path, "SELECT id, at, count FROM recall") == [(kept.id, NOW + 5, 1)]

    run(main())


def test_recalls_are_written_when_nothing_else_happens(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    kept = a_record(a_scope())

    async def written() -> bool:
        return bool(rows(path, "SELECT id FROM recall"))

    async def main() -> None:
        async with opened(path) as store:
            await keep(store, kept)
            await store.touch(kept.scope, [kept.id], NOW + 5)
            await until(written)

    run(main())


def test_recalls_that_could_not_be_written_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    kept = a_record(a_scope())

    async def main() -> None:
        async with opened(path, retry_policy=RetryPolicy(budget=0.05)) as store:
            await keep(store, kept)
            other = apsw.Connection(str(path))
            other.execute("BEGIN IMMEDIATE")
            await store.touch(kept.scope, [kept.id], NOW + 5)
            with pytest.raises(StoreBusy):
                await store.count(everything(kept.scope, idle_since=NOW))
            other.execute("ROLLBACK")
            other.close()
            assert (await store.get(kept.scope, [kept.id]))[0].recalled_at == NOW + 5
            assert await store.count(everything(kept.scope, idle_since=NOW)) == 0

    run(main())


def test_the_file_itself_refuses_a_second_live_version(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        async with opened(path) as store:
            await keep(store, a_record(a_scope()))

    run(main())
    copied = (
        "INSERT INTO version SELECT NULL, tenant, agent, user, id, 2, began, ended, reason, into_id, type, "
        "standing, confidence, created_at, updated_at, occurred_at, expires_at, trust, source, session, "
        "digest, length, structured, tags, metadata, supersedes, merged_from, derived_from, content, "
        "vector, terms, checksum, vector_checksum FROM version"
    )
    with pytest.raises(apsw.ConstraintError, match="UNIQUE"):
        rows(path, copied)
