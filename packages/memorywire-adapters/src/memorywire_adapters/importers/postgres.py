"""Reads Postgres databases of other products, each query in a read-only snapshot."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memorywire.model.errors import InvalidRequest, StoreUnavailable
from memorywire.model.record import Json
from memorywire.model.text import install_hint

if TYPE_CHECKING:
    import psycopg

_FETCH_ROWS = 500
_TABLES = """
SELECT table_name, array_agg(column_name::text) FROM information_schema.columns
WHERE table_schema = ANY(current_schemas(false)) GROUP BY table_name
"""


def list_columns(url: str) -> dict[str, frozenset[str]]:
    """Return the columns of each table in the search path of the URL, by table name."""
    with _open(url) as db:
        return {str(name): frozenset(columns) for name, columns in db.execute(_TABLES)}


def read_rows(url: str, query: str, *tables: str) -> Iterator[dict[str, Json]]:
    """Yield the rows of a query as dicts by column name; `{}` in the query stands for a table name."""
    with _open(url) as db, db.cursor(name="rows") as cursor:
        from psycopg import sql

        cursor.itersize = _FETCH_ROWS
        cursor.execute(sql.SQL(query).format(*map(sql.Identifier, tables)))
        names = [column.name for column in cursor.description or ()]
        for row in cursor:
            yield {name: _as_json(value) for name, value in zip(names, row, strict=True)}


@contextmanager
def _open(url: str) -> "Iterator[psycopg.Connection[Any]]":
    try:
        import psycopg
    except ImportError as error:
        raise StoreUnavailable(
            "reading from Postgres needs psycopg", field="url", fix=install_hint("memorywire-postgres")
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
        message = error.diag.message_primary
        raise InvalidRequest(f"the database is not as expected: {message}", field="url") from error


def _as_json(value: Any) -> Json:
    return value.isoformat() if isinstance(value, datetime) else value
