"""The documents of Chroma collections: `chroma.sqlite3`, or the folder it lies in."""

from collections.abc import Iterator
from pathlib import Path

from memorywire.migrate.sources.found import Found, Origin, Source, moment, source
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.record import Json

WANTED = "the folder of a PersistentClient, with chroma.sqlite3"

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


def recognises(path: Path) -> bool:
    return {"collections", "segments", "embedding_metadata"} <= tables(_file(path))


def read(origin: Origin) -> Source:
    losses = ("vectors: they are made anew here", "entries without a document")
    return source("chroma", origin, lambda: _found(_file(origin.path)), losses)


def _file(path: Path) -> Path:
    return path / "chroma.sqlite3" if path.is_dir() else path


def _found(path: Path) -> Iterator[Found]:
    entry: tuple[str, str, Json] | None = None
    said: dict[str, Json] = {}
    for row in rows(path, _DOCUMENTS):
        name = (str(row["name"]), str(row["embedding_id"]), row["created_at"])
        if entry is not None and name != entry:
            yield from _entry(*entry, said)
            said = {}
        entry = name
        said[str(row["key"])] = _value(row)
    if entry is not None:
        yield from _entry(*entry, said)


def _entry(collection: str, id: str, created_at: Json, said: dict[str, Json]) -> Iterator[Found]:
    document = said.pop(_DOCUMENT, None)
    if document:
        kept = moment(created_at, 0)
        yield Found(
            key=f"{collection}\n{id}",
            content=str(document),
            at=moment(said.get("created_at"), kept),
            metadata={**said, "collection": collection, "chroma_id": id},
        )


def _value(row: dict[str, Json]) -> Json:
    if row["bool_value"] is not None:
        return bool(row["bool_value"])
    values = (row["string_value"], row["int_value"], row["float_value"])
    return next((value for value in values if value is not None), None)
