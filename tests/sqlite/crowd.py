"""Processes that share one file: writers that report every acknowledged change, and readers.

Everything they write is a function of a name, so that whoever looks afterwards knows what must be there.
"""

import asyncio
import multiprocessing
import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import apsw

from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Scope
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.connection import Connect, RetryPolicy, connect
from memorywire_testing.samples import a_change, a_query, a_record, a_vector, beginning, everything
from tests.sqlite.desk import opened

SCOPE = Scope(agent="crowd")
PUTS = 3  # of every change, so that half a change can be told from a whole one
AT_ONCE = 4
ENDLESS = RetryPolicy(
    budget=600
)  # a crowded machine may take its time; only a caller that sees a lock is wrong

# Children start from a process that has imported everything already: a trial takes a blink.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([__name__])


def preload(module: str) -> None:
    """Let children start from a process that has imported this, too, and what was started itself."""
    _CONTEXT.set_forkserver_preload(["__main__", __name__, module])


def the_change(name: str) -> Change:
    """The change of this name: always the same, so that writing it twice is a retry."""
    records = [a_record(SCOPE, f"{name} part {part}", id=f"{name}/{part}") for part in range(PUTS)]
    return a_change(
        SCOPE, *(beginning(record, a_vector(1, part)) for part, record in enumerate(records)), id=name
    )


def start(work: Callable[..., None], *args: object) -> tuple[BaseProcess, Connection]:
    """A process doing `work(*args, pipe)`, and the end of the pipe to read from."""
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=work, args=(*args, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def heard(pipe: Connection) -> Iterator[str]:
    """Everything a process said, until it ended."""
    while True:
        try:
            yield pipe.recv()
        except EOFError:
            return


def write_some(path: Path, writer: str, count: int, pipe: Connection) -> None:
    """Write `count` changes; say the name of each that was acknowledged, or what went wrong."""

    async def main() -> None:
        async with opened(path, retry_policy=ENDLESS) as store:
            waiting = [f"{writer}-{number}" for number in range(count)]
            await asyncio.gather(*(_work_off(store, waiting, pipe) for _ in range(AT_ONCE)))

    asyncio.run(main())


def open_and_write(path: Path, writer: str, pipe: Connection) -> None:
    """Open a file that may not exist yet, write one change, close."""
    write_some(path, writer, 1, pipe)


async def _work_off(store: SqliteStore, waiting: list[str], pipe: Connection) -> None:
    while waiting:
        name = waiting.pop()
        try:
            await store.write(the_change(name))
        except MemorywireError as error:
            pipe.send(f"error {error}")
        else:
            pipe.send(name)


def read_on(path: Path, pipe: Connection) -> None:
    """Read in every way until killed; say what went wrong."""

    async def main() -> None:
        async with opened(path, retry_policy=ENDLESS) as store:
            pipe.send("reading")
            while True:
                try:
                    found = await store.search(a_query(SCOPE, "part", a_vector(1)), 10)
                    await store.get(SCOPE, [hit.record.id for hit in found])
                    await store.touch(SCOPE, [hit.record.id for hit in found], 1)
                    if await store.count(everything(SCOPE)) % PUTS:
                        pipe.send("error half a change is visible")
                except MemorywireError as error:
                    pipe.send(f"error {error}")

    asyncio.run(main())


def write_for_ever(path: Path, writer: str, how: Connect, pipe: Connection) -> None:
    """Write changes until killed; say the name of each that was acknowledged."""

    async def one(store: SqliteStore, stripe: int) -> None:
        number = stripe
        while True:
            await store.write(the_change(f"{writer}-{number}"))
            pipe.send(f"{writer}-{number}")
            number += AT_ONCE

    async def main() -> None:
        async with opened(path, connect=how, retry_policy=ENDLESS) as store:
            await asyncio.gather(*(one(store, stripe) for stripe in range(AT_ONCE)))

    asyncio.run(main())


@dataclass(frozen=True, slots=True)
class Damage:
    """What a crash must not leave behind."""

    lost: tuple[str, ...] = ()
    torn: tuple[str, ...] = ()
    unindexed: int = 0
    problems: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.lost or self.torn or self.unindexed or self.problems)


def damage(path: Path, acknowledged: set[str]) -> Damage:
    """Compare the file with what it promised."""
    db = apsw.Connection(os.fspath(path))
    try:
        return _compared(db, acknowledged)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        return Damage(problems=(str(error),))
    finally:
        db.close()


def _compared(db: apsw.Connection, acknowledged: set[str]) -> Damage:
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    if problems != ["ok"]:
        return Damage(problems=tuple(problems))  # nothing else in the file can be believed
    sizes = "SELECT c.id, (SELECT count(*) FROM version WHERE began = c.seq) FROM change AS c"
    kept: dict[str, int] = dict(db.execute(sizes).fetchall())
    bare = "SELECT count(*) FROM version WHERE vector IS NULL OR terms IS NULL OR length(terms) = 0"
    orphans = "SELECT count(*) FROM version WHERE began NOT IN (SELECT seq FROM change)"
    return Damage(
        lost=tuple(sorted(acknowledged - kept.keys())),
        torn=tuple(sorted(name for name, count in kept.items() if count != PUTS)),
        unindexed=int(db.execute(bare).get) + int(db.execute(orphans).get),
    )


@contextmanager
def killed_at_the_end(processes: list[BaseProcess]) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):  # it may end by itself just now
                if process.is_alive():
                    os.kill(process.pid or 0, signal.SIGKILL)
            process.join()


def kill_trial(path: Path, trial: int, writers: int, dice: random.Random, how: Connect = connect) -> set[str]:
    """Let writers write, kill them all in the middle of it, and give the names they had acknowledged."""
    started = [start(write_for_ever, path, f"t{trial}w{writer}", how) for writer in range(writers)]
    processes, pipes = [process for process, _ in started], [pipe for _, pipe in started]
    with killed_at_the_end(processes):
        wait(pipes)  # until the first change of all is acknowledged
        processes[0].join(dice.uniform(0.05, 0.3))
    return {name for pipe in pipes for name in heard(pipe)}
