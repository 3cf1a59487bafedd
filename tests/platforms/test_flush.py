"""What is flushed reaches the disk, as far as the system lets it."""

import fcntl
import os
from pathlib import Path

import apsw
import pytest

from memorywire.runtime.files import flush, lock, open_private, write_whole
from memorywire.stores.sqlite.connection import connect
from memorywire.stores.sqlite.location import Location

UNKNOWN = 12_345


def test_a_full_flush_is_used_where_the_system_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A command that leaves a trace, the copy of the handle, stands for the one that only macOS knows."""
    handle = open_private(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", fcntl.F_DUPFD, raising=False)
    before = _open_handles()
    flush(handle)
    (copy,) = _open_handles() - before
    assert os.path.samestat(os.fstat(copy), os.fstat(handle))
    os.close(copy)
    os.close(handle)


def _open_handles() -> set[int]:
    return {
        handle for handle in map(int, os.listdir("/proc/self/fd")) if Path(f"/proc/self/fd/{handle}").exists()
    }


def test_a_disk_that_knows_no_full_flush_gets_the_plain_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    handle = open_private(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", UNKNOWN, raising=False)
    flush(handle)
    os.close(handle)
    with pytest.raises(OSError, match="Bad file descriptor"):
        flush(handle)  # it is closed, so the plain flush was tried


def test_sqlite_is_told_to_flush_in_full(tmp_path: Path):
    db: apsw.Connection = connect(Location(path=tmp_path / "m.db"))
    assert db.execute("PRAGMA fullfsync").get == 1
    db.close()


def test_a_file_is_written_whole_and_for_its_owner(tmp_path: Path):
    path = tmp_path / "folder" / "file"
    write_whole(path, b"one\n")
    write_whole(path, b"two\n")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"two\n", 0o600)
    assert list(path.parent.iterdir()) == [path]


def test_a_handle_that_is_refused_leaves_the_lock_to_its_holder(tmp_path: Path):
    first, second = (open_private(tmp_path / "file", os.O_CREAT | os.O_RDWR) for _ in range(2))
    assert [lock(first, 0), lock(second, 0)] == [True, False]
    os.close(first)
    assert lock(second, 0)
    os.close(second)
