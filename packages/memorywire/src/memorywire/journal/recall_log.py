"""The recall log and its buffer: a recall does not wait for the disk, and a crash loses no entry.

Each recall is appended to a file of this process before it is answered. The file survives the death of the
process, and the journal writes the recalls with its next transaction. Only a power failure before that can
lose one.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.backend import Session
from memorywire.journal.entries import Entry, build_draft
from memorywire.journal.ledger import append
from memorywire.model.codec import load, write_json
from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.proposal import RecallNote
from memorywire.model.record import Scope
from memorywire.runtime.files import is_named, lock, open_private, remove_locked


class RecallBuffer:
    """Recall notes that wait for the writer; without a path they are only in memory."""

    def __init__(self, path: Path | None) -> None:
        self._lock = Lock()
        self._new: list[RecallNote] = []
        self._taken: list[RecallNote] = []
        self._path = path
        self._handle: int | None = None

    def __bool__(self) -> bool:
        return bool(self._new)

    def add(self, note: RecallNote) -> None:
        """Add a note; raises StoreUnavailable if that fails, and then the recall must not be answered.

        Raises InvalidRequest for a note that JSON cannot represent: if it were found later, it would
        repeatedly fail every write in the same transaction.
        """
        try:
            line = f"{_encode_note(note)}\n".encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest("the text contains a lone surrogate") from error
        if not _is_finite(note):
            raise InvalidRequest("a number in the entry is not finite")
        with self._lock:
            self._keep(line)
            self._new.append(note)

    def _keep(self, line: bytes) -> None:
        if self._path is None:
            return
        try:
            if self._handle is None:
                self._handle = _create_file(self._path)
            _append(self._handle, line)
        except OSError as error:
            raise StoreUnavailable(
                f"the recall cannot be recorded: {error.strerror}", fix="check free space and permissions"
            ) from error

    def write(self, db: Session) -> None:
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
        """Close after the last write; a file that still has notes remains for the next process."""
        if self._handle is None or self._path is None:
            return
        if os.fstat(self._handle).st_size == 0:
            remove_locked(self._path, self._handle)
        else:
            os.close(self._handle)
        self._handle = None


def write_notes(db: Session, notes: Sequence[RecallNote]) -> None:
    """Write notes to the recall log and the ledger; notes that are already there are skipped."""
    drafts = []
    for note in notes:
        row = {
            "tenant": note.scope.tenant,
            "agent": note.scope.agent,
            "user": note.scope.user,
            "id": note.id,
            "at": note.at,
            "caller": note.caller,
            "verdict": note.verdict,
            "count": len(note.hits),
            "query": note.query,
            "hits": json.dumps(note.hits, ensure_ascii=False),
            "details": json.dumps(note.details, ensure_ascii=False) if note.details is not None else None,
        }
        if db.execute("add_recall", row):
            entry = Entry(
                at=note.at,
                operation="recall",
                scope=note.scope,
                actor=note.caller,
                kind="recalled",
                subject=note.id,
                details={"hits": note.hits, "verdict": note.verdict},
            )
            drafts.append(build_draft(entry))
    append(db, drafts)


class Orphan(Struct, frozen=True):
    """The buffer file of an ended process, locked until `bury` or `leave`."""

    notes: Sequence[RecallNote]
    _path: Path
    _handle: int

    def bury(self) -> None:
        """Delete the file, because its notes are in the journal."""
        remove_locked(self._path, self._handle)

    def leave(self) -> None:
        """Keep the file for the next process, because its notes are not in the journal."""
        os.close(self._handle)


def find_orphans(journal: Path) -> Iterator[Orphan]:
    """Yield the files of ended processes; the file of a live process is locked by it and skipped."""
    for path in sorted(journal.parent.glob(f"{journal.name}-recalls-*")):
        try:
            handle = open_private(path, os.O_RDWR)
        except FileNotFoundError:  # its process, or another one that adopts it, deleted it
            continue
        if lock(handle, 0) and is_named(path, handle):
            yield Orphan(_read_notes(path), path, handle)
        else:
            os.close(handle)


def _read_notes(path: Path) -> list[RecallNote]:
    """Read the complete lines of a file; an incomplete one belongs to a recall that was never answered."""
    *whole, _ = path.read_bytes().split(b"\n")
    return [_replace_infinite(load(RecallNote, json.loads(line))) for line in whole]


def _encode_note(note: RecallNote) -> str:
    """Encode the note as JSON for `loads`; hand-written for speed, because the caller waits for it."""
    scope = note.scope
    return write_json(
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


def _replace_infinite(note: RecallNote) -> RecallNote:
    """Replace scores that are not finite by 0: earlier releases wrote them, and the journal rejects them."""
    if _is_finite(note):
        return note
    hits = [(id, version, score if isfinite(score) else 0.0) for id, version, score in note.hits]
    return replace(note, hits=tuple(hits))


def _append(handle: int, line: bytes) -> None:
    """Append the whole line or, on an error, nothing, so that the next line starts on its own."""
    rest = line
    try:
        while rest:
            rest = rest[os.write(handle, rest) :]
    except OSError:
        os.ftruncate(handle, os.fstat(handle).st_size - len(line) + len(rest))
        raise


def _create_file(path: Path) -> int:
    """Create and lock the file of this process; others treat an unlocked one as an orphan."""
    while True:
        handle = open_private(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        lock(handle, inf)
        if is_named(path, handle):
            return handle
        os.close(handle)  # another process deleted the empty file before it was locked


def find_recall(db: Session, tenant: str, id: str) -> RecallNote | None:
    row = db.row("recall", {"tenant": tenant, "id": id})
    return None if row is None else _read_recall(row)


def list_recalls(db: Session, filters: Mapping[str, Any]) -> list[RecallNote]:
    return [_read_recall(row) for row in db.rows("recalls", filters)]


def drop_queries(db: Session, before: int) -> None:
    """Delete the query texts of recalls before that time."""
    db.execute("drop_queries", {"before": before})
    db.schedule_scrub()


def _read_recall(row: tuple[Any, ...]) -> RecallNote:
    id, tenant, agent, user, at, caller, query, verdict, hits, details = row
    return RecallNote(
        id=id,
        at=at,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        caller=caller,
        query=query or "",
        verdict=verdict,
        hits=tuple((hit[0], hit[1], hit[2]) for hit in json.loads(hits)),
        details=None if details is None else json.loads(details),
    )
