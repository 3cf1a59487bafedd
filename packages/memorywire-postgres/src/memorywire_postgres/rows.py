"""Converts records to rows and rows to records."""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from memorywire.model.change import Change, EndReason, Put, Version
from memorywire.model.errors import InvalidRequest
from memorywire.model.kv import saying
from memorywire.model.query import FIELDS
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing, Trust
from memorywire.model.space import Space
from memorywire.search.relevance import read_tokens
from memorywire.search.text import read_hidden_terms, terms
from memorywire.stores.document import Document
from memorywire_postgres.database import Row

# Maps fields that have a column to the name of the column.
COLUMNS = {
    "id": "id",
    "type": "type",
    "user_id": "user_id",
    "session_id": "session",
    "standing": "standing",
    "confidence": "confidence",
    "created_at": "created_at",
    "occurred_at": "occurred_at",
    "expires_at": "expires_at",
    "version": "number",
}
_FACTS = tuple(sorted(FIELDS - COLUMNS.keys() - {"content"}))
_IN_BODY = tuple(
    name for name in Record.__struct_fields__ if name not in {*COLUMNS, "scope", "content", "recalled_at"}
)
_TUPLES = frozenset({"tags", "supersedes", "merged_from", "derived_from"})

# Columns that a query of records selects, in the order of `record_of`; then the extra ones of a version.
RECORD = (
    "version.position, version.tenant, version.agent, version.user_id, version.id, version.number,"
    " version.type, version.standing, version.confidence, version.created_at, version.occurred_at,"
    " version.expires_at, version.session, version.structured, version.content, version.body,"
    " (SELECT recall.at FROM recall WHERE recall.tenant = version.tenant AND recall.id = version.id)"
)
VERSION = f"{RECORD}, version.began, version.ended, version.reason, version.into_id, b.at, b.id, e.at, e.id"
CHANGE = "seq, id, tenant, agent, user_id, operation, at, key, fingerprint, reason, undoes, about"
_WIDTH = 17
_ID, _NUMBER, _CONTENT = 4, 5, 14  # indexes of these columns in RECORD

_ESCAPE = re.compile("\x01([\x01\x02])")
_LARGEST = 2**63


def encode_text(text: str) -> str:
    """Escape NUL, which Postgres rejects; keeps equality, order and prefixes. Raises InvalidRequest."""
    if "\x00" in text or "\x01" in text:
        text = text.replace("\x01", "\x01\x02").replace("\x00", "\x01\x01")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest("the text contains a lone surrogate") from error
    return text


def decode_text(text: str) -> str:
    """Undo `encode_text`."""
    return (
        _ESCAPE.sub(lambda found: "\x00" if found[1] == "\x01" else "\x01", text) if "\x01" in text else text
    )


def encode_optional(text: str | None) -> str | None:
    return None if text is None else encode_text(text)


def bind_scope(scope: Scope) -> dict[str, Any]:
    return {
        "tenant": encode_text(scope.tenant),
        "agent": encode_text(scope.agent),
        "user": encode_optional(scope.user),
    }


@lru_cache(maxsize=65_536)
def hash_term(tenant: str, agent: str, term: str) -> int:
    """Return the key of an agent's term in the text index: a 64-bit hash, so the index stores no words."""
    name = json.dumps([tenant, agent, term]).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little", signed=True)


def build_version_row(put: Put, space: Space) -> dict[str, Any]:
    """Return the row of a new version, without the sequences of the changes that begin and end it."""
    record = put.record
    is_object = not isinstance(record.content, str)
    row = bind_scope(record.scope) | {
        "id": encode_text(record.id),
        "number": record.version,
        "type": record.type.value,
        "standing": record.standing.value,
        "confidence": record.confidence,
        "created_at": record.created_at,
        "occurred_at": record.occurred_at,
        "expires_at": record.expires_at,
        "session": encode_optional(record.session_id),
        "structured": is_object,
        "content": dumps(record.content) if is_object else encode_text(str(record.content)),
        "body": dumps({name: getattr(record, name) for name in _IN_BODY}),
        "vector": None if put.vector is None else format_vector(put.vector, space),
        "tokens": None if (tokens := read_tokens(put.vector)) is None else b64encode(tokens).decode(),
        "like": put.like if put.vector is None else None,
    }
    return _within_64_bits(row | derive_columns(record))


