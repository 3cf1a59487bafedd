"""The memories of mem0 over its API: of the platform, or of a server of one's own."""

from collections.abc import Iterator, Mapping

from memorywire.migrate.sources.found import Found, moment
from memorywire.migrate.sources.web import Site
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json, Scope

LOSSES = ("the vectors: they are made anew here", "earlier words of a memory that was updated")

_PAGE = 100
_MANY = 1_000_000
_ENTITIES = "/v1/entities/"


def found(site: Site, scope: Scope, key: str | None) -> Iterator[Found]:
    """Each memory once. A server of one's own cannot say whose it keeps, so somebody has to be named."""
    platform = Site(url=site.url, headers={"authorization": f"Token {key}"})
    own = Site(url=site.url, headers={"x-api-key": key} if key else {})
    seen: set[str] = set()
    for memory in _of_platform(platform) if key and platform.has(_ENTITIES) else _of_server(own, scope):
        if (id := str(memory["id"])) not in seen:
            seen.add(id)
            yield memory_in(id, memory)


def _of_platform(site: Site) -> Iterator[Mapping[str, Json]]:
    entities = site.get(_ENTITIES)
    for entity in entities["results"] if isinstance(entities, dict) else entities:
        wanted = {"filters": {f"{entity['type']}_id": entity["name"]}}
        page = 1
        while True:
            answer = site.post("/v3/memories/", wanted, page=page, page_size=_PAGE)
            yield from answer["results"]
            if not answer.get("next"):
                break
            page += 1


def _of_server(site: Site, scope: Scope) -> Iterator[Mapping[str, Json]]:
    if scope.user is None:
        raise InvalidRequest(
            "a server of mem0 gives the memories of one user at a time",
            field="user",
            fix="name one with --user",
        )
    answer = site.get("/memories", user_id=scope.user, top_k=_MANY)
    yield from answer["results"] if isinstance(answer, dict) else answer


def memory_in(id: str, memory: Mapping[str, Json]) -> Found:
    """A memory as mem0 hands it out, over its API or from `get_all`."""
    at = moment(memory.get("created_at"), 0)
    return Found(
        key=id,
        content=str(memory.get("memory") or ""),
        at=at,
        updated_at=moment(memory.get("updated_at"), at),
        expires_at=moment(memory.get("expiration_date"), 0) or None,
        agent=memory.get("agent_id"),
        user=memory.get("user_id"),
        session=memory.get("run_id"),
        tags=tuple(str(label) for label in memory.get("categories") or ()),
        metadata={**(memory.get("metadata") or {}), "mem0_id": id},
    )
