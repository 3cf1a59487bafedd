"""An entry of the ledger: what was done, by whom, to what; and commitments to content, never content."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import MISSING, field, fields
from json.encoder import encode_basestring as quoted
from operator import attrgetter

from memorywire.journal.canonical import canonical, encoded
from memorywire.model.change import Change
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, Record, Scope
from memorywire.model.values import dataclass

_SALT_BYTES = 16
_NOT_SAID = {"scope", "recalled_at"}  # the first is written out, the second is no part of a version
_KEPT = tuple(known for known in fields(Record) if known.name not in _NOT_SAID)
_SAID = tuple(known.name for known in _KEPT)
_USUAL = tuple(
    known.default_factory() if known.default_factory is not MISSING else known.default for known in _KEPT
)
_told = attrgetter(*_SAID)


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
    """All of the work that needs no database, so that little is left to do in a transaction.

    The text is what `canonical` would make of it: names sort, and "seq" has its place between two halves.
    """
    scope, salts = entry.scope, []
    head = f'{{"actor":{quoted(entry.actor)},"agent":{quoted(scope.agent)},"at":{entry.at}'
    if entry.contents:
        salts = [Salt(scope.tenant, c.memory, c.version, entropy(_SALT_BYTES)) for c in entry.contents]
        head += f',"commitments":[{",".join(map(_commitment, entry.contents, salts))}]'
    if entry.details:
        head += f',"details":{canonical(entry.details)}'
    head += f',"kind":{quoted(entry.kind)},"operation":{quoted(entry.operation)},"seq":'
    subject = "" if entry.subject is None else f',"subject":{quoted(entry.subject)}'
    user = "" if scope.user is None else f',"user":{quoted(scope.user)}'
    tail = f'{subject},"tenant":{quoted(scope.tenant)}{user}}}'
    encoded(head + tail)
    return Draft(head, tail, tuple(salts))


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
    told = zip(_SAID, _USUAL, _told(record), strict=True)
    said = {name: value for name, usual, value in told if value is not usual and value != usual}
    scope = record.scope
    said |= {"agent": scope.agent, "tenant": scope.tenant, "user": scope.user}
    return hashlib.sha256(encoded(canonical(said))).digest()


def _commitment(content: Content, salt: Salt) -> str:
    digest = commitment(salt.salt, content.digest)
    return f'{{"digest":"{digest}","id":{quoted(content.memory)},"version":{content.version}}}'
