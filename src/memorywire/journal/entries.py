"""An entry of the ledger: what was done, by whom, to what; and commitments to content, never content."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields

from memorywire.journal.canonical import canonical, encoded
from memorywire.model.change import Change
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, Record, Scope

_SALT_BYTES = 16
_NOT_SAID = {"scope", "recalled_at"}  # the first is written out, the second is no part of a version
_SAID = tuple(
    (known.name, known.default_factory() if known.default_factory is not MISSING else known.default)
    for known in fields(Record)
    if known.name not in _NOT_SAID
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """That a version of a memory said something: the digest of it, to be salted."""

    memory: str
    version: int
    digest: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that was done. `details` name ids, counts, scores and reasons, never what a memory says.

    `subject` is the id of the change, proposal or recall; `kind` says how it ended (committed, staged,
    refused, ...). `contents` are committed to by salted digest.
    """

    at: int
    operation: str
    scope: Scope
    actor: str
    kind: str
    subject: str | None = None
    details: Mapping[str, Json] = field(default_factory=dict)
    contents: tuple[Content, ...] = ()


@dataclass(frozen=True, slots=True)
class Salt:
    """What opens one commitment of an entry."""

    tenant: str
    memory: str
    version: int
    salt: bytes


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry's canonical text but for its sequence number, which stands between `head` and `tail`."""

    head: str
    tail: str
    salts: tuple[Salt, ...]

    def body(self, sequence: int) -> str:
        return f"{self.head}{sequence}{self.tail}"


def draft(entry: Entry, entropy: Entropy = os.urandom) -> Draft:
    """All of the work that needs no database, so that little is left to do in a transaction."""
    tenant = entry.scope.tenant
    salts = tuple(Salt(tenant, c.memory, c.version, entropy(_SALT_BYTES)) for c in entry.contents)
    before: dict[str, Json] = {
        "actor": entry.actor,
        "agent": entry.scope.agent,
        "at": entry.at,
        "kind": entry.kind,
        "operation": entry.operation,
    }
    if entry.contents:
        before["commitments"] = [_commitment(c, s) for c, s in zip(entry.contents, salts, strict=True)]
    if entry.details:
        before["details"] = entry.details
    after = {"subject": entry.subject, "tenant": tenant, "user": entry.scope.user}
    said = {name: value for name, value in after.items() if value is not None}
    # Names sort, and "seq" has its place between these two halves.
    head = f'{canonical(before)[:-1]},"seq":'
    tail = f",{canonical(said)[1:]}"
    encoded(head + tail)
    return Draft(head, tail, salts)


def commitment(salt: bytes, digest: bytes) -> str:
    """What the ledger holds of a content: nothing to whoever has not both the content and the salt."""
    return hashlib.sha256(salt + digest).hexdigest()


def contents_of(change: Change) -> tuple[Content, ...]:
    """What a change says: each version that it begins."""
    return tuple(
        Content(memory=put.record.id, version=put.record.version, digest=record_digest(put.record))
        for put in change.put
    )


def record_digest(record: Record) -> bytes:
    """Of everything a version says and whose it is.

    What has its default value is left out, so that a field added later changes no older digest.
    """
    said = {name: value for name, default in _SAID if (value := getattr(record, name)) != default}
    whose = {"tenant": record.scope.tenant, "agent": record.scope.agent, "user": record.scope.user}
    return hashlib.sha256(encoded(canonical(said | whose))).digest()


def _commitment(content: Content, salt: Salt) -> dict[str, Json]:
    return {
        "digest": commitment(salt.salt, content.digest),
        "id": content.memory,
        "version": content.version,
    }
