"""The memories of a Letta server, over its API: blocks and archives of every agent, and those of nobody."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from memorywire.migrate.sources.found import Found, moment
from memorywire.migrate.sources.letta import block_of, passage_of
from memorywire.migrate.sources.web import Site
from memorywire.model.record import Json

LOSSES = (
    "tools, model settings and messages",
    "vectors: they are made anew here",
    "when a block was written: the API does not say, so the beginning of its agent is taken",
)

_SEARCHED = 100
_EPOCH = "1970-01-01T00:00:00+00:00"


def found(site: Site) -> Iterator[Found]:
    """Each block and passage once, as that of the first agent that has it."""
    seen: set[str] = set()
    for item in _items(site):
        if item.key not in seen:
            seen.add(item.key)
            yield item


def _items(site: Site) -> Iterator[Found]:
    agents = [_Owner.of(one) for one in site.pages("/v1/agents/", order="asc")]
    archives = [_Owner.of(one) for one in site.pages("/v1/archives/", order="asc")]
    for agent in agents:
        own = f"/v1/agents/{agent.id}"
        for block in site.pages(f"{own}/core-memory/blocks", order="asc"):
            yield from block_of(block, agent.at, agent=agent.name)
        for passage in site.pages(f"{own}/archival-memory"):
            yield passage_of(str(passage["id"]), passage, agent.at, agent=agent.name)
    oldest = min((owner.at for owner in (*agents, *archives)), default=0)
    for block in site.pages("/v1/blocks/", order="asc"):
        yield from block_of(block, oldest)
    for archive in archives:
        for passage in _archived(site, archive.id):
            yield passage_of(str(passage["id"]), passage, archive.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    """An agent or an archive, and since when there is one."""

    id: str
    name: str
    at: int

    @classmethod
    def of(cls, item: Mapping[str, Json]) -> Self:
        id = str(item["id"])
        return cls(id=id, name=str(item.get("name") or id), at=moment(item.get("created_at"), 0))


def _archived(site: Site, archive: str) -> Iterator[Mapping[str, Json]]:
    """The passages of an archive, oldest first: they can be searched for by date, and not be listed."""
    since, last = _EPOCH, ""
    while since != last:
        asked = {"archive_id": archive, "start_date": since, "limit": _SEARCHED}
        page = [dict(hit["passage"]) for hit in site.post("/v1/passages/search", asked)]
        yield from page
        if len(page) < _SEARCHED:
            return
        # A page begins with those of the last moment; whoever reads them knows which were there before.
        last, since = since, max(str(passage["created_at"]) for passage in page)
