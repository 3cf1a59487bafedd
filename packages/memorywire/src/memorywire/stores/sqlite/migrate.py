"""Migrates a file to the schema of this release, one numbered migration per transaction."""

import apsw
from msgspec.structs import asdict

from memorywire.model.errors import SpaceMismatch, StoreCorrupt, StoreNewer
from memorywire.model.space import Space
from memorywire.search.text import EDITION
from memorywire.stores.document import Scripts, migrations
from memorywire.stores.sqlite.connection import RetryPolicy, log_ahead, writing
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.sql import QUERIES

APPLICATION_ID = 0x4D656D77  # "Memw"


def add_tables(db: apsw.Connection, name: str, scripts: Scripts) -> None:
    """Apply the missing scripts of the component `name`, inside a transaction of the caller.

    For further tables in a store's file, with a version per name: the file's `user_version` is the store's.
    """
    newest = scripts[-1][0]
    present = int(db.execute(QUERIES["tables_seen"], {"key": f"tables {name}"}).get or 0)
    if present > newest:
        raise StoreNewer(
            f"the file has {name} tables {present}; this release knows up to {newest}",
            fix="upgrade memorywire, or open the file with the release that wrote it",
        )
    for number, script in scripts:
        if number > present:
            db.execute(script)
    db.execute(QUERIES["tables_kept"], {"key": f"tables {name}", "number": newest})


def migrate(db: apsw.Connection, location: Location, space: Space, retry_policy: RetryPolicy) -> None:
    """Migrate the file and set its embedding space, or raise and leave it unchanged.

    Can be repeated: it raises apsw.BusyError while another process locks the file exclusively.
    """
    bring_up_to_date(db, location, retry_policy)
    _settle_space(db, location, space, retry_policy)


def bring_up_to_date(db: apsw.Connection, location: Location, retry_policy: RetryPolicy) -> None:
    """Apply the missing migrations, whatever the embedding space of the file is."""
    _refuse_strangers(db, location)
    if location.path is not None:
        log_ahead(db, location)
    for number, script in migrations(__package__):
        if _user_version(db) < number:
            _apply(db, location, retry_policy, number, script)


def _apply(
    db: apsw.Connection, location: Location, retry_policy: RetryPolicy, number: int, script: str
) -> None:
    with writing(db, retry_policy):
        _refuse_strangers(db, location)
        if _user_version(db) < number:  # another process may have applied it
            try:
                db.execute(script)
            except apsw.SQLError as error:
                raise StoreCorrupt(
                    f"{location} does not have the schema of its version: {error}", fix="restore a backup"
                ) from error
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number}")


def _refuse_strangers(db: apsw.Connection, location: Location) -> None:
    newest = migrations(__package__)[-1][0]
    present = _user_version(db)
    empty = present == 0 and db.execute("SELECT count(*) FROM sqlite_schema").get == 0
    if not empty and db.execute("PRAGMA application_id").get != APPLICATION_ID:
        raise StoreCorrupt(
            f"{location} is a database of another application",
            fix="choose a path that does not exist yet, or one that memorywire wrote",
        )
    if present > newest:
        raise StoreNewer(
            f"{location} has schema {present}; this release knows up to {newest}",
            fix="upgrade memorywire, or open the file with the release that wrote it",
        )


def _user_version(db: apsw.Connection) -> int:
    return int(db.execute("PRAGMA user_version").get)


def _settle_space(db: apsw.Connection, location: Location, space: Space, retry_policy: RetryPolicy) -> None:
    stored = read_space(db)
    if stored is None:
        with writing(db, retry_policy):
            settings = {**asdict(space), "words": EDITION}
            db.executemany(QUERIES["keep_meta"], [(key, str(value)) for key, value in settings.items()])
            stored = read_space(db)
    if stored != space:
        raise SpaceMismatch(
            f"{location} holds vectors of {stored}, but the embedder makes {space}",
            fix=f"open it with the embedder of {stored}, or run: memorywire reembed --store {location.url}",
        )


def read_space(db: apsw.Connection) -> Space | None:
    """Return the embedding space of the file's vectors, or None if it is not set."""
    meta = {str(key): str(value) for key, value in db.execute(QUERIES["all_meta"])}
    if "model" not in meta:
        return None
    return Space(
        model=meta["model"],
        revision=meta["revision"],
        dimension=int(meta["dimension"]),
        normalised=meta["normalised"] == "True",
    )


def read_words_edition(db: apsw.Connection) -> int:
    """Return the edition of the tokenisation rules by which the file is indexed."""
    return int(db.execute(QUERIES["words_of"]).get or 1)
