"""The knowledge graph of the MCP reference server: `memory.json`, an entity or a relation a line."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from memorywire.migrate.sources.documents import objects
from memorywire.migrate.sources.found import Found, Origin, Source, source, written_at
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

WANTED = "the file that MEMORY_FILE_PATH names, with an entity or a relation on each line"


def recognises(path: Path) -> bool:
    if not path.is_file() or path.suffix not in (".json", ".jsonl"):
        return False
    try:
        first = next(objects(path), None)
    except (InvalidRequest, UnicodeDecodeError):
        return False
    return first is not None and first.get("type") in ("entity", "relation")


def read(origin: Origin) -> Source:
    return source(
        "mcp-memory",
        origin,
        lambda: _found(origin.path),
        ("when something was learnt: the file does not say, so the file's own moment is taken",),
    )


def _found(path: Path) -> Iterator[Found]:
    at = written_at(path)
    for line in objects(path):
        if line.get("type") == "entity":
            yield from _observations(line, at)
        elif line.get("type") == "relation":
            yield _relation(line, at)


def _observations(entity: Mapping[str, Json], at: int) -> Iterator[Found]:
    """What is known about somebody, a memory each; of whom nothing is known, that they are there."""
    name, kind = str(entity["name"]), str(entity["entityType"])
    said = [f"{name}: {one}" for one in entity.get("observations", ())] or [f"{name} is a {kind}"]
    for sentence in said:
        yield Found(
            key=f"{name}\n{sentence}",
            content=sentence,
            at=at,
            tags=(kind,),
            metadata={"entity": name, "entity_type": kind},
        )


def _relation(line: Mapping[str, Json], at: int) -> Found:
    one, other, how = str(line["from"]), str(line["to"]), str(line["relationType"])
    said = f"{one} {how.replace('_', ' ')} {other}"
    return Found(
        key=f"{one}\n{how}\n{other}",
        content=said,
        at=at,
        tags=("relation",),
        metadata={"from": one, "to": other, "relation": how},
    )
