"""The memories of Letta: an exported agent file (`.af`), or its database."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path

from memorywire.migrate.sources.documents import document, table
from memorywire.migrate.sources.found import Found, Origin, Source, moment, source, written_at
from memorywire.migrate.sources.rows import rows, tables
from memorywire.model.record import Json

WANTED = "an agent file (.af), or the SQLite file of its server"

PASSAGES = {
    "archival_passages": "SELECT * FROM archival_passages ORDER BY id",
    "agent_passages": "SELECT * FROM agent_passages ORDER BY id",
}

_NOT_IN_A_FILE = (
    "tools, model settings and the conversation",
    "when a block was written",
    "archives, which newer servers leave out of the file: import from the server itself",
)


def recognises(path: Path) -> bool:
    if path.is_file() and path.suffix == ".af":
        return True
    return "block" in (found := tables(path)) and bool(found.intersection(PASSAGES))


def read(origin: Origin) -> Source:
    path = origin.path
    if path.suffix == ".af":
        return source("letta", origin, lambda: _agent_file(path), _NOT_IN_A_FILE)
    losses = ("tools, model settings and messages", "vectors: they are made anew here")
    return source("letta", origin, lambda: _file(path), losses)


def _agent_file(path: Path) -> Iterator[Found]:
    said, at = document(path, path.name), written_at(path)
    agents = said.get("agents") or [said]
    for block in [*said.get("blocks", ()), *(one for a in agents for one in a.get("core_memory", ()))]:
        yield from block_of(block, at)
    for agent in agents:
        for number, passage in enumerate(agent.get("passages") or ()):
            key = str(passage.get("id") or f"{agent.get('name')}/{number}")
            yield passage_of(key, passage, at)


def block_of(block: Mapping[str, Json], at: int, *, agent: str | None = None) -> Iterator[Found]:
    """What a block says, if it says something; `at` is when, where the block does not say."""
    value, label = str(block.get("value") or "").strip(), str(block.get("label") or "block")
    if value:
        yield Found(
            key=str(block.get("id") or label),
            agent=agent,
            content=value,
            at=moment(block.get("created_at"), at),
            updated_at=moment(block.get("updated_at"), at),
            tags=("block", label),
            metadata={"letta_label": label, "description": block.get("description") or ""},
        )


def passage_of(key: str, passage: Mapping[str, Json], at: int, *, agent: str | None = None) -> Found:
    """What a passage of an archive says."""
    created = moment(passage.get("created_at"), at)
    return Found(
        key=key,
        agent=agent,
        content=str(passage.get("text") or ""),
        at=created,
        updated_at=moment(passage.get("updated_at"), created),
        tags=("archive", *(str(tag) for tag in passage.get("tags") or ())),
        metadata=table(passage.get("metadata_") or passage.get("metadata")),
    )


def _file(path: Path) -> Iterator[Found]:
    return database(tables(path), lambda query: rows(path, query), written_at(path))


def database(names: Set[str], ask: Callable[[str], Iterable[Mapping[str, Json]]], at: int) -> Iterator[Found]:
    """What the tables of a server hold."""
    for row in ask("SELECT * FROM block ORDER BY id"):
        if not row.get("is_template") and not row.get("is_deleted"):
            yield from block_of(row, at)
    for name in sorted(names & PASSAGES.keys()):
        for row in ask(PASSAGES[name]):
            if not row.get("is_deleted"):
                yield passage_of(str(row["id"]), row, at)
