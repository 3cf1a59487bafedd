"""Rows of somebody else's Postgres database, which is read in one snapshot and never written."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Json

if TYPE_CHECKING:
    import psycopg

_AT_ONCE = 500
_TABLES = """
SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
WHERE table_schema = ANY(current_schemas(false)) GROUP BY table_name
"""


def columns(url: str) -> dict[str, frozenset[str]]:
    """The columns of each table that the URL shows by its name alone."""
    with _opened(url) as db:
        return {str(name): frozenset(found) for name, found in db.execute(_TABLES)}


def rows(url: str, query: str, *tables: str) -> Iterator[dict[str, Json]]:
    """The rows of a query, by the names of their columns; `{}` in it stands for a table."""
    with _opened(url) as db, db.cursor(name="rows") as cursor:
        from psycopg import sql

        cursor.itersize = _AT_ONCE
        cursor.execute(sql.SQL(query).format(*map(sql.Identifier, tables)))
        names = [column.name for column in cursor.description or ()]
        for row in cursor:
            yield {name: _plain(value) for name, value in zip(names, row, strict=True)}


@contextmanager
def _opened(url: str) -> "Iterator[psycopg.Connection[Any]]":
    try:
        import psycopg
    except ImportError as error:
        raise StoreUnavailable(
            "reading from Postgres needs psycopg", field="url", fix="pip install 'memorywire[postgres]'"
        ) from error
    try:
        with psycopg.connect(url, connect_timeout=10) as db:
            db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield db
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            "the database cannot be reached", field="url", fix="check its address and the login"
        ) from error
    except psycopg.Error as error:
        said = error.diag.message_primary
        raise InvalidRequest(f"the database is not as expected: {said}", field="url") from error


def _plain(value: Any) -> Json:
    return value.isoformat() if isinstance(value, datetime) else value
