"""Erased means gone: from rows, indexes, free pages and the log, and a debt until it is."""

import asyncio
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest

from memorywire.model.change import Base, Put
from memorywire.model.record import Record, Scope
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.connection import connect
from memorywire_testing.samples import (
    SPACE,
    a_change,
    a_query,
    a_record,
    a_scope,
    beginning,
    everything,
    keep,
    revised,
)
from tests.sqlite.desk import bytes_on_disk, careless, opened, rows, run, until

SCOPE = a_scope()


def _secret(number: int) -> str:
    return f"secret{random.Random(number).getrandbits(64):016x}"


def _vector(number: int) -> bytes:
    values = np.random.default_rng(number).normal(size=SPACE.dimension)
    return (values / np.linalg.norm(values)).astype("<f4").tobytes()


def _half(number: int) -> bytes:
    return np.frombuffer(_vector(number), "<f4").astype("<f2").tobytes()


def _record(number: int, filler: int) -> Record:
    """A record that says its secret in every place that holds words."""
    secret = _secret(number)
    return a_record(
        SCOPE,
        f"{secret} content " + "filler " * filler,
        id=f"m{number:04}",
        metadata={"m": f"{secret} metadata"},
        tags=(f"{secret} tag",),
        source=f"{secret} source",
        session_id=f"{secret} session",
    )


async def _remember(store: SqliteStore, number: int, filler: int) -> None:
    """Two versions, so that the past holds the secret too."""
    record = _record(number, filler)
    first = beginning(record, _vector(number))
    await store.write(a_change(SCOPE, first, fingerprint=f"{_secret(number)} fingerprint"))
    second = Put(record=revised(record, metadata={"m": _secret(number)}), base=Base.LIVE, like=1)
    await store.write(a_change(SCOPE, second))


def _erasing(*numbers: int, scope: Scope = SCOPE, **fields: str) -> object:
    return a_change(scope, erase=tuple(f"m{number:04}" for number in numbers), **fields)


def _found(folder: Path, numbers: list[int]) -> list[int]:
    data = bytes_on_disk(folder)
    return [n for n in numbers if _secret(n).encode() in data or _half(n) in data]


