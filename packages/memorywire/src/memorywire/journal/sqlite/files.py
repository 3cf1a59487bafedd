"""Database files: backups with keys and checkpoints, and checks of pages, rows and ledger.

A backup is taken while others write, and checked before it gets its name. All functions block: call them in
threads or on the command line.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
from msgspec import Struct
from msgspec.structs import replace as replaced

from memorywire.journal.audit import examine
from memorywire.journal.ledger import count_unsigned, has_ledger, read_head
from memorywire.journal.signer import Signer
from memorywire.journal.sqlite import SqliteSession
from memorywire.model.errors import Conflict, NotFound, StoreCorrupt
from memorywire.runtime.files import PRIVATE
from memorywire.stores.sqlite.connection import RetryPolicy, connect, map_errors, snapshot
from memorywire.stores.sqlite.health import (
    count_unchecked,
    find_damage,
    find_damaged_pages,
    find_damaged_rows,
)
from memorywire.stores.sqlite.location import Location

_BESIDE = ("-wal", "-shm", "-ledger.key", "-checkpoints", "-ledgers")


class Copied(Struct, frozen=True, kw_only=True):
    """The result of a copy: the target, its bytes, its ledger entries, and how many of these are unsigned.

    `replaced` is the new name of the file that was at the target before.
    """

    path: Path
    bytes: int
    entries: int
    exposed: int
    replaced: Path | None = None


def backup(source: Path, target: Path) -> Copied:
    """Copy a snapshot of the database, with its key, its checkpoints and imported ledgers.

    It contains every change that was acknowledged before this call. Writers are not blocked.
    """
    _must_exist(source)
    if target.exists():
        raise Conflict(f"{target} exists", field="file", fix="name a new file")
    signer = Signer.beside(source)
    with signer.still():  # so that no checkpoint covers entries that the copy lacks
        copied = _copy(source, target)
        _copy_files(signer, Signer.beside(target))
    return copied


def restore(source: Path, target: Path, *, replace: bool, aside: str) -> Copied:
    """Replace the database by the backup, after its pages and its ledger were checked.

    An existing file is renamed with the suffix `aside` if `replace` is set; otherwise raises Conflict.
    """
    _must_exist(source)
    check_backup(source)
    if target.exists() and not replace:
        raise Conflict(
            f"{target} exists",
            field="store",
            fix="stop the programs that use it and pass --replace; the old file is renamed",
        )
    if target.exists() and _in_use(target):
        raise Conflict(
            f"{target} is open in another process, which would keep using the old file",
            field="store",
            fix="stop it, for example `memorywire serve`, then restore",
        )
    fresh = target.with_name(f".{target.name}.restored")
    copied = _copy(source, fresh)
    beside = target.with_name(target.name + aside) if target.exists() else None
    if target.exists():
        for end in ("", *_BESIDE):
            _rename(target.with_name(target.name + end), target.with_name(target.name + aside + end))
    fresh.replace(target)
    _copy_files(Signer.beside(source), Signer.beside(target))
    return replaced(copied, path=target, replaced=beside)


def _in_use(path: Path) -> bool:
    """Return whether another connection has the database open: then it cannot be locked exclusively."""
    try:
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as db:
            db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # leaves the WAL file unchanged
            db.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK").fetchall()
    except apsw.BusyError:
        return True
    except apsw.Error:
        return False  # damaged, which is a reason to restore
    return False


def _copy(source: Path, target: Path) -> Copied:
    with _open(source) as original:
        partial = target.with_name(f".{target.name}.partial")
        partial.unlink(missing_ok=True)
        try:
            entries, exposed = _copy_pages(original, partial, target)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    return Copied(path=target, bytes=target.stat().st_size, entries=entries, exposed=exposed)


def _copy_pages(original: apsw.Connection, partial: Path, target: Path) -> tuple[int, int]:
    """Copy every page into one file without WAL, and check the copy.

    Returns the number of its ledger entries, and of the unsigned ones. Errors name the target.
    """
    with map_errors(Location(path=target)), closing(connect(Location(path=partial))) as copy:
        with copy.backup("main", original, "main") as pages:
            RetryPolicy().try_for("copy the database", lambda: pages.step(-1))
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        _refuse_damage(copy, target)
        session = SqliteSession(copy)
        return (read_head(session)[0], count_unsigned(session)[0]) if has_ledger(session) else (0, 0)


@contextmanager
def _open(path: Path) -> Iterator[apsw.Connection]:
    location = Location(path=path)
    with map_errors(location), closing(connect(location)) as db:
        yield db


def check_backup(path: Path) -> None:
    """Raise StoreCorrupt unless pages, rows and ledger of a backup are valid; reads the whole file."""
    with _open(path) as db:
        _refuse_damage(db, path)
        session = SqliteSession(db)
        if not has_ledger(session):
            raise StoreCorrupt(f"{path} has no ledger", fix="name a file that `memorywire backup` wrote")
        with snapshot(db):
            fault = examine(session, Signer.beside(path)).report.fault
    if fault is not None:
        raise StoreCorrupt(f"the ledger in {path} is not valid: {fault.reason}", fix=_way_out(path))


def _refuse_damage(db: apsw.Connection, path: Path) -> None:
    if problems := find_damage(db):
        raise StoreCorrupt(
            f"{path} is damaged: {'; '.join(problems)}",
            fix="use another backup; if there is none, see what can still be read with: memorywire export",
        )


def _way_out(path: Path) -> str:
    """Return a fix for a copy that looks broken: perhaps only its key or checkpoint file is missing."""
    signer = Signer.beside(path)
    missing = [file.name for file in (signer.key, signer.checkpoints) if not file.exists()]
    if not missing:
        return "use another backup"
    return f"put what the backup wrote beside its file beside this one, as {' and '.join(missing)}"


def _copy_files(source: Signer, target: Signer) -> None:
    for old, new in ((source.key, target.key), (source.checkpoints, target.checkpoints)):
        if old.exists():
            shutil.copyfile(old, new)
            os.chmod(new, PRIVATE)
    if source.ledgers.is_dir():
        shutil.copytree(source.ledgers, target.ledgers, dirs_exist_ok=True)


def _rename(old: Path, new: Path) -> None:
    if old.exists():
        old.rename(new)


def _must_exist(path: Path) -> None:
    if not path.is_file():
        raise NotFound(f"there is no database at {path}", field="file")


def find_faults(db: apsw.Connection, signer: Signer) -> list[str]:
    """Return the faults of the database as texts; reads all of it, inside a snapshot of the caller."""
    return find_damaged_pages(db) or _find_faulty_rows(db, signer)


def _find_faulty_rows(db: apsw.Connection, signer: Signer) -> list[str]:
    """Return the faults of rows and ledger, for a database whose pages are valid."""
    faults = find_damaged_rows(db)
    saved, _ = signer.load_checkpoints()
    session = SqliteSession(db)
    if has_ledger(session) or saved:
        fault = examine(session, signer).report.fault
        faults += [] if fault is None else [f"the ledger does not hold: {fault.reason}"]
    return faults


class Check(Struct, frozen=True, kw_only=True):
    """The faults of the rows and the ledger of a file, and how many rows have no checksum.

    `unsigned` is the number of unsigned ledger entries, `unsigned_since` the time of the first one.
    """

    problems: tuple[str, ...]
    unchecked: int
    unsigned: int
    unsigned_since: int | None


def check_file(path: Path) -> Check:
    """Check the rows and the ledger of a database file whose pages are valid."""
    with _open(path) as db, snapshot(db):
        session = SqliteSession(db)
        unsigned, since = count_unsigned(session) if has_ledger(session) else (0, None)
        return Check(
            problems=tuple(_find_faulty_rows(db, Signer.beside(path))),
            unchecked=count_unchecked(db),
            unsigned=unsigned,
            unsigned_since=since,
        )
