"""Records as rows and rows as records."""

import hashlib
import struct
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, TypeAlias
from zlib import crc32

from msgspec.structs import replace

from memorywire.model.change import Change, EndReason, Put, Version
from memorywire.model.codec import read_json, write_json
from memorywire.model.errors import InvalidRequest, corrupt_row
from memorywire.model.kv import MARK, saying
from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust
from memorywire.model.space import Space
from memorywire.search.text import find_language, index_word, read_hidden_terms, split_words

RECORD = (
    *("tenant", "agent", "user", "id", "number", "type", "standing", "confidence", "created_at"),
    *("updated_at", "occurred_at", "expires_at", "trust", "source", "session", "structured", "tags"),
    *("metadata", "supersedes", "merged_from", "derived_from", "content"),
)
"""The columns of a version that its checksum covers: its content. `checksum_end` adds its end."""

CHANGE = (
    *("id", "tenant", "agent", "user", "operation", "at", "key", "fingerprint", "reason", "undoes"),
    *("about", "puts"),
)
"""The columns of a change that its checksum covers."""
CHANGE_ROW = (*CHANGE, "checksum")


def checksum_row(values: Sequence[object]) -> int:
    """Return the checksum of the values of a row."""
    return crc32("\x1f".join(map(str, values)).encode(errors="surrogatepass"))


def checksum_end(sequence: int, reason: str, into: str | None) -> int:
    """Return the part of a version's checksum for its end, which is combined by exclusive or."""
    return checksum_row((sequence, reason, into))


def checksum_vector(vector: bytes | None) -> int | None:
    """Return the checksum of a vector as stored in the file."""
    return None if vector is None else crc32(vector)


Row: TypeAlias = tuple[Any, ...]  # as SQLite returns it; the decoders below know the type of each column
Columns: TypeAlias = list[Row]
"""Rows transposed: all values of the first column, then of the second, and so on."""
Bindings: TypeAlias = dict[str, str | int | float | bytes | None]

# One index entry of a version: the hash of a term and its frequency, little-endian.
_HASH_BYTES, _COUNT_BYTES, _MOST = 8, 2, 0xFFFF
_ONCE = (1).to_bytes(_COUNT_BYTES, "little")

_NONE, _EMPTY = "[]", "{}"
_PLAIN_TYPES = frozenset({type(None), bytes, float})  # SQLite can store all values of these types
_TEXT, _WHOLE = {str}, {int}

VERSION = (
    *("tenant", "agent", "user", "id", "number", "type", "standing", "confidence", "created_at"),
    *("updated_at", "occurred_at", "expires_at", "trust", "source", "session", "digest", "length"),
    *("structured", "tags", "metadata", "supersedes", "merged_from", "derived_from", "content", "vector"),
    *("terms", "checksum", "vector_checksum"),
)

_TYPES = {kind.value: kind for kind in MemoryType}
_STANDINGS = {standing.value: standing for standing in Standing}
_TRUSTS = {trust.value: trust for trust in Trust}
_REASONS = {reason.value: reason for reason in EndReason}

# Indexes of these columns in the view `record`.
_ID, _NUMBER, _CONTENT, _POSITION = 3, 4, 21, 23
_FIRST_OF_CHAIN = _POSITION + 1


