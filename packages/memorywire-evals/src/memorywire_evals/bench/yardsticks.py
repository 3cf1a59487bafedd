"""What a durable write costs at least: one short row in a file that keeps what it is told, or one flush.

And what a search among all costs at least: every byte that stands for a vector, read once.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np

from memorywire_evals.bench.linear import durable

_PAGE = bytes(4096)
# About what a short memory comes to with its vector, its terms and its ledger entry.
_WHOLE = 2304
_flushed = getattr(os, "fdatasync", os.fsync)  # not every system has the first


class Yardsticks:
    """Files of a folder that are written beside what is measured."""

    def __init__(self, folder: Path) -> None:
        self._logged, self._plain = durable(folder / "bare.db"), apsw.Connection(str(folder / "plain.db"))
        for db in (self._logged, self._plain):
            db.execute("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")
        self._file = os.open(folder / "flushed", os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)

    def insert(self, content: str) -> None:
        """One row, into a file with the settings that our store has: a log written ahead."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_plainly(self, content: str) -> None:
        """One row, into a file as SQLite makes it: with a journal that is deleted at each commit."""
        self._plain.execute("INSERT INTO bare (content) VALUES (?)", (content,))

    def insert_whole(self) -> None:
        """One row as large as all that a remember writes, with the settings that our store has."""
        self._logged.execute("INSERT INTO bare (content) VALUES (?)", (os.urandom(_WHOLE),))

    def flush(self) -> None:
        """One page, on the disk."""
        os.write(self._file, _PAGE)
        _flushed(self._file)

    def close(self) -> None:
        self._logged.close()
        self._plain.close()
        os.close(self._file)


class Codes:
    """As many bytes as our index keeps of so many vectors: one a component, and a number for each vector."""

    def __init__(self, size: int, dimension: int) -> None:
        processors = os.cpu_count() or 1
        words = np.ones(size * (dimension + 4) // 8, np.uint64)  # not zeros, which need no memory
        self._parts = np.array_split(words, processors)
        self._threads = ThreadPoolExecutor(processors)

    def read(self) -> None:
        """All of it, by every processor at once: as fast as the memory gives it."""
        list(self._threads.map(np.max, self._parts))

    def close(self) -> None:
        self._threads.shutdown()
