"""Backups of the store, in a folder next to its file: create, list, verify and restore."""

import re
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from memorywire.journal.journal import Journal
from memorywire.journal.sqlite import SqliteBackend
from memorywire.journal.sqlite.files import Copied, backup, check_backup, restore
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.pipeline.context import unsupported

FOLDER = "backups"
RESTORED = "restored"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}\.db")


class Backup(Struct, frozen=True, kw_only=True):
    """A backup: the name, time and size of its file."""

    name: str
    at: int
    bytes: int


def find_store(journal: Journal) -> Path | None:
    """Return the file of the store; None if it has none, as with Postgres and in memory."""
    backend = journal.backend
    return backend.path if isinstance(backend, SqliteBackend) else None


def list_backups(store: Path) -> list[Backup]:
    """Return the backups, newest first; blocks."""
    files = [path for path in (store.parent / FOLDER).glob("*.db") if _NAME.fullmatch(path.name)]
    found = [(path.name, path.stat()) for path in files]
    backups = [Backup(name=name, at=int(stat.st_mtime * 1000), bytes=stat.st_size) for name, stat in found]
    return sorted(backups, key=lambda one: -one.at)


def make_backup(store: Path, now: int) -> Copied:
    """Create a backup named after the current time; blocks."""
    moment = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%d-%H%M%S")
    folder = store.parent / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    return backup(store, folder / f"{store.stem}-{moment}.db")


def verify_backup(store: Path, name: str) -> None:
    """Raise StoreCorrupt unless a backup is intact; blocks, and reads all of it."""
    check_backup(_find_backup(store, name))


def restore_backup(store: Path, name: str, target: str) -> Copied:
    """Restore a backup to a new file in the folder `restored`; the store in use is unchanged. Blocks."""
    if _NAME.fullmatch(target) is None:
        fix = "use letters, digits, - and _, and the ending .db, for example monday.db"
        raise InvalidRequest("this is no name of a file", field="target", fix=fix)
    folder = store.parent / RESTORED
    folder.mkdir(mode=0o700, exist_ok=True)
    return restore(_find_backup(store, name), folder / target, replace=False, aside="")


def require_store(journal: Journal) -> Path:
    """Return the file of the store; raises CapabilityUnsupported if it has none."""
    path = find_store(journal)
    if path is None:
        raise unsupported("backup", "this store is not a file; use the tools of its database")
    return path


def _find_backup(store: Path, name: str) -> Path:
    if name not in {one.name for one in list_backups(store)}:
        raise NotFound(f"there is no backup {name}", field="name")
    return store.parent / FOLDER / name
