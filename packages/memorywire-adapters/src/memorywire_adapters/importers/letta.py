"""Imports the memories of Letta: an agent file (`.af`), its database, or the API of its server."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Self

from msgspec import Struct

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
    read_file_time,
    read_json,
    read_rows,
)
from memorywire.model.record import Json
from memorywire_adapters.importers import postgres
from memorywire_adapters.importers.web import Site

_HOST = "api.letta.com"
_PASSAGES = {
    "archival_passages": "SELECT * FROM archival_passages ORDER BY id",
    "agent_passages": "SELECT * FROM agent_passages ORDER BY id",
}
_DATABASE_LOSSES = ("tools, model settings and messages", "vectors: they are made anew here")
_FILE_LOSSES = (
    "tools, model settings and the conversation",
    "when a block was written",
    "archives, which newer servers leave out of the file: import from the server itself",
)
_SERVICE_LOSSES = (
    *_DATABASE_LOSSES,
    "when a block was written: the API does not say, so the creation of its agent is taken",
)


def _recognises(path: Path) -> bool:
    if path.is_file() and path.suffix == ".af":
        return True
    tables = list_tables(path)
    return "block" in tables and bool(tables.intersection(_PASSAGES))


def _read(origin: Origin) -> Source:
    path = origin.path
    if path.suffix == ".af":
        return build_source("letta", origin, lambda: _list_agent_file(path), _FILE_LOSSES)

    def list_memories() -> Iterator[ImportedMemory]:
        return _list_database(list_tables(path), lambda query: read_rows(path, query), read_file_time(path))

    return build_source("letta", origin, list_memories, _DATABASE_LOSSES)


def _list_agent_file(path: Path) -> Iterator[ImportedMemory]:
    content, at = read_json(path, path.name), read_file_time(path)
    agents = content.get("agents") or [content]
    blocks = [*content.get("blocks", ()), *(one for agent in agents for one in agent.get("core_memory", ()))]
    for block in blocks:
        yield from _build_block(block, at)
    for agent in agents:
        for number, passage in enumerate(agent.get("passages") or ()):
            key = str(passage.get("id") or f"{agent.get('name')}/{number}")
            yield _build_passage(key, passage, at)


def _list_database(
    tables: Set[str], query: Callable[[str], Iterable[Mapping[str, Json]]], at: int
) -> Iterator[ImportedMemory]:
    """Yield the blocks and passages in the tables of a server."""
    for row in query("SELECT * FROM block ORDER BY id"):
        if not row.get("is_template") and not row.get("is_deleted"):
            yield from _build_block(row, at)
    for name in sorted(tables & _PASSAGES.keys()):
        for row in query(_PASSAGES[name]):
            if not row.get("is_deleted"):
                yield _build_passage(str(row["id"]), row, at)


def _build_block(block: Mapping[str, Json], at: int, *, agent: str | None = None) -> Iterator[ImportedMemory]:
    """Yield the memory of a block unless it is empty; `at` is used if the block has no time."""
    text, label = str(block.get("value") or "").strip(), str(block.get("label") or "block")
    if text:
        yield ImportedMemory(
            key=str(block.get("id") or label),
            agent=agent,
            content=text,
            at=parse_time(block.get("created_at"), at),
            updated_at=parse_time(block.get("updated_at"), at),
            tags=("block", label),
            metadata={"letta_label": label, "description": block.get("description") or ""},
        )


def _build_passage(
    key: str, passage: Mapping[str, Json], at: int, *, agent: str | None = None
) -> ImportedMemory:
    created = parse_time(passage.get("created_at"), at)
    return ImportedMemory(
        key=key,
        agent=agent,
        content=str(passage.get("text") or ""),
        at=created,
        updated_at=parse_time(passage.get("updated_at"), created),
        tags=("archive", *(str(tag) for tag in passage.get("tags") or ())),
        metadata=as_object(passage.get("metadata_") or passage.get("metadata")),
    )


# The API lists blocks and passages of each agent, blocks without an agent, and archives.

_PAGE = 100
_EPOCH = "1970-01-01T00:00:00+00:00"


def _recognises_service(service: Service) -> bool:
    if service.protocol == "http":
        return service.host == _HOST
    tables = postgres.list_columns(service.url).keys()
    return "block" in tables and bool(_PASSAGES.keys() & tables)


def _read_postgres(service: Service) -> Source:
    def list_memories() -> Iterator[ImportedMemory]:
        tables = frozenset(postgres.list_columns(service.url))
        return _list_database(tables, lambda query: postgres.read_rows(service.url, query), 0)

    return build_source("letta", service.origin, list_memories, _SERVICE_LOSSES)


def _read_api(service: Service) -> Source:
    headers = {"authorization": f"Bearer {service.key}"} if service.key else {}
    site = Site(url=service.url, headers=headers)

    def list_memories() -> Iterator[ImportedMemory]:
        """Yield each block and passage once, for the first agent that has it."""
        keys: set[str] = set()
        for memory in _list_api(site):
            if memory.key not in keys:
                keys.add(memory.key)
                yield memory

    return build_source("letta", service.origin, list_memories, _SERVICE_LOSSES)


def _list_api(site: Site) -> Iterator[ImportedMemory]:
    agents = [_Owner.from_item(one) for one in site.pages("/v1/agents/", order="asc")]
    archives = [_Owner.from_item(one) for one in site.pages("/v1/archives/", order="asc")]
    for agent in agents:
        path = f"/v1/agents/{agent.id}"
        for block in site.pages(f"{path}/core-memory/blocks", order="asc"):
            yield from _build_block(block, agent.at, agent=agent.name)
        for passage in site.pages(f"{path}/archival-memory"):
            yield _build_passage(str(passage["id"]), passage, agent.at, agent=agent.name)
    oldest = min((owner.at for owner in (*agents, *archives)), default=0)
    for block in site.pages("/v1/blocks/", order="asc"):
        yield from _build_block(block, oldest)
    for archive in archives:
        for passage in _list_archive(site, archive.id):
            yield _build_passage(str(passage["id"]), passage, archive.at)


class _Owner(Struct, frozen=True, kw_only=True):
    """An agent or an archive, and when it was created."""

    id: str
    name: str
    at: int

    @classmethod
    def from_item(cls, item: Mapping[str, Json]) -> Self:
        id = str(item["id"])
        return cls(id=id, name=str(item.get("name") or id), at=parse_time(item.get("created_at"), 0))


def _list_archive(site: Site, archive: str) -> Iterator[Mapping[str, Json]]:
    """Yield the passages of an archive, oldest first. The API can only search them by date, not list them."""
    since, last = _EPOCH, ""
    while since != last:
        body = {"archive_id": archive, "start_date": since, "limit": _PAGE}
        page = [dict(hit["passage"]) for hit in site.post("/v1/passages/search", body)]
        yield from page
        if len(page) < _PAGE:
            return
        # The next page starts with the passages of the last date again; the caller drops duplicates.
        last, since = since, max(str(passage["created_at"]) for passage in page)


IMPORTER = Importer(
    expects="an agent file (.af), or the SQLite file of its server",
    recognises=_recognises,
    read=_read,
    service=ServiceImporter(
        recognises=_recognises_service,
        readers={"http": _read_api, "postgres": _read_postgres},
        key_variable="LETTA_API_KEY",
    ),
)
