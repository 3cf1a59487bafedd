"""Reads SQLite files of other programs; they are opened read-only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json


@contextmanager
def _open(path: Path) -> Iterator[apsw.Connection]:
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        raise InvalidRequest(f"{path.name} cannot be opened", field="file") from error
    try:
        yield db
    except apsw.Error as error:
        raise InvalidRequest(
            f"{path.name} is not as expected: {error}",
            field="file",
            fix="close the programs that use it, or copy it first",
        ) from error
    finally:
        db.close()


def list_tables(path: Path) -> frozenset[str]:
    """Return the names of its tables; empty if it is not a SQLite file."""
    if not path.is_file():
        return frozenset()
    with path.open("rb") as file:
        if file.read(16) != b"SQLite format 3\x00":
            return frozenset()
    with _open(path) as db:
        return frozenset(
            name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        )


def read_rows(path: Path, query: str) -> Iterator[dict[str, Json]]:
    """Return the rows of a query as dicts by column name."""
    with _open(path) as db:
        cursor = db.execute(query)
        for row in cursor:
            yield {column[0]: value for column, value in zip(cursor.description, row, strict=True)}