@pytest.mark.parametrize("seed", range(3))
def test_no_byte_of_an_erased_record_stays_in_any_file(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    numbers = list(range(60))

    async def main() -> None:
        async with opened(tmp_path / "m.db", synchronous="normal") as store:
            await asyncio.gather(*(_remember(store, n, dice.choice([0, 3, 40, 900])) for n in numbers))
            assert _found(tmp_path, numbers) == numbers
            left = dice.sample(numbers, len(numbers))
            gone: list[int] = []
            while left:
                size = dice.choice([1, 2, 9])
                batch, left = left[:size], left[size:]
                await store.write(_erasing(*batch))
                gone += batch
                assert _found(tmp_path, gone) == []
                assert not (await store.health())["erase_pending"]
            assert (await store.health())["ok"]

    run(main())


def test_an_engine_that_does_not_overwrite_is_caught(tmp_path: Path) -> None:
    async def main() -> list[int]:
        async with opened(tmp_path / "m.db", connect=careless) as store:
            for number in range(20):
                await _remember(store, number, 40)
            await store.write(_erasing(*range(20)))
            return _found(tmp_path, list(range(20)))

    assert run(main())


def test_the_receipt_of_an_erased_record_stays(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await _remember(store, 1, 0)
            await store.touch(SCOPE, ["m0001"], 5)
            await store.write(_erasing(1, id="gone", reason="asked to"))
            chain = await store.history(SCOPE, "m0001")
            assert [(v.number, v.record, v.reason) for v in chain] == [
                (1, None, "erased"),
                (2, None, "erased"),
            ]
            receipt = await store.footprint(SCOPE, "gone")
            assert receipt is not None
            assert receipt.change.reason == "asked to"
        assert rows(tmp_path / "m.db", "SELECT * FROM recall") == []

    run(main())


def test_an_erased_record_leaves_the_search_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await _remember(store, 1, 0)
            query = a_query(SCOPE, _secret(1), _vector(1))
            assert len(await store.search(query, 5)) == 1
            await store.write(_erasing(1))
            assert await store.search(query, 5) == []

    run(main())


def test_a_scope_erases_only_what_it_covers(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await _remember(store, 1, 0)
            for stranger in (
                Scope(agent="other"),
                Scope(agent=SCOPE.agent, user="somebody"),
                Scope(agent=SCOPE.agent, tenant="other"),
            ):
                await store.write(_erasing(1, scope=stranger))
            assert await store.count(everything(SCOPE)) == 1

    run(main())


def _reader_of_another_process(path: Path) -> subprocess.Popen[bytes]:
    """A process that keeps a snapshot, and with it the log, until its input ends."""
    script = (
        "import apsw, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.execute('BEGIN')\n"
        "db.execute('SELECT count(*) FROM version').fetchall()\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


async def _paid(store: SqliteStore) -> bool:
    return not (await store.health())["erase_pending"]


def _let_go(process: subprocess.Popen[bytes]) -> None:
    process.communicate()


@pytest.mark.parametrize("then", ["a write", "an idle moment", "closing", "another process"])
def test_a_log_that_another_process_needs_is_owed_until_it_is_truncated(tmp_path: Path, then: str) -> None:
    path = tmp_path / "m.db"

    async def main() -> None:
        async with opened(path) as store:
            await _remember(store, 1, 40)
            reader = _reader_of_another_process(path)
            await store.write(_erasing(1))
            assert (await store.health())["erase_pending"]
            assert _found(tmp_path, [1]) == [1]
            if then == "another process":
                await store.close()
            _let_go(reader)
            if then == "a write":
                await keep(store, a_record(SCOPE))
            elif then == "an idle moment":
                await until(lambda: _paid(store))
        if then == "another process":
            async with opened(path) as store:
                await keep(store, a_record(SCOPE))
        assert _found(tmp_path, [1]) == []
        async with opened(path) as store:
            assert not (await store.health())["erase_pending"]

    run(main())


def test_a_log_left_by_a_crash_is_truncated_by_whoever_opens_the_file_next(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def crash() -> None:
        async with opened(path) as store:
            await _remember(store, 1, 40)

    run(crash())
    _erase_and_die(path)
    assert _found(tmp_path, [1]) == [1]

    async def main() -> None:
        async with opened(path):
            pass

    run(main())
    assert _found(tmp_path, [1]) == []


def _erase_and_die(path: Path) -> None:
    """A process that commits the erasure and is killed before it truncates the log."""
    script = (
        "import asyncio, os, sys\n"
        "from pathlib import Path\n"
        "from memorywire.model.record import Scope\n"
        "from memorywire.stores.sqlite import writer\n"
        "from tests.sqlite.desk import opened\n"
        "from tests.sqlite.test_erasing import _erasing\n"
        "async def main():\n"
        "    async with opened(Path(sys.argv[1])) as store:\n"
        "        await store.write(_erasing(1, scope=Scope(agent=sys.argv[2])))\n"
        "writer._truncate_log = lambda db: os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), SCOPE.agent], capture_output=True, check=False
    )
    assert done.returncode == -9, done.stderr


def test_a_crowd_of_readers_does_not_leave_words_in_the_log(tmp_path: Path) -> None:
    """Our own readers come and go; the truncation gets its turn between them."""
    path = tmp_path / "m.db"

    async def read(store: SqliteStore, busy: Callable[[], bool]) -> None:
        while busy():
            await store.find(everything(SCOPE))

    async def main() -> None:
        async with opened(path) as store:
            for number in range(30):
                await _remember(store, number, 10)
            going = True
            readers = [asyncio.create_task(read(store, lambda: going)) for _ in range(4)]
            for number in range(30):
                await store.write(_erasing(number))
            going = False
            await asyncio.gather(*readers)
        assert _found(tmp_path, list(range(30))) == []

    run(main())


def test_connections_of_the_store_never_hold_a_snapshot_between_calls(tmp_path: Path) -> None:
    path = tmp_path / "m.db"

    async def main() -> list[tuple[int, ...]]:
        async with opened(path) as store:
            await _remember(store, 1, 0)
            await store.search(a_query(SCOPE, "secret"), 3)
            await store.find(everything(SCOPE))
            other: apsw.Connection = connect(store.file.location)
            answer = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            other.close()
            return answer

    assert run(main()) == [(0, 0, 0)]
