"""The memories of Letta: an exported agent file (`.af`), or its database."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.sources.documents import document, table
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source, written_at
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.record import Json

WANTED = "an agent file (.af), or the SQLite file of its server"

_PASSAGES = {
    "archival_passages": "SELECT * FROM archival_passages ORDER BY id",
    "agent_passages": "SELECT * FROM agent_passages ORDER BY id",
}


def recognises(path: Path) -> bool:
    if path.is_file() and path.suffix == ".af":
        return True
    return "block" in (found := tables(path)) and bool(found.intersection(_PASSAGES))


def read(origin: Origin) -> Source:
    path = origin.path
    if path.suffix == ".af":
        losses = ("tools, model settings and the conversation", "when a block was written")
        return source("letta", origin, lambda: _agent_file(path), losses)
    return source("letta", origin, lambda: _database(path), ("tools, model settings and messages", "vectors"))


def _agent_file(path: Path) -> Iterator[Found]:
    said, at = document(path, path.name), written_at(path)
    agents = said.get("agents") or [said]
    for block in [*said.get("blocks", ()), *(one for a in agents for one in a.get("core_memory", ()))]:
        yield from _block(block, at)
    for agent in agents:
        for number, passage in enumerate(agent.get("passages") or ()):
            key = str(passage.get("id") or f"{agent.get('name')}/{number}")
            yield _passage(key, passage, at)


def _block(block: Mapping[str, Json], at: int) -> Iterator[Found]:
    value, label = str(block.get("value") or "").strip(), str(block.get("label") or "block")
    if value:
        yield Found(
            key=str(block.get("id") or label),
            content=value,
            at=moment(block.get("created_at"), at),
            updated_at=moment(block.get("updated_at"), at),
            tags=("block", label),
            metadata={"letta_label": label, "description": block.get("description") or ""},
        )


def _passage(key: str, passage: Mapping[str, Json], at: int) -> Found:
    created = moment(passage.get("created_at"), at)
    return Found(
        key=key,
        content=str(passage.get("text") or ""),
        at=created,
        updated_at=moment(passage.get("updated_at"), created),
        tags=("archive", *(str(tag) for tag in passage.get("tags") or ())),
        metadata=table(passage.get("metadata_") or passage.get("metadata")),
    )


def _database(path: Path) -> Iterator[Found]:
    at = written_at(path)
    for row in rows(path, "SELECT * FROM block ORDER BY id"):
        if not row.get("is_template") and not row.get("is_deleted"):
            yield from _block(row, at)
    for name in sorted(tables(path).intersection(_PASSAGES)):
        for row in rows(path, _PASSAGES[name]):
            if not row.get("is_deleted"):
                yield _passage(str(row["id"]), row, at)
