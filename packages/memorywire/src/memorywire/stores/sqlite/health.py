"""Finds damage in a file: pages, indexes that do not match their tables, rows, vectors.

All functions here read the whole file.
"""

import stat
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import chain, islice
from pathlib import Path
from zlib import crc32

import apsw

from memorywire.model.change import EndReason
from memorywire.model.errors import StoreCorrupt
from memorywire.model.record import Json
from memorywire.search.text import EDITION
from memorywire.stores.document import migrations
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.migrate import read_space, read_words_edition
from memorywire.stores.sqlite.rows import (
    CHANGE,
    RECORD,
    Row,
    checksum_end,
    checksum_row,
    checksum_vector,
    index_terms,
    read_record,
)
from memorywire.stores.sqlite.segments import find_damaged_segments
from memorywire.stores.sqlite.sql import QUERIES

_MOST = 5  # the maximum number of reported problems
_BATCH = 4096
_REASONS = frozenset(reason.value for reason in EndReason)


def find_damage(db: apsw.Connection) -> list[str]:
    """Return the problems of the file as texts; empty if all pages, indexes, rows and vectors are valid."""
    return find_damaged_pages(db) or find_damaged_rows(db)


def find_damaged_pages(db: apsw.Connection) -> list[str]:
    """Return the problems of pages and indexes; each index is compared with its table."""
    try:
        lines = [row[0] for row in db.execute(f"PRAGMA integrity_check({_MOST})")]
    except apsw.CorruptError as error:
        return [str(error)]
    return [line for line in lines if line != "ok"]


def find_damaged_rows(db: apsw.Connection) -> list[str]:
    """Return the problems of the store's rows: checksums, index terms, vectors and positions."""
    if not db.table_exists("main", "version"):
        return []  # the file has a journal but no store
    problems = chain(_schema_problems(db), _version_problems(db), _other_problems(db))
    return list(islice(problems, _MOST))


def count_unchecked(db: apsw.Connection) -> int:
    """Count the versions without a checksum, which an earlier release wrote."""
    if not db.table_exists("main", "version"):
        return 0
    return int(db.execute(QUERIES["unchecked_rows"]).get)


def _schema_problems(db: apsw.Connection) -> Iterator[str]:
    present = _schema(db)
    for name, sql in _expected_schema().items():
        if present.get(name) != sql:
            yield f"the schema of {name} is not the one of this release"
    if read_words_edition(db) > EDITION:
        yield "the edition of the index terms is unknown"


@cache
def _expected_schema() -> dict[str, str]:
    with closing(apsw.Connection(":memory:")) as db:
        for _, script in migrations(__package__):
            db.execute(script).fetchall()
        return _schema(db)


def _schema(db: apsw.Connection) -> dict[str, str]:
    return {str(name): str(sql) for name, sql in db.execute(QUERIES["schema"])}


def _version_problems(db: apsw.Connection) -> Iterator[str]:
    space, is_current = read_space(db), read_words_edition(db) == EDITION
    for batch in _batches(db):
        for row in batch:
            problem = _row_problem(row) or (is_current and _term_problem(row))
            if problem:
                yield f"version {row[4]} of {row[3]}: {problem}"
        if space is not None:
            yield from _vector_problems(batch, space.dimension)


def _row_problem(row: Row) -> str | None:
    _, ended, reason, into, checksum, vector_sum, _, vector, _ = row[len(RECORD) :]
    if reason is not None and reason not in _REASONS:
        return "it ended for an unknown reason"
    actual = checksum_row(row[: len(RECORD)])
    if ended is not None:
        actual ^= checksum_end(ended, reason, into)
    if checksum is not None and checksum != actual:
        return "it does not match its checksum"
    if vector_sum is not None and vector_sum != checksum_vector(vector):
        return "its vector does not match its checksum"
    return None


def _term_problem(row: Row) -> str | None:
    length, _, terms = row[-3:]
    if terms is None:
        return None  # it was erased
    try:
        actual = index_terms(read_record((*row[: len(RECORD)], None)))
    except StoreCorrupt:
        return "it cannot be read"
    return None if (length, terms) == actual else "its index terms are not those of its words"


def _vector_problems(batch: Sequence[Row], dimension: int) -> Iterator[str]:
    from memorywire.index.vectors import decode_vectors  # numpy is slow to load

    _, _, faults = decode_vectors([row[-2] for row in batch], dimension)
    for row, is_faulty in zip(batch, faults.tolist(), strict=True):
        if is_faulty:
            yield f"version {row[4]} of {row[3]}: its vector is not of length one"


def _other_problems(db: apsw.Connection) -> Iterator[str]:
    for row in db.execute(QUERIES["examined_changes"]):
        if checksum_row(row[: len(CHANGE)]) != row[-1]:
            yield f"change {row[0]} does not match its checksum"
    for id, number, tokens, checksum in db.execute(QUERIES["examined_tokens"]):
        if crc32(tokens) != checksum:
            yield f"version {number} of {id}: its tokens do not match their checksum"
    for (sequence,) in db.execute(QUERIES["misplaced_versions"]):
        yield f"commit {sequence} does not have the versions that it says"
    for (id,) in db.execute(QUERIES["damaged_recall"]):
        yield f"the count of recalls of {id} is damaged"
    for agent in find_damaged_segments(db):
        yield f"a part of the search index of {agent} is damaged, and is not used"


def _batches(db: apsw.Connection) -> Iterator[list[Row]]:
    after = 0
    batch: list[Row]
    while batch := db.execute(QUERIES["examined_versions"], {"after": after, "limit": _BATCH}).fetchall():
        yield batch
        after = int(batch[-1][len(RECORD)])


_SYNCHRONOUS = {0: "off", 1: "normal", 2: "full", 3: "extra"}


def examine(db: apsw.Connection, location: Location) -> dict[str, Json]:
    """Check every page and index, and return the result with statistics for operators."""
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
        "words": read_words_edition(db),
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
