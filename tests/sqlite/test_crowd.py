"""Many processes on one file: nothing is lost, nothing is torn, nobody sees a lock."""

import random
from pathlib import Path

from memorywire_testing.samples import everything
from tests.sqlite.crowd import (
    PUTS,
    SCOPE,
    damage,
    heard,
    kill_trial,
    killed_at_the_end,
    open_and_write,
    read_on,
    start,
    the_change,
    write_some,
)
from tests.sqlite.desk import loose, opened, run

WRITERS, WRITES, READERS = 8, 200, 2
TRIALS, AT_A_TIME = 12, 3


def test_eight_processes_write_and_two_read_one_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    readers = [start(read_on, path) for _ in range(READERS)]
    with killed_at_the_end([process for process, _ in readers]):
        for _, pipe in readers:
            assert pipe.recv() == "reading"
        writers = [start(write_some, path, f"w{number}", WRITES) for number in range(WRITERS)]
        with killed_at_the_end([process for process, _ in writers]):
            said = [list(heard(pipe)) for _, pipe in writers]
    assert [name for names in said for name in names if name.startswith("error")] == []
    assert [len(names) for names in said] == [WRITES] * WRITERS
    assert [said for _, pipe in readers for said in heard(pipe)] == []
    assert not damage(path, {name for names in said for name in names})

    async def count() -> int:
        async with opened(path) as store:
            return await store.count(everything(SCOPE))

    assert run(count()) == WRITERS * WRITES * PUTS


def test_many_processes_may_create_one_file_at_once(tmp_path: Path) -> None:
    for round_ in range(6):
        path = tmp_path / f"{round_}.db"
        writers = [start(open_and_write, path, f"w{number}") for number in range(WRITERS)]
        said = sorted(name for _, pipe in writers for name in heard(pipe))
        for process, _ in writers:
            process.join()
        assert said == [f"w{number}-0" for number in range(WRITERS)]
        assert not damage(path, set(said))


def test_what_was_acknowledged_survives_being_killed(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    dice = random.Random(1)
    acknowledged: set[str] = set()
    trial = 0
    while trial < TRIALS or len(acknowledged) <= TRIALS * AT_A_TIME:
        acknowledged |= kill_trial(path, trial, AT_A_TIME, dice)
        assert not damage(path, acknowledged)
        trial += 1


def test_a_retry_after_being_killed_writes_once(tmp_path: Path) -> None:
    """Whether the last changes were committed is unknown to their writers: writing them again settles it."""
    path = tmp_path / "m.db"
    acknowledged = kill_trial(path, 0, AT_A_TIME, random.Random(2))
    run_in_savepoint = {
        f"t0w{writer}-{number}" for writer in range(AT_A_TIME) for number in range(len(acknowledged) + 9)
    }

    async def retry() -> int:
        async with opened(path) as store:
            first = [await store.write(the_change(name)) for name in sorted(run_in_savepoint)]
            again = [await store.write(the_change(name)) for name in sorted(run_in_savepoint)]
            assert first == again
            return await store.count(everything(SCOPE))

    assert run(retry()) == PUTS * len(run_in_savepoint)
    assert not damage(path, acknowledged | run_in_savepoint)


def test_a_store_without_transactions_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    dice = random.Random(3)

    async def create() -> None:
        async with opened(path):
            pass

    run(create())
    for trial in range(10 * TRIALS):  # one of the first is enough, nearly always
        kill_trial(path, trial, AT_A_TIME, dice, loose)
        if damage(path, set()).torn:
            return
    raise AssertionError("no change was torn, so the other trials prove nothing")
