"""Brings the journal's tables up to date, in a file of their own or beside a store's."""

import re
from functools import cache

import apsw

from memorywire.journal.rows import QUERIES
from memorywire.model.errors import StoreNewer
from memorywire.model.packaged import folder

_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """The numbered scripts this release knows, in order."""
    found = (folder(__package__) / "migrations").iterdir()
    scripts = ((_NUMBERED.fullmatch(file.name), file) for file in found)
    return tuple(sorted((int(name[1]), file.read_text(encoding="utf-8")) for name, file in scripts if name))


def bring_up_to_date(db: apsw.Connection) -> None:
    """Apply what the file has not seen, inside the caller's transaction."""
    known = migrations()[-1][0]
    found = _version(db)
    if found > known:
        raise StoreNewer(
            f"the journal has schema {found}; this release knows up to {known}",
            fix="upgrade memorywire, or open the file with the release that wrote it",
        )
    for number, script in migrations():
        if found < number:
            db.execute(script)
            db.execute(QUERIES["set_version"], (number,))


def is_up_to_date(db: apsw.Connection) -> bool:
    """Whether the tables, which are there, have seen exactly what this release knows."""
    return int(db.execute(QUERIES["version"]).get) == migrations()[-1][0]


def _version(db: apsw.Connection) -> int:
    if not db.execute(QUERIES["has_version"]).get:
        db.execute(QUERIES["begin_version"])
    return int(db.execute(QUERIES["version"]).get)