@lru_cache(maxsize=65_536)
def hash_term(term: str) -> int:
    """Return the 64-bit hash of a word for the text index."""
    digest = hashlib.blake2b(term.encode(), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


def _hash(term: str) -> bytes:
    return hashlib.blake2b(term.encode(), digest_size=_HASH_BYTES).digest()


def compute_digest(record: Record) -> bytes | None:
    """Return the digest for finding duplicates; None for a key-value entry."""
    is_entry = MARK in record.metadata and saying(record) is None
    return None if is_entry else bytes.fromhex(record.digest)


def build_version_columns(puts: Sequence[Put], space: Space) -> Columns:
    """Return the rows of many new versions as columns, checked by `check_row`."""
    return _check_rows(VERSION, [build_version_row(put, space) for put in puts])


def build_version_row(put: Put, space: Space) -> Row:
    """Return the row of a new version, in the order of VERSION, unchecked."""
    record, scope = put.record, put.record.scope
    length, terms = index_terms(record)
    is_object = not isinstance(record.content, str)
    vector = _to_float16(put.vector, space)
    name = (
        scope.tenant,
        scope.agent,
        scope.user,
        record.id,
        record.version,
        record.type._value_,
        record.standing._value_,
        float(record.confidence),  # as SQLite returns it from the column
        record.created_at,
        record.updated_at,
        record.occurred_at,
        record.expires_at,
        record.trust._value_,
        record.source,
        record.session_id,
    )
    words = (
        int(is_object),
        write_json(record.tags) if record.tags else _NONE,
        write_json(record.metadata) if record.metadata else _EMPTY,
        write_json(record.supersedes) if record.supersedes else _NONE,
        write_json(record.merged_from) if record.merged_from else _NONE,
        write_json(record.derived_from) if record.derived_from else _NONE,
        write_json(record.content) if is_object else str(record.content),
    )
    checksums = (checksum_row(name + words), None if vector is None else crc32(vector))
    return (*name, compute_digest(record), length, *words, vector, terms, *checksums)


def build_change_columns(changes: Sequence[Change]) -> Columns:
    """Return the rows of many changes as columns, checked by `check_row`."""
    return _check_rows(CHANGE_ROW, [build_change_row(change) for change in changes])


def build_change_row(change: Change) -> Row:
    """Return the row of a change without its sequence, in the order of CHANGE_ROW, unchecked."""
    row = (
        change.id,
        change.scope.tenant,
        change.scope.agent,
        change.scope.user,
        change.operation,
        change.at,
        change.key,
        change.fingerprint,
        change.reason,
        change.undoes,
        change.about,
        len(change.put),
    )
    return (*row, checksum_row(row))


def bind_scope(scope: Scope) -> Bindings:
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}


@lru_cache(maxsize=1024)
def _scope(tenant: str, agent: str, user: str | None) -> Scope:
    return Scope(tenant=tenant, agent=agent, user=user)


LastRecalled: TypeAlias = Callable[[Scope, str, int | None], int | None]
"""Returns when a record was last recalled, from its scope, its id and the time in its row."""


def use_stored(scope: Scope, id: str, recalled_at: int | None) -> int | None:
    """Return the last recall in the row, for when no recalls are pending."""
    return recalled_at


def read_record(row: Row, seen: LastRecalled = use_stored) -> Record:
    """Read a record from a row of the view `record`; raises StoreCorrupt for an invalid row."""
    try:
        return _decode(row, seen)
    except (KeyError, ValueError, TypeError) as error:
        raise corrupt_row(row[_ID], error) from error


def _decode(row: Row, seen: LastRecalled) -> Record:
    # fmt: off
    (tenant, agent, user, id, number, type, standing, confidence, created_at, updated_at, occurred_at,
     expires_at, trust, source, session, is_object, tags, metadata, supersedes, merged_from, derived_from,
     content, recalled_at, *_) = row
    # fmt: on
    scope = _scope(tenant, agent, user)
    return Record(
        id=id,
        scope=scope,
        type=_TYPES[type],
        content=read_json(content) if is_object else content,
        created_at=created_at,
        updated_at=updated_at,
        version=number,
        confidence=confidence,
        metadata={} if metadata == _EMPTY else read_json(metadata),
        tags=_load_list(tags),
        source=source,
        session_id=session,
        occurred_at=occurred_at,
        expires_at=expires_at,
        standing=_STANDINGS[standing],
        supersedes=_load_list(supersedes),
        merged_from=_load_list(merged_from),
        derived_from=_load_list(derived_from),
        trust=_TRUSTS[trust],
        recalled_at=seen(scope, id, recalled_at),
    )


def read_position(row: Row) -> int:
    """Return the position of a row of the view `record` in the file."""
    return int(row[_POSITION])


