"""Nothing waits without end: other processes may hold a lock, be stopped, or have lost the key."""

import asyncio
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from memorywire import Memory
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite.files import backup
from memorywire.model.errors import StoreBusy
from tests.cli.shell import Shell

LONG = 25.0
"""Seconds: less than one wait for the write lock of a file, and more than a loaded machine needs."""


@contextmanager
def _signing(path: Path) -> Iterator[None]:
    """Hold the lock on the checkpoints, as a stopped `backup` does."""
    handle = os.open(f"{path}-checkpoints", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Hold the write lock of the file, as a stopped writer does."""
    with closing(apsw.Connection(str(path))) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")


def _remembered(path: Path, text: str = "Ana drinks tea") -> str:
    async def main() -> str:
        async with Memory(stores=f"sqlite://{path}") as memory:
            return (await memory.remember(text)).id

    return asyncio.run(main())


def test_the_lock_on_checkpoints_has_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _remembered(path)
    with _signing(path):
        with (
            pytest.raises(StoreBusy, match="checkpoints"),
            Signer(
                key=tmp_path / "m.db-ledger.key", checkpoints=tmp_path / "m.db-checkpoints", seconds=0.1
            ).still(),
        ):
            raise AssertionError("it was locked twice")
        with pytest.raises(StoreBusy):
            backup(path, tmp_path / "copy.db")


def test_a_remember_ends_while_a_stopped_backup_holds_the_checkpoints(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _remembered(path)
    began = time.monotonic()
    with _signing(path):
        id = _remembered(path, "Ana drinks coffee")
    assert id
    assert time.monotonic() - began < LONG


def test_a_recall_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _remembered(path)

    async def main() -> list[str]:
        async with Memory(stores=f"sqlite://{path}") as memory:
            return [hit.record.text for hit in (await memory.recall("What does Ana drink?")).hits]

    began = time.monotonic()
    with _writing(path):
        assert asyncio.run(main()) == ["Ana drinks tea"]
    assert time.monotonic() - began < LONG
    assert list(tmp_path.glob("m.db-recalls-*")), "the note of the recall waits for the next process"

    async def noted() -> int:
        async with Memory(stores=f"sqlite://{path}") as memory:
            return len((await memory.recalls()).items)

    assert asyncio.run(noted()) == 1
    assert not list(tmp_path.glob("m.db-recalls-*"))


def test_closing_ends_while_a_lock_is_held_and_a_write_waits(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    _remembered(path)

    async def main() -> BaseException | object:
        memory = Memory(stores=f"sqlite://{path}")
        await memory.recall("What does Ana drink?")
        waiting = asyncio.create_task(memory.remember("Ana drinks coffee"))
        await asyncio.sleep(0.3)
        await memory.close()
        [answer] = await asyncio.gather(waiting, return_exceptions=True)
        return answer

    began = time.monotonic()
    with _writing(path):
        assert isinstance(asyncio.run(main()), StoreBusy)
    assert time.monotonic() - began < LONG


@pytest.mark.parametrize("damage", [b"garbage", b""])
def test_a_committed_write_is_answered_although_it_cannot_be_signed(shell: Shell, damage: bytes) -> None:
    shell.remember("Ana drinks tea")
    (shell.home / "memory.db-ledger.key").write_bytes(damage)
    done = shell("remember", "Ana drinks coffee", "--json")
    assert (done.code, done.json["status"]) == (0, "committed"), done.err
    assert "coffee" in shell("list").out
    assert shell("audit", "checkpoint").code != 0


def test_entries_that_stay_unsigned_are_named_by_doctor(shell: Shell) -> None:
    shell.remember("Ana drinks tea")
    (shell.home / "memory.db-ledger.key").write_bytes(b"garbage")

    async def long_ago() -> None:
        stores = f"sqlite://{shell.home}/memory.db"
        async with Memory(stores=stores, clock=lambda: 1_600_000_000_000) as memory:
            await memory.remember("Ana drinks coffee")

    asyncio.run(long_ago())
    (shell.home / "memory.db-ledger.key").unlink()
    told = [finding["what"] for finding in shell("doctor", "--json").json["findings"]]
    assert any("not signed" in what for what in told), told
