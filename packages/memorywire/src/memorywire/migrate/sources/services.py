"""Readers of what other products keep behind an address: an API, or a Postgres database of theirs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from memorywire.migrate.sources import langgraph, letta, letta_api, mem0, mem0_api, tables
from memorywire.migrate.sources.found import Found, Origin, Source, source
from memorywire.migrate.sources.web import Site
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope

KEYS = {"letta": "LETTA_API_KEY", "mem0": "MEM0_API_KEY"}
"""The variables in which products look for the key of their API."""

_HOSTED = {"api.mem0.ai": "mem0", "api.letta.com": "letta"}
_POINTS = frozenset({"id", "vector", "payload"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Where to ask, with which key, and whose the memories become where it does not say."""

    url: str
    scope: Scope
    key: str | None = field(default=None, repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def origin(self) -> Origin:
        """The place without who asks, to tell it from other places."""
        parts = urlsplit(self.url)
        return Origin(
            path=Path("/", self.host, str(parts.port or ""), parts.path.lstrip("/")), scope=self.scope
        )


def is_address(text: str) -> bool:
    return text.startswith(("http://", "https://", "postgresql://", "postgres://"))


def kind_of(url: str, kind: str) -> str:
    """The product behind the address: two hosts are known, databases tell by their tables. Blocks."""
    if kind != "auto":
        return kind
    if not url.startswith("http"):
        return _kind_of_tables(tables.columns(url))
    found = _HOSTED.get(urlsplit(url).hostname or "")
    if found is None:
        raise InvalidRequest(
            "nobody can tell what answers there", field="from", fix="say --from letta or mem0"
        )
    return found


def _kind_of_tables(found: dict[str, frozenset[str]]) -> str:
    if {"store", "store_migrations"} <= found.keys():
        return "langgraph"
    if "block" in found and letta.PASSAGES.keys() & found.keys():
        return "letta"
    if any(names >= _POINTS for names in found.values()):
        return "mem0"
    raise InvalidRequest(
        "the database has no tables of a product that is known here",
        field="url",
        fix="langgraph, letta and mem0 are read; another schema is named by ?options=-csearch_path%3DNAME",
    )


def read_service(kind: str, service: Service) -> Source:
    """The memories behind an address. Blocks."""
    over = "http" if service.url.startswith("http") else "postgres"
    reader = _READERS.get((over, kind))
    if reader is None:
        known = ", ".join(name for way, name in _READERS if way == over)
        raise InvalidRequest(f"{kind} is not read from there", field="from", fix=f"one of: {known}")
    found, losses = reader
    return source(kind, service.origin, lambda: found(service), losses)


def _letta(service: Service) -> Iterator[Found]:
    headers = {"authorization": f"Bearer {service.key}"} if service.key else {}
    return letta_api.found(Site(url=service.url, headers=headers))


def _mem0(service: Service) -> Iterator[Found]:
    return mem0_api.found(Site(url=service.url), service.scope, service.key)


def _rows(service: Service) -> Callable[[str], Iterator[dict[str, Json]]]:
    return lambda query: tables.rows(service.url, query)


def _langgraph_tables(service: Service) -> Iterator[Found]:
    return langgraph.items(_rows(service)(langgraph.ITEMS))


def _letta_tables(service: Service) -> Iterator[Found]:
    return letta.database(frozenset(tables.columns(service.url)), _rows(service), 0)


def _mem0_tables(service: Service) -> Iterator[Found]:
    for name, names in sorted(tables.columns(service.url).items()):
        if names >= _POINTS and name != mem0.MIGRATIONS:
            for row in tables.rows(service.url, "SELECT id::text, payload FROM {} ORDER BY id", name):
                yield from mem0.memory_of(row["id"], row["payload"])


_READERS: dict[tuple[str, str], tuple[Callable[[Service], Iterator[Found]], tuple[str, ...]]] = {
    ("http", "letta"): (_letta, letta_api.LOSSES),
    ("http", "mem0"): (_mem0, mem0_api.LOSSES),
    ("postgres", "langgraph"): (_langgraph_tables, langgraph.LOSSES),
    ("postgres", "letta"): (_letta_tables, letta_api.LOSSES),
    ("postgres", "mem0"): (_mem0_tables, mem0_api.LOSSES),
}
