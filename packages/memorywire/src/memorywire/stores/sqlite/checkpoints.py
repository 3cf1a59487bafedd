"""Moves the write-ahead log into the file beside the commits, so that no commit has to wait for it."""

import threading
from collections.abc import Callable
from contextlib import closing, suppress

import apsw

from memorywire.model.errors import MemorywireError

_FEW = 256  # pages, which are moved in a millisecond
# After so many pages a new log begins anew for the first time, and a quarter later each time from then on:
# a commit into a part that was written before takes two thirds as long as one that makes the log longer.
_FIRST = 256
_STEP = 1_000  # pages by which a log grows until the thread is called again
_TIMES_TOO_LONG = 4


class Checkpoints:
    """Moves pages of the log on a thread and connection of its own, without holding the interpreter.

    The log starts over only when all of it was moved and nobody wrote meanwhile. So the writer moves the last
    few pages itself; and all of them when the log has grown too long, because the thread cannot keep up or
    cannot work at all. Pages that a reader still needs stay in the log until the next time.
    """

    def __init__(self, watched: apsw.Connection, connect: Callable[[], apsw.Connection]) -> None:
        """Watch the commits of one connection, in place of SQLite's own automatic checkpoints."""
        self._connect = connect
        self._most: int = watched.execute("PRAGMA wal_autocheckpoint").get
        self._often = min(_FIRST, self._most)
        self._pages = 0  # of the log, after the last commit
        self._moved = 0  # of them
        self._begun = 0  # how often the log began anew
        self._next = self._often
        self._door = threading.Lock()
        self._called = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._closed = False
        watched.set_wal_hook(self._grown)

    @property
    def due(self) -> bool:
        """Whether the writer should call `finish`, which takes a moment."""
        if self._pages < self._often:
            return False
        return self._pages - self._moved <= _FEW or self._pages >= _TIMES_TOO_LONG * self._most

    def finish(self, db: apsw.Connection) -> None:
        """Move what is left, as far as nobody needs it in the log."""
        begun = self._begun
        with suppress(apsw.Error):  # it stays where it is, and is safe there
            _, moved = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            if begun == self._begun:
                self._moved = moved

    def close(self) -> None:
        """End the thread."""
        with self._door:
            self._closed = True
            self._called.release()
        if self._thread is not None:
            self._thread.join()

    def _grown(self, db: apsw.Connection, schema: str, pages: int) -> int:
        """Hear of a commit, on the thread that committed."""
        if pages < self._pages:
            self._often = min(self._often + self._often // 4, self._most)
            self._moved, self._next = 0, self._often
            self._begun += 1
        self._pages = pages
        if pages >= self._next and not self.due:
            self._next = pages + _STEP
            self._call()
        return apsw.SQLITE_OK

    def _call(self) -> None:
        with self._door:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memorywire checkpoints", daemon=True)
                self._thread.start()
            self._called.release()

    def _work(self) -> None:
        # Without it whoever writes does everything.
        with suppress(apsw.Error, OSError, MemorywireError), closing(self._connect()) as db:
            while self._called.acquire() and not self._closed:
                self.finish(db)
