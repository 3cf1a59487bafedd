"""Imports the items of a LangGraph store, from SQLite or from Postgres."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from memorywire.migrate.importers import (
    ImportedMemory,
    Importer,
    Origin,
    Service,
    ServiceImporter,
    Source,
    as_object,
    build_source,
    list_tables,
    parse_time,
    read_rows,
)
from memorywire.model.record import Json
from memorywire_adapters.importers import postgres

_ITEMS = "SELECT * FROM store ORDER BY prefix, key"
_LOSSES = ("vectors: they are made anew here", "that reading an item postpones its end")
_TEXT_FIELDS = ("content", "text", "memory", "data")


def _recognises(path: Path) -> bool:
    tables = list_tables(path)
    return "store" in tables and bool(tables & {"store_migrations", "store_vectors"})


def _read(origin: Origin) -> Source:
    return build_source("langgraph", origin, lambda: _list_items(read_rows(origin.path, _ITEMS)), _LOSSES)


def _list_items(rows: Iterable[Mapping[str, Json]]) -> Iterator[ImportedMemory]:
    """Yield the items in rows of the table `store`."""
    for row in rows:
        value = as_object(row["value"])
        text = next((value[name] for name in _TEXT_FIELDS if isinstance(value.get(name), str)), None)
        at = parse_time(row["created_at"], 0)
        yield ImportedMemory(
            key=f"{row['prefix']}\n{row['key']}",
            content=text or json.dumps(value, ensure_ascii=False, sort_keys=True),
            at=at,
            updated_at=parse_time(row["updated_at"], at),
            expires_at=parse_time(row.get("expires_at"), 0) or None,
            metadata={"namespace": str(row["prefix"]).split("."), "key": row["key"], "value": value},
        )


def _recognises_service(service: Service) -> bool:
    if service.protocol != "postgres":
        return False
    return {"store", "store_migrations"} <= postgres.list_columns(service.url).keys()


def _read_postgres(service: Service) -> Source:
    return build_source(
        "langgraph", service.origin, lambda: _list_items(postgres.read_rows(service.url, _ITEMS)), _LOSSES
    )


IMPORTER = Importer(
    expects="the file of a SqliteStore, with its table `store`",
    recognises=_recognises,
    read=_read,
    service=ServiceImporter(recognises=_recognises_service, readers={"postgres": _read_postgres}),
)
