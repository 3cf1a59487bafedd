"""Portable file operations: locks between processes, and flushes that reach the disk.

Platform modules are imported on use: Windows has no `fcntl`, the other systems have no `msvcrt`.
"""

import errno
import os
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

PRIVATE = 0o600
_BINARY = getattr(os, "O_BINARY", 0)  # otherwise Windows writes two bytes for a line end
_LOCKED_BYTE = 2**31 - 2  # beyond the content: on Windows no other process can read locked bytes
_PAUSE = 0.02
_PATIENCE = 2.0


def open_private(path: Path, flags: int) -> int:
    """Open a file and return its handle; a created file is accessible by its owner only."""
    return os.open(path, flags | _BINARY, PRIVATE)


def lock(handle: int, seconds: float) -> bool:
    """Lock the file for this handle until it is closed; False if that takes more than `seconds`."""
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
    except OSError as error:  # another's lock gives EACCES, and under Wine no number
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
    os.close(handle)  # Windows cannot delete an open file, so not one that another process opened since
    with suppress(PermissionError):
        path.unlink(missing_ok=True)


def is_named(path: Path, handle: int) -> bool:
    """Whether the path still names the file of this handle, not another file or none."""
    if os.name == "nt":
        return True  # an open file cannot be deleted there
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(handle), path.stat())
    return False


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file atomically, flushed to the disk, readable by its owner only."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = open_private(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    try:
        write(handle, content)
    finally:
        os.close(handle)
    replace(draft, path)


def write(handle: int, content: bytes) -> None:
    """Write all of the content and flush it to the disk."""
    while content:
        content = content[os.write(handle, content) :]
    flush(handle)


def replace(source: Path, target: Path) -> None:
    """Rename a file over another one, and flush the name to the disk."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            source.replace(target)
        except PermissionError:  # on Windows, also if another process reads the target
            if os.name != "nt" or time.monotonic() >= deadline:
                raise
            time.sleep(_PAUSE)
        else:
            return flush_folder(target.parent)


def flush(handle: int) -> None:
    """Flush a file to the disk; on macOS past the cache of the drive, where a plain fsync stops."""
    with suppress(ImportError):
        import fcntl

        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is not None:
            with suppress(OSError):  # a disk without this flush, such as a network drive
                fcntl.fcntl(handle, full)
                return
    os.fsync(handle)


def flush_folder(folder: Path) -> None:
    """Flush the file names of a folder to the disk, if the system can open a folder."""
    with suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            flush(handle)
        finally:
            os.close(handle)


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a file is in the folder after its symbolic link is resolved; True if it is no link."""
    return not path.is_symlink() or path.resolve().is_relative_to(folder.resolve())
