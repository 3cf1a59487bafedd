"""Entries: encodes memories as OpenWOP entries, and parses what callers send."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import END_OF_CALENDAR, Json, Record

TAG_CHARS: Final = 256
TAGS: Final = 256
LIMIT: Final = 100
LIMIT_MOST: Final = 500

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


class Draft(Struct, frozen=True, kw_only=True):
    """An entry before it has an id."""

    content: str
    tags: tuple[str, ...] = ()
    expires_at: int | None = None


class Listing(Struct, frozen=True, kw_only=True):
    """Which entries of a memory; a limit of 0 is the host's own."""

    limit: int = 0
    tag: str | None = None


def encode_entry(record: Record) -> dict[str, Json]:
    """A memory as a `MemoryEntry`."""
    content = record.content
    entry: dict[str, Json] = {
        "id": record.id,
        "content": content if isinstance(content, str) else json.dumps(content, ensure_ascii=False),
        "tags": list(record.tags),
        "createdAt": format_time(record.created_at),
    }
    return entry if record.expires_at is None else {**entry, "expiresAt": format_time(record.expires_at)}


def format_time(at: int) -> str:
    """Milliseconds as ISO 8601."""
    text = (_BEGINNING + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def parse_draft(body: Mapping[str, Json]) -> Draft:
    """What a caller wants kept."""
    check_fields(body, "entry", ("content", "tags", "expiresAt"))
    content, tags = body.get("content"), body.get("tags", [])
    if not isinstance(content, str):
        raise InvalidRequest("content is a text", field="entry.content")
    if not isinstance(tags, list) or len(tags) > TAGS or not all(map(_is_tag, tags)):
        raise InvalidRequest(
            f"tags are at most {TAGS} texts of at most {TAG_CHARS} characters", field="entry.tags"
        )
    return Draft(content=content, tags=tuple(tags), expires_at=_parse_time(body.get("expiresAt")))


def parse_listing(body: Mapping[str, Json]) -> Listing:
    """What a caller wants listed."""
    check_fields(body, "options", ("limit", "tag"))
    limit, tag = body.get("limit", 0), body.get("tag")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
        raise InvalidRequest("limit is an integer, 0 or more", field="options.limit")
    if tag is not None and not (_is_tag(tag) and tag):
        raise InvalidRequest(f"tag is a text of 1 to {TAG_CHARS} characters", field="options.tag")
    return Listing(limit=limit, tag=tag)


def check_fields(body: object, place: str, known: tuple[str, ...]) -> None:
    """Raise InvalidRequest unless this is an object with no other names than these."""
    if not isinstance(body, Mapping):
        raise InvalidRequest(f"{place} is an object", field=place)
    if not body.keys() <= set(known):
        raise InvalidRequest(f"{place} has a field that is not known here", field=place)


def _is_tag(tag: Json) -> bool:
    return isinstance(tag, str) and len(tag) <= TAG_CHARS


def _parse_time(text: Json) -> int | None:
    """Rounded down: what is kept never lasts longer than was asked."""
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InvalidRequest("expiresAt is a moment in ISO 8601", field="entry.expiresAt") from error
    if at.tzinfo is None:
        raise InvalidRequest("expiresAt needs its offset", field="entry.expiresAt", fix="end it with Z")
    whole = (at - _BEGINNING) // timedelta(milliseconds=1)
    if whole >= END_OF_CALENDAR:
        raise InvalidRequest("expiresAt is later than any date", field="entry.expiresAt")
    return whole
