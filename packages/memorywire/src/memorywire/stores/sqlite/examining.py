"""What a file knows about itself, and whether it is fit for use."""

import stat
from pathlib import Path

import apsw

from memorywire.model.record import Json
from memorywire.stores.sqlite.damage import find_damaged_pages
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import words_of
from memorywire.stores.sqlite.sql import QUERIES

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def examine(db: apsw.Connection, location: Location) -> dict[str, Json]:
    """A full check of every page and index, and the figures an operator asks for."""
    problems = find_damaged_pages(db)
    records, versions, embedded_anew = db.execute(QUERIES["sizes"]).fetchall()[0]
    return {
        "ok": not problems,
        "path": str(location),
        "sqlite": apsw.sqlite_lib_version(),
        "journal_mode": db.execute("PRAGMA journal_mode").get,
        "synchronous": _SYNCHRONOUS[db.execute("PRAGMA synchronous").get],
        "user_version": db.execute("PRAGMA user_version").get,
        "integrity": "; ".join(problems) or "ok",
        "records": records,
        "versions": versions,
        "embedded_anew": embedded_anew,
        "words": words_of(db),
        "erase_pending": db.execute(QUERIES["scrub_owed"]).get is not None,
        **_on_disk(location.path),
    }


def _on_disk(path: Path | None) -> dict[str, Json]:
    if path is None:
        return {"bytes": 0, "wal_bytes": 0, "mode": None}
    log = path.with_name(f"{path.name}-wal")
    return {
        "bytes": path.stat().st_size,
        "wal_bytes": log.stat().st_size if log.exists() else 0,
        "mode": f"{stat.S_IMODE(path.stat().st_mode):04o}",
    }
