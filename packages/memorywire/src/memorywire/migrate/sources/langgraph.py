"""The items of a LangGraph store, in SQLite or in Postgres."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from memorywire.migrate.sources.documents import table
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.record import Json

WANTED = "the file of a SqliteStore, with its table `store`"

ITEMS = "SELECT * FROM store ORDER BY prefix, key"
LOSSES = ("vectors: they are made anew here", "that reading an item postpones its end")

_WORDS = ("content", "text", "memory", "data")


def recognises(path: Path) -> bool:
    found = tables(path)
    return "store" in found and bool(found & {"store_migrations", "store_vectors"})


def read(origin: Origin) -> Source:
    return source("langgraph", origin, lambda: items(rows(origin.path, ITEMS)), LOSSES)


def items(found: Iterable[Mapping[str, Json]]) -> Iterator[Found]:
    """What the rows of the table `store` say."""
    for row in found:
        value = table(row["value"])
        words = next((value[name] for name in _WORDS if isinstance(value.get(name), str)), None)
        at = moment(row["created_at"], 0)
        yield Found(
            key=f"{row['prefix']}\n{row['key']}",
            content=words or json.dumps(value, ensure_ascii=False, sort_keys=True),
            at=at,
            updated_at=moment(row["updated_at"], at),
            expires_at=moment(row.get("expires_at"), 0) or None,
            metadata={"namespace": str(row["prefix"]).split("."), "key": row["key"], "value": value},
        )
