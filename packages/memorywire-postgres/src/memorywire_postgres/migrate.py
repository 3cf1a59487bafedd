"""Migrates a schema to this release; safe when many processes open it at once."""

import psycopg
from msgspec.structs import asdict
from psycopg import errors, sql

from memorywire.model.errors import SpaceMismatch, StoreCorrupt, StoreNewer, StoreUnavailable
from memorywire.model.space import Space
from memorywire.search.text import EDITION
from memorywire.stores.document import migrations
from memorywire_postgres.database import Connection, fetch, is_pooled, read_only
from memorywire_postgres.location import Location

_LOCK = 0x4D656D77  # "Memw"
_OLDEST_SERVER = 140_000
_OLDEST_VECTOR = (0, 8)


async def migrate(location: Location, space: Space) -> tuple[str, bool]:
    """Create or migrate the schema for this embedding space; raises, and changes nothing, if it does not fit.

    Returns the schema that has pgvector, and whether a pooler is in between. A role without ownership may
    open a schema that its owner has migrated.
    """
    async with await psycopg.AsyncConnection.connect(
        location.primary, autocommit=True, prepare_threshold=None
    ) as db:
        if db.info.server_version < _OLDEST_SERVER:
            raise StoreUnavailable(f"{location} is older than Postgres 14", fix="upgrade the server")
        if not location.has_several_hosts and await _takes_no_writes(db):
            raise read_only(location)
        state = await state_of(db, location)
        if state is None or int(state["schema"]) < migrations(__package__)[-1][0]:
            async with db.transaction():
                state = await _bring_up_to_date(db, location, space)
        _refuse_others(state, location, space)
        return await extension_of(db), await is_pooled(db)


async def _takes_no_writes(db: Connection) -> bool:
    """Return whether the server is a replica or refuses writes on this connection."""
    [(refuses,)] = await fetch(
        db, "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::bool"
    )
    return bool(refuses)


async def state_of(db: Connection, location: Location) -> dict[str, str] | None:
    """Return the content of the table `meta`; None if the schema has no tables of ours yet."""
    meta = sql.Identifier(location.schema, "meta")
    try:
        rows = await (await db.execute(sql.SQL("SELECT key, value FROM {}").format(meta))).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    return dict(rows)


async def _bring_up_to_date(db: Connection, location: Location, space: Space) -> dict[str, str]:
    await db.execute("SELECT pg_advisory_xact_lock(%s, hashtext(%s))", (_LOCK, location.schema))
    exists = await fetch(db, "SELECT to_regclass(%(meta)s) IS NOT NULL", {"meta": f"{location.schema}.meta"})
    state = await state_of(db, location) if exists[0][0] else None  # an error would abort the transaction
    if state is None:
        state = await _begin(db, location, space)
    _refuse_others(state, location, space)
    path = sql.SQL(", ").join(map(sql.Identifier, (location.schema, await extension_of(db))))
    await db.execute(sql.SQL("SET LOCAL search_path = {}").format(path))
    for number, script in migrations(__package__):
        if int(state["schema"]) < number:
            await db.execute(script.replace("{dimension}", state["dimension"]))
            await db.execute("UPDATE meta SET value = %s WHERE key = 'schema'", (str(number),))
            state["schema"] = str(number)
    return state


async def _begin(db: Connection, location: Location, space: Space) -> dict[str, str]:
    """Create an empty schema, install pgvector, and create the table `meta`."""
    schema = sql.Identifier(location.schema)
    tables = (
        "SELECT count(pg_class.oid) FROM pg_namespace LEFT JOIN pg_class ON relnamespace = pg_namespace.oid"
        " WHERE nspname = %(schema)s GROUP BY pg_namespace.oid"
    )
    counts = await fetch(db, tables, {"schema": location.schema})
    if not counts:
        await db.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    elif counts[0][0]:
        raise StoreCorrupt(
            f"{location} holds tables of another application",
            fix="name another schema in the URL: ?schema=memorywire",
        )
    try:
        await db.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise StoreUnavailable(
            f"{location}: the server has no pgvector", fix="install pgvector 0.8 or newer on the server"
        ) from error
    meta = sql.Identifier(location.schema, "meta")
    await db.execute(sql.SQL("CREATE TABLE {} (key text PRIMARY KEY, value text NOT NULL)").format(meta))
    state = {
        "schema": "0",
        "words": str(EDITION),
        **{name: str(value) for name, value in asdict(space).items()},
    }
    for pair in state.items():
        await db.execute(sql.SQL("INSERT INTO {} VALUES (%s, %s)").format(meta), pair)
    return state


def _refuse_others(state: dict[str, str], location: Location, space: Space) -> None:
    newest = migrations(__package__)[-1][0]
    if int(state["schema"]) > newest:
        raise StoreNewer(
            f"{location} has tables of release {state['schema']}; this one knows up to {newest}",
            fix="upgrade memorywire, or open it with the release that wrote it",
        )
    stored = space_of(state)
    if stored != space:
        raise SpaceMismatch(
            f"{location} holds vectors of {stored}, but the embedder makes {space}",
            fix=f"open it with the embedder of {stored}, run memorywire reembed, or name another ?schema=",
        )


def refuse_if_reembedded(now: str | None, space: Space) -> None:
    """Raise SpaceMismatch if the vectors were replaced after this process opened the schema."""
    if now is not None and now != str(space):
        raise SpaceMismatch(
            f"the schema was re-embedded: its vectors are of {now}, no longer of {space}",
            fix="open it again with the embedder that it was re-embedded with",
        )


def space_of(state: dict[str, str]) -> Space:
    """Return the embedding space of a schema's vectors."""
    return Space(
        model=state["model"],
        revision=state["revision"],
        dimension=int(state["dimension"]),
        normalised=state["normalised"] == "True",
    )


async def extension_of(db: Connection) -> str:
    query = (
        "SELECT nspname, extversion FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace"
        " WHERE extname = 'vector'"
    )
    for schema, version in await fetch(db, query):
        if tuple(map(int, version.split(".")[:2])) >= _OLDEST_VECTOR:
            return str(schema)
        raise StoreUnavailable(
            f"the database has pgvector {version}, which is older than 0.8",
            fix="install pgvector 0.8 or newer on the server, then run as its owner:"
            " ALTER EXTENSION vector UPDATE",
        )
    raise StoreUnavailable(
        "the database lacks pgvector 0.8 or newer", fix="as its owner run: CREATE EXTENSION vector"
    )
