"""Notices when the file of an open database was moved, removed or replaced: what is written then is lost."""

import os
import time
from pathlib import Path

from memorywire.model.errors import StoreUnavailable

_SECONDS = 1.0


class Identity:
    """Which file stood under the path when it was opened."""

    __slots__ = ("_file", "_looked_at", "_path")

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None else os.fspath(path)
        self._file = self._present()  # None in memory, and on a file system of a test
        self._looked_at = time.monotonic()

    def check(self) -> None:
        """Raise StoreUnavailable when another file, or none, stands under the path now."""
        if self._file is not None and self._present() != self._file:
            raise StoreUnavailable(
                f"{self._path} was moved, removed or replaced while it was open",
                fix="restart this process, so that it opens the file that is there now",
            )

    def check_now_and_then(self) -> None:
        """The same once a second: for reads, which are many."""
        now = time.monotonic()
        if now - self._looked_at >= _SECONDS:
            self.check()
            self._looked_at = now

    def _present(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino
