"""What a file knows about itself, and whether it is fit for use."""

import stat
from pathlib import Path

import apsw

from memorywire.model.record import Json
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import words_of
from memorywire.stores.sqlite.sql import QUERIES

_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}
_MOST_PROBLEMS = 5


def examine(db: apsw.Connection, location: Location) -> dict[str, Json]:
    """A quick check of every page, and the figures an operator asks for."""
    problems = [row[0] for row in db.execute(f"PRAGMA quick_check({_MOST_PROBLEMS})")]
    records, versions, embedded_anew = db.execute(QUERIES["sizes"]).fetchall()[0]
    return {
        "ok": problems == ["ok"],
        "path": str(location),
        "sqlite": apsw.sqlite_lib_version(),
        "journal_mode": db.execute("PRAGMA journal_mode").get,
        "synchronous": _SYNCHRONOUS[db.execute("PRAGMA synchronous").get],
        "user_version": db.execute("PRAGMA user_version").get,
        "integrity": "ok" if problems == ["ok"] else "; ".join(problems),
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