def derive_columns(record: Record) -> dict[str, Any]:
    """Return the columns derived from a record for searches and filters."""
    counts = terms(record.text)
    entries = [*counts.items(), *read_hidden_terms(record).items()]
    return {
        "machine_said": record.metadata.get("role") == "assistant",
        "digest": saying(record),
        "length": counts.total(),
        "facts": _encode_all({name: getattr(record, name) for name in (*_FACTS, "metadata")}),
        "terms": [hash_term(record.scope.tenant, record.scope.agent, term) for term, _ in entries],
        "counts": [count for _, count in entries],
    }


def build_change_row(change: Change) -> dict[str, Any]:
    texts = ("operation", "key", "fingerprint", "reason", "undoes", "about")
    row = bind_scope(change.scope) | {name: encode_optional(getattr(change, name)) for name in texts}
    return _within_64_bits(row | {"id": encode_text(change.id), "at": change.at})


def read_record(row: Row) -> Record:
    """Return the record of a row with the columns of RECORD."""
    # fmt: off
    (_, tenant, agent, user, id, number, type, standing, confidence, created_at, occurred_at, expires_at,
     session, is_object, content, body, recalled_at, *_) = row
    # fmt: on
    rest: dict[str, Any] = json.loads(body)
    rest |= {name: tuple(rest[name]) for name in _TUPLES & rest.keys()}
    return Record(
        id=decode_text(id),
        scope=_scope(tenant, agent, user),
        type=MemoryType(type),
        content=json.loads(content) if is_object else decode_text(content),
        created_at=created_at,
        version=number,
        confidence=confidence,
        session_id=None if session is None else decode_text(session),
        occurred_at=occurred_at,
        expires_at=expires_at,
        standing=Standing(standing),
        recalled_at=recalled_at,
        **rest | {"trust": Trust(rest["trust"])},
    )


def read_version(row: Row) -> Version:
    """Return the version of a row with the columns of VERSION."""
    began, ended, reason, into, began_at, began_by, ended_at, ended_by = row[_WIDTH:]
    return Version(
        id=decode_text(row[_ID]),
        number=row[_NUMBER],
        record=None if row[_CONTENT] is None else replace(read_record(row), recalled_at=None),
        began=began,
        began_at=began_at,
        began_by=decode_text(began_by),
        ended=ended,
        ended_at=ended_at,
        ended_by=None if ended_by is None else decode_text(ended_by),
        reason=None if reason is None else EndReason(reason),
        into=None if into is None else decode_text(into),
    )


def read_change(row: Row) -> Change:
    """Return the change of a row with the columns of CHANGE, without its puts, ends and erases."""
    _, id, tenant, agent, user, operation, at, *texts = row
    key, fingerprint, reason, undoes, about = (None if text is None else decode_text(text) for text in texts)
    return Change(
        id=decode_text(id),
        operation=decode_text(operation),
        scope=_scope(tenant, agent, user),
        at=at,
        key=key,
        fingerprint=fingerprint,
        reason=reason,
        undoes=undoes,
        about=about,
    )


def format_vector(vector: bytes, space: Space) -> str:
    """Return a vector of this space in pgvector's text form, rounded to float16."""
    values = read_vector(vector, space).astype(np.float16)
    return f"[{','.join(map(str, values.tolist()))}]"


def read_vector(vector: bytes, space: Space) -> NDArray[np.float32]:
    values = np.frombuffer(vector, "<f4") if len(vector) == 4 * space.dimension else np.empty(0, np.float32)
    if not len(values) or not np.isfinite(values).all():
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")
    return values


def dumps(value: Json) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        text.encode()
    except ValueError as error:  # includes UnicodeEncodeError
        raise InvalidRequest(
            "the value contains a lone surrogate or a number that JSON cannot hold"
        ) from error
    return text


def _encode_all(value: Json) -> Json:
    """Return the value with `encode_text` applied to every string in it."""
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, Mapping):
        return {encode_text(name): _encode_all(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_encode_all(inner) for inner in value]
    return value


def _scope(tenant: str, agent: str, user: str | None) -> Scope:
    return Scope(
        tenant=decode_text(tenant), agent=decode_text(agent), user=None if user is None else decode_text(user)
    )


def _within_64_bits(row: dict[str, Any]) -> dict[str, Any]:
    for name, value in row.items():
        if isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise InvalidRequest("the number does not fit into 64 bits", field=name)
    return row


QUERIES = Document(__package__, "queries.sql")
