"""Recalls on their way into the journal, so that a reader waits for no disk and a crash loses nothing.

Each note is appended to a file of this process before the recall is answered. The kernel keeps it when the
process dies, and the journal takes it over with its next transaction. Only a power failure within that moment
can lose it.
"""

import os
from collections.abc import Iterator, Sequence
from math import isfinite
from pathlib import Path
from threading import Lock

import apsw
from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.canonical import encoded
from memorywire.journal.entries import Entry, draft
from memorywire.journal.ledger import append
from memorywire.journal.rows import QUERIES, recall_row
from memorywire.model.codec import encoder, loads
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.proposal import RecallNote

_PRIVATE = 0o600
_written = encoder()


class RecallBuffer:
    """Notes that recalls add and the writer writes; without a path they live in memory alone."""

    def __init__(self, path: Path | None) -> None:
        self._lock = Lock()
        self._new: list[RecallNote] = []
        self._taken: list[RecallNote] = []
        self._path = path
        self._handle: int | None = None

    def __bool__(self) -> bool:
        return bool(self._new)

    def add(self, note: RecallNote) -> None:
        """Keep a note; raises StoreUnavailable when that fails, and then the recall must not be answered.

        A note that JSON cannot spell is refused as InvalidRequest here. Found out later, it would fail every
        write that shares its transaction, again and again.
        """
        line = encoded(f"{_spelled(note)}\n")
        if not _is_finite(note):
            raise InvalidRequest("a number of the entry is not finite")
        with self._lock:
            self._keep(line)
            self._new.append(note)

    def _keep(self, line: bytes) -> None:
        if self._path is None:
            return
        try:
            if self._handle is None:
                self._handle = _created(self._path)
            _append(self._handle, line)
        except OSError as error:
            raise StoreUnavailable(
                f"the recall cannot be written down: {error.strerror}", fix="check free space and permissions"
            ) from error

    def write(self, db: apsw.Connection) -> None:
        with self._lock:
            self._taken, self._new = self._new, []
        write_notes(db, self._taken)

    def settle(self) -> None:
        with self._lock:
            self._taken = []
            if self._handle is not None and not self._new:
                os.ftruncate(self._handle, 0)

    def give_back(self) -> None:
        with self._lock:
            self._new = self._taken + self._new
            self._taken = []

    def close(self) -> None:
        """Close after the last write; a file that still holds notes stays for the next process."""
        if self._handle is None or self._path is None:
            return
        if os.fstat(self._handle).st_size == 0:
            self._path.unlink(missing_ok=True)
        os.close(self._handle)
        self._handle = None


def write_notes(db: apsw.Connection, notes: Sequence[RecallNote]) -> None:
    """Write notes into the recall log and the ledger, each once, however often it is brought."""
    fresh = []
    for note in notes:
        db.execute(QUERIES["add_recall"], recall_row(note))
        if db.changes():
            fresh.append(draft(_entry(note)))
    append(db, fresh)


def _entry(note: RecallNote) -> Entry:
    return Entry(
        at=note.at,
        operation="recall",
        scope=note.scope,
        actor=note.caller,
        kind="recalled",
        subject=note.id,
        details={"hits": [list(hit) for hit in note.hits], "verdict": note.verdict},
    )


class Orphan(Struct, frozen=True):
    """The file of a process that is gone, locked until it is buried or left."""

    notes: Sequence[RecallNote]
    _path: Path
    _handle: int

    def bury(self) -> None:
        """Delete the file, because its notes are in the journal."""
        self._path.unlink(missing_ok=True)
        os.close(self._handle)

    def leave(self) -> None:
        """Keep the file for the next process, because its notes are not in the journal."""
        os.close(self._handle)


def orphans(journal: Path) -> Iterator[Orphan]:
    """The files that ended processes left behind; a file whose process lives is locked by it."""
    import fcntl  # there is none on Windows, where the embedded journal does not run

    for path in sorted(journal.parent.glob(f"{journal.name}-recalls-*")):
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:  # its process, or another heir, was faster
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            continue
        yield Orphan(_notes(path), path, handle)


def _notes(path: Path) -> list[RecallNote]:
    """The complete lines of a file; an incomplete one belongs to a recall that was never answered."""
    *whole, _ = path.read_bytes().split(b"\n")
    return [_finite(loads(RecallNote, line.decode())) for line in whole]


def _spelled(note: RecallNote) -> str:
    """For `loads`, but without the search for what a value is made of: somebody waits for the answer."""
    scope = note.scope
    return _written(
        {
            "id": note.id,
            "at": note.at,
            "scope": {"agent": scope.agent, "user": scope.user, "tenant": scope.tenant},
            "caller": note.caller,
            "query": note.query,
            "verdict": note.verdict,
            "hits": note.hits,
            "details": note.details,
        }
    )


def _is_finite(note: RecallNote) -> bool:
    return all(isfinite(score) for _, _, score in note.hits)


def _finite(note: RecallNote) -> RecallNote:
    """The note with 0 for scores that are no numbers, which earlier releases left and no journal takes."""
    if _is_finite(note):
        return note
    hits = [(id, version, score if isfinite(score) else 0.0) for id, version, score in note.hits]
    return replace(note, hits=tuple(hits))


def _append(handle: int, line: bytes) -> None:
    """Append all of the line or nothing of it, so that the next line stands by itself."""
    rest = line
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
    except OSError:
        os.ftruncate(handle, os.fstat(handle).st_size - len(line) + len(rest))
        raise


def _created(path: Path) -> int:
    """The file of this process; it gets its name once it is locked, so that nobody takes it for an orphan."""
    import fcntl

    fresh = path.with_name(f".{path.name}")
    handle = os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_APPEND, _PRIVATE)
    fcntl.flock(handle, fcntl.LOCK_EX)
    fresh.replace(path)
    return handle