def read_version(row: Row) -> Version:
    """Read a version from a row of the view `record` with the times and ids of its two changes."""
    began, ended, reason, into, began_at, began_by, ended_at, ended_by = row[_FIRST_OF_CHAIN:]
    is_erased = row[_CONTENT] is None
    if reason is not None and reason not in _REASONS:
        raise corrupt_row(row[_ID], ValueError(reason))
    return Version(
        id=row[_ID],
        number=row[_NUMBER],
        record=None if is_erased else replace(read_record(row), recalled_at=None),
        began=began,
        began_at=began_at,
        began_by=began_by,
        ended=ended,
        ended_at=ended_at,
        ended_by=ended_by,
        reason=None if reason is None else _REASONS[reason],
        into=into,
    )


def read_change(row: Row) -> Change:
    """Read a committed change, without its puts, ends and erases."""
    _, id, tenant, agent, user, operation, at, key, fingerprint, reason, undoes, about = row
    return Change(
        id=id,
        operation=operation,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        at=at,
        key=key,
        fingerprint=fingerprint,
        reason=reason,
        undoes=undoes,
        about=about,
    )


@lru_cache(maxsize=65_536)
def _hash_word(word: str, language: str) -> tuple[bytes, ...]:
    """Return the hashes of a word's terms; cached, because words repeat."""
    return tuple(map(_hash, index_word(word, language)))


def index_terms(record: Record) -> tuple[int, bytes]:
    """Return the number of terms of a record, and its index entries."""
    words = split_words(record.text)
    languages = repeat(find_language(record.text, words))
    hashes = [*chain.from_iterable(map(_hash_word, words, languages))]
    counts = {_hash(term): count for term, count in read_hidden_terms(record, words).items()}
    if len(set(hashes)) < len(hashes):
        counts = {**Counter(hashes), **counts}
        entries = bytearray()
    else:  # the usual case
        entries = bytearray(_ONCE.join([*hashes, b""]))
    for digest, count in counts.items():
        entries += digest
        entries += min(count, _MOST).to_bytes(_COUNT_BYTES, "little")
    return len(hashes), bytes(entries)


def _to_float16(vector: bytes | None, space: Space) -> bytes | None:
    if vector is None:
        return None
    if len(vector) != 4 * space.dimension:
        raise InvalidRequest(f"the vector is not of the space {space}", field="vector")
    # Loading numpy takes longer than all other work of storing one memory. While another thread loads it,
    # the module is in `sys.modules`, but still empty.
    from_buffer = getattr(sys.modules.get("numpy"), "frombuffer", None)
    if from_buffer is None:
        return struct.pack(f"<{space.dimension}e", *struct.unpack(f"<{space.dimension}f", vector))
    narrow: bytes = from_buffer(vector, "<f4").astype("<f2").tobytes()
    return narrow


def _load_list(text: str) -> tuple[str, ...]:
    return () if text == _NONE else tuple(read_json(text))


def check_row(names: Sequence[str], row: Row) -> None:
    """Raise InvalidRequest for values that SQLite cannot store, before they fail a shared transaction."""
    for name, value in zip(names, row, strict=True):
        if type(value) in _PLAIN_TYPES:
            continue
        if isinstance(value, str):
            if not value.isascii():
                try:
                    value.encode()
                except UnicodeEncodeError as error:
                    raise InvalidRequest("the text contains a lone surrogate", field=name) from error
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise InvalidRequest("the number does not fit into 64 bits", field=name)


def _check_rows(names: Sequence[str], rows: list[Row]) -> Columns:
    """Call `check_row` for many rows; fast if a check by columns finds nothing suspicious."""
    columns = [*zip(*rows, strict=True)]
    if not all(map(_is_plain_column, columns)):
        for row in rows:
            check_row(names, row)
    return columns


def _is_plain_column(column: Sequence[Any]) -> bool:
    kinds = set(map(type, column))
    if kinds == _TEXT:
        return "".join(column).isascii()
    return kinds <= _PLAIN_TYPES or (kinds == _WHOLE and -(2**63) <= min(column) <= max(column) < 2**63)
