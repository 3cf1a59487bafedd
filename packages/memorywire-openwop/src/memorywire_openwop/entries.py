"""Encodes memories as OpenWOP entries, and parses requests about them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.query import EVERYTHING, Filter
from memorywire.model.record import DEFAULT_TENANT, END_OF_CALENDAR, Json, Record
from memorywire.model.requests import List
from memorywire.wire.codec import decode

TAG_CHARS: Final = 256
TAGS: Final = 256
LIMIT: Final = 100
SEARCH_LIMIT: Final = 10
QUERY_CHARS: Final = 4096
LIMIT_MOST: Final = 500

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Draft(Struct, frozen=True, kw_only=True):
    """An entry that has no id yet."""

    content: str
    tags: tuple[str, ...] = ()
    expires_at: int | None = None


class Search(Struct, frozen=True, kw_only=True):
    """A search: a query, a filter, or both."""

    query: str | None
    filter: Filter
    limit: int


class Listing(Struct, frozen=True, kw_only=True):
    """Which entries to list; a limit of 0 means the default."""

    limit: int = 0
    tag: str | None = None


def encode_entry(record: Record) -> dict[str, Json]:
    """Encode a memory as a `MemoryEntry`."""
    content = record.content
    entry: dict[str, Json] = {
        "id": record.id,
        "content": content if isinstance(content, str) else json.dumps(content, ensure_ascii=False),
        "tags": list(record.tags),
        "createdAt": format_time(record.created_at),
    }
    return entry if record.expires_at is None else {**entry, "expiresAt": format_time(record.expires_at)}


def format_time(at: int) -> str:
    """Format milliseconds as ISO 8601."""
    text = (_BEGINNING + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_draft(body: Mapping[str, Json]) -> Draft:
    """Parse an entry to store; ignores `id` and `createdAt`, which the host assigns."""
    check_fields(body, "entry", ("id", "createdAt", "content", "tags", "expiresAt"))
    content, tags = body.get("content"), body.get("tags", [])
    if not isinstance(content, str):
        raise InvalidRequest("content must be a string", field="entry.content")
    if not isinstance(tags, list) or len(tags) > TAGS or not all(map(_is_tag, tags)):
        raise InvalidRequest(
            f"tags must be at most {TAGS} strings of at most {TAG_CHARS} characters", field="entry.tags"
        )
    return Draft(content=content, tags=tuple(tags), expires_at=_parse_time(body.get("expiresAt")))


def parse_search(body: Mapping[str, Json]) -> Search:
    """Parse a search request."""
    fields = {name: body[name] for name in ("query", "filter", "limit") if name in body}
    query, filter, limit = fields.get("query"), fields.get("filter"), fields.get("limit", SEARCH_LIMIT)
    if query is None and filter is None:
        raise InvalidRequest("a search needs a query, a filter or both", field="query")
    if query is not None and not (isinstance(query, str) and 0 < len(query.strip()) <= QUERY_CHARS):
        raise InvalidRequest(f"query must be a string of 1 to {QUERY_CHARS} characters", field="query")
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= LIMIT_MOST:
        raise InvalidRequest(f"limit must be an integer from 1 to {LIMIT_MOST}", field="limit")
    return Search(query=query, filter=EVERYTHING if filter is None else _parse_filter(filter), limit=limit)


def _parse_filter(filter: Json) -> Filter:
    """Decode a wire filter, with the validation of the operation `list`."""
    request = decode("list", {"agent_id": "any", "filter": filter}, tenant=DEFAULT_TENANT)
    return request.filter if isinstance(request, List) else EVERYTHING


def parse_listing(body: Mapping[str, Json]) -> Listing:
    """Parse the options of a list request."""
    check_fields(body, "options", ("limit", "tag"))
    limit, tag = body.get("limit", 0), body.get("tag")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise InvalidRequest("limit must be an integer, 0 or more", field="options.limit")
    if tag is not None and not (_is_tag(tag) and tag):
        raise InvalidRequest(f"tag must be a string of 1 to {TAG_CHARS} characters", field="options.tag")
    return Listing(limit=limit, tag=tag)


def check_fields(body: object, place: str, known: tuple[str, ...]) -> None:
    """Raise InvalidRequest unless `body` is an object with only known fields."""
    if not isinstance(body, Mapping):
        raise InvalidRequest(f"{place} must be an object", field=place)
    if not body.keys() <= set(known):
        raise InvalidRequest(f"{place} has an unknown field", field=place)


def _is_tag(tag: Json) -> bool:
    return isinstance(tag, str) and len(tag) <= TAG_CHARS


def _parse_time(text: Json) -> int | None:
    """Parse an expiry and round it down, so that an entry never outlives it."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InvalidRequest("expiresAt must be a time in ISO 8601", field="entry.expiresAt") from error
    if at.tzinfo is None:
        raise InvalidRequest(
            "expiresAt needs a time zone offset", field="entry.expiresAt", fix="end it with Z"
        )
    whole = (at - _BEGINNING) // timedelta(milliseconds=1)
    if whole >= END_OF_CALENDAR:
        raise InvalidRequest("expiresAt is too late to be a date", field="entry.expiresAt")
    return whole
