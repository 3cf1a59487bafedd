"""Brings the journal's tables up to date, in a file of their own or beside a store's."""

import apsw

from memorywire.journal import rowstate
from memorywire.journal.rows import QUERIES
from memorywire.model.errors import StoreNewer
from memorywire.stores.sqlite.migrate import migrations

_WITH_DIGESTS = 11  # since this migration the ledger holds digests of rows that are no memories


def bring_up_to_date(db: apsw.Connection) -> None:
    """Apply what the file has not seen, inside the caller's transaction."""
    scripts = migrations(__package__)
    known = scripts[-1][0]
    found = _version(db)
    if found > known:
        raise StoreNewer(
            f"the journal has schema {found}; this release knows up to {known}",
            fix="upgrade memorywire, or open the file with the release that wrote it",
        )
    for number, script in scripts:
        if found < number:
            db.execute(script)
            db.execute(QUERIES["set_version"], (number,))
    if found < _WITH_DIGESTS <= known:
        rowstate.adopt(db)


def is_up_to_date(db: apsw.Connection) -> bool:
    """Whether the tables, which are there, have seen exactly what this release knows."""
    return int(db.execute(QUERIES["version"]).get) == migrations(__package__)[-1][0]


def is_current(db: apsw.Connection) -> bool:
    """Whether the tables are there and up to date."""
    return bool(db.execute(QUERIES["has_version"]).get) and is_up_to_date(db)


def _version(db: apsw.Connection) -> int:
    if not db.execute(QUERIES["has_version"]).get:
        db.execute(QUERIES["begin_version"])
    return int(db.execute(QUERIES["version"]).get)
