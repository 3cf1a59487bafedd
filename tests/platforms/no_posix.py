"""A process as Windows has them: `python -m tests.platforms.no_posix FILE ARGUMENTS...` runs a script in one.

What only POSIX has cannot be imported or called, folders cannot be opened, and `msvcrt` locks bytes of open
files as it does there. The standard library keeps what it has imported already.
"""

import asyncio
import errno
import fcntl
import logging.handlers
import multiprocessing
import os
import runpy
import struct
import subprocess
import sys
import tempfile
import types
from typing import Any

LOADED = (asyncio, logging.handlers, multiprocessing, subprocess, tempfile)
MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog", "curses")
CALLS = ("fork", "pread", "pwrite", "getuid", "geteuid", "fchmod", "chown", "fdatasync")


def _locking(handle: int, mode: int, count: int) -> None:
    """Lock bytes from the position of the handle on; the lock is the handle's, as it is on Windows."""
    start = os.lseek(handle, 0, os.SEEK_CUR)
    wanted = struct.pack("hhqqi0q", fcntl.F_WRLCK, os.SEEK_SET, start, count, 0)
    try:
        fcntl.fcntl(handle, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError as error:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error


def emulate() -> None:
    system: Any = types.ModuleType("msvcrt")
    system.locking, system.LK_NBLCK = _locking, 2
    really_open = os.open

    def open_file(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        return really_open(path, flags, mode, **more)

    os.open = open_file
    modules: Any = sys.modules
    modules["msvcrt"] = system
    for name in MODULES:
        modules[name] = None  # this is how an import is made to fail
    for name in CALLS:
        delattr(os, name)


if __name__ == "__main__":
    emulate()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
