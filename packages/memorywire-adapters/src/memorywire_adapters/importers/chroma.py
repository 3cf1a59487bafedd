"""Imports the documents of Chroma collections from `chroma.sqlite3` or its folder."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.importers import (
    ImportedMemory,
    Importer,
    Origin,
    Source,
    build_source,
    list_tables,
    parse_time,
    read_rows,
)
from memorywire.model.record import Json

_DOCUMENTS = """
SELECT collections.name, embeddings.embedding_id, embeddings.created_at,
  one.key, one.string_value, one.int_value, one.float_value, one.bool_value
FROM embeddings
JOIN segments ON segments.id = embeddings.segment_id
JOIN collections ON collections.id = segments.collection
JOIN embedding_metadata AS one ON one.id = embeddings.id
ORDER BY collections.name, embeddings.embedding_id, one.key
"""
_DOCUMENT = "chroma:document"


def _recognises(path: Path) -> bool:
    return {"collections", "segments", "embedding_metadata"} <= list_tables(_find_database(path))


def _read(origin: Origin) -> Source:
    losses = ("vectors: they are made anew here", "entries without a document")
    return build_source("chroma", origin, lambda: _list_memories(_find_database(origin.path)), losses)


def _find_database(path: Path) -> Path:
    return path / "chroma.sqlite3" if path.is_dir() else path


def _list_memories(path: Path) -> Iterator[ImportedMemory]:
    """Yield one memory per entry. Its rows, one per metadata field, are adjacent."""
    entry: tuple[str, str, Json] | None = None
    metadata: dict[str, Json] = {}
    for row in read_rows(path, _DOCUMENTS):
        name = (str(row["name"]), str(row["embedding_id"]), row["created_at"])
        if entry is not None and name != entry:
            yield from _build_memory(*entry, metadata)
            metadata = {}
        entry = name
        metadata[str(row["key"])] = _read_value(row)
    if entry is not None:
        yield from _build_memory(*entry, metadata)


def _build_memory(
    collection: str, id: str, created_at: Json, metadata: dict[str, Json]
) -> Iterator[ImportedMemory]:
    document = metadata.pop(_DOCUMENT, None)
    if document:
        yield ImportedMemory(
            key=f"{collection}\n{id}",
            content=str(document),
            at=parse_time(metadata.get("created_at"), parse_time(created_at, 0)),
            metadata={**metadata, "collection": collection, "chroma_id": id},
        )


def _read_value(row: dict[str, Json]) -> Json:
    if row["bool_value"] is not None:
        return bool(row["bool_value"])
    values = (row["string_value"], row["int_value"], row["float_value"])
    return next((value for value in values if value is not None), None)


IMPORTER = Importer(
    expects="the folder of a PersistentClient, with chroma.sqlite3", recognises=_recognises, read=_read
)
