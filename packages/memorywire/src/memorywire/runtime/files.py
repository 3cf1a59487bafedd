"""Files on every system: locks between processes, and flushes that reach the disk.

Nothing here is imported before it is needed: Windows has no `fcntl`, the other systems no `msvcrt`.
"""

import errno
import os
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PRIVATE = 0o600
_BINARY = getattr(os, "O_BINARY", 0)  # else Windows writes two bytes for the end of a line
_LOCKED_BYTE = 2**31 - 2  # beyond the content: on Windows no other process can read locked bytes
_PAUSE = 0.02
_PATIENCE = 2.0


def open_private(path: Path, flags: int) -> int:
    """The handle of a file; one that is created is for its owner alone."""
    return os.open(path, flags | _BINARY, PRIVATE)


def lock(handle: int, seconds: float) -> bool:
    """Whether the file is now locked for this handle, until it is closed; waits at most so long."""
    deadline = time.monotonic() + seconds
    while not _try_lock(handle):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _try_lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return _try_lock_on_windows(handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_on_windows(handle: int) -> bool:
    system: Any = import_module("msvcrt")
    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    try:
        system.locking(handle, system.LK_NBLCK, 1)
    except OSError as error:  # a lock of another is told as EACCES, and under Wine without a number
        if error.errno in (errno.EBADF, errno.EINVAL):
            raise
        return False
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return True


def remove_locked(path: Path, handle: int) -> None:
    """Delete a file that this handle has locked, and close the handle."""
    if os.name != "nt":
        # Before closing, so that the next process that locks the file sees that it is gone.
        path.unlink(missing_ok=True)
        os.close(handle)
        return
    os.close(handle)  # Windows deletes no open file, so not one that another process took meanwhile either
    with suppress(PermissionError):
        path.unlink(missing_ok=True)


def is_named(path: Path, handle: int) -> bool:
    """Whether the path leads to the file of this handle, not to another or none."""
    if os.name == "nt":
        return True  # no open file is deleted there
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def write_whole(path: Path, content: bytes) -> None:
    """Write all of it or nothing, flushed to the disk, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        write(handle, content)
    finally:
        os.close(handle)
    replace(draft, path)


def write(handle: int, content: bytes) -> None:
    """Write all of it, and flush it to the disk."""
    while content:
        content = content[os.write(handle, content) :]
    flush(handle)


def replace(source: Path, target: Path) -> None:
    """Give a file the name of another, which is gone then, and flush the name to the disk."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            source.replace(target)
        except PermissionError:  # on Windows also while another process reads the target
            if os.name != "nt" or time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return flush_folder(target.parent)


def flush(handle: int) -> None:
    """Bring what was written to the disk; the plain flush of macOS stops at the cache of the drive."""
    with suppress(ImportError):
        import fcntl

        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:
            with suppress(OSError):  # a disk that knows no such flush, as over the network
                fcntl.fcntl(handle, full)
                return
    os.fsync(handle)


def flush_folder(folder: Path) -> None:
    """Flush the names of files to the disk, where the system lets a folder be opened."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            flush(handle)
        finally:
            os.close(handle)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether the file itself is in the folder, wherever a link of its name stands."""
    return not path.is_symlink() or path.resolve().is_relative_to(folder.resolve())
