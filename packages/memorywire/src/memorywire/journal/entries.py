"""An entry of the ledger: what was done, by whom, to what; and commitments to content, never content."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import compress, repeat
from json.encoder import encode_basestring as quoted
from operator import attrgetter, is_not
from typing import NamedTuple

from msgspec import NODEFAULT, Struct, field
from msgspec.structs import fields

from memorywire.journal.canonical import canonical, canonicals, encoded
from memorywire.model.change import Change
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, Record, Scope

_SALT_BYTES = 16
_MARK_DIGITS = 32
_DIGITS = 32
_NOT_SAID = {"scope", "recalled_at"}  # the first is written out, the second is no part of a version
_ALWAYS = {"agent": "scope.agent", "tenant": "scope.tenant", "user": "scope.user"}
_KEPT = {known.name: known for known in fields(Record) if known.name not in _NOT_SAID}
_SAID = sorted([*_KEPT, *_ALWAYS])  # as `canonical` sorts them
_LABELS = tuple(f',"{name}":' for name in _SAID)
_told = attrgetter(*(_ALWAYS.get(name, name) for name in _SAID))


def _usual(name: str) -> object:
    """The default of a field; of a scope, everything is always said."""
    if name in _ALWAYS:
        return NODEFAULT
    made = _KEPT[name].default_factory
    return _KEPT[name].default if made is NODEFAULT else made()


_USUAL = tuple(map(_usual, _SAID))


class Content(Struct, frozen=True, kw_only=True):
    """A version whose digest the ledger commits to."""

    memory: str
    version: int
    digest: bytes


class Entry(Struct, frozen=True, kw_only=True):
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


class Salt(NamedTuple):
    """The secret that opens one commitment of an entry."""

    tenant: str
    memory: str
    version: int
    salt: bytes


class Draft(Struct, frozen=True):
    """An entry's canonical text but for what only the transaction knows, which stands behind `head`.

    That is its sequence number, the mark of the `person` it is about (a tenant and one of its users) and
    the digests of the rows that it changed.
    """

    head: str
    tail: str
    salts: tuple[Salt, ...]
    person: tuple[str, str] | None = None

    def body(self, sequence: int, mark: str | None = None, state: str = "") -> str:
        """The text; `mark` stands for the person, `state` is the JSON of the digests of rows."""
        person = "" if mark is None else f',"person":"{mark}"'
        rows = state and f',"state":{state}'
        return f'{self.head}{person},"seq":{sequence}{rows}{self.tail}'


def build_draft(entry: Entry, entropy: Entropy = os.urandom) -> Draft:
    """Do all work that needs no database, so that little is left for the transaction.

    The text is what `canonical` would give: names are sorted, and "person", "seq" and "state" stand between
    the two halves.
    """
    scope, committed = entry.scope, ""
    salts: tuple[Salt, ...] = ()
    if entry.contents:
        salts = tuple([Salt(scope.tenant, c.memory, c.version, entropy(_SALT_BYTES)) for c in entry.contents])
        committed = f',"commitments":[{",".join(map(_commitment, entry.contents, salts))}]'
    details = f',"details":{_detailed(entry.details)}' if entry.details else ""
    middle = _middle(entry.kind, entry.operation)
    subject = "" if entry.subject is None else f',"subject":{quoted(entry.subject)}'
    head = f"{_opening(entry.actor, scope.agent)}{entry.at}{committed}{details}{middle}"
    tail = f"{subject}{_ending(scope.tenant)}"
    if not (head.isascii() and tail.isascii()):
        encoded(head + tail)
    return Draft(head, tail, salts, None if scope.user is None else (scope.tenant, scope.user))


def build_drafts(entries: Sequence[Entry], entropy: Entropy = os.urandom) -> list[Draft]:
    """As `build_draft` for many entries, with one draw of random bytes."""
    drawn = BytesIO(entropy(_SALT_BYTES * sum(len(entry.contents) for entry in entries)))
    return [build_draft(entry, drawn.read) for entry in entries]


def _detailed(details: Mapping[str, Json]) -> str:
    """The details as `canonical` spells them; mostly there is only one word."""
    if len(details) > 1:
        return canonical(details)
    ((name, value),) = details.items()
    return f"{{{quoted(name)}:{_spelled(value)}}}"


# What is the same in entry after entry.


@lru_cache(maxsize=256)
def _opening(actor: str, agent: str) -> str:
    return f'{{"actor":{quoted(actor)},"agent":{quoted(agent)},"at":'


@lru_cache(maxsize=256)
def _middle(kind: str, operation: str) -> str:
    return f',"kind":{quoted(kind)},"operation":{quoted(operation)}'


@lru_cache(maxsize=256)
def _ending(tenant: str) -> str:
    return f',"tenant":{quoted(tenant)}}}'


def commitment(salt: bytes, digest: bytes) -> str:
    """The salted digest that the ledger keeps; it tells nothing without both the content and the salt."""
    return hashlib.sha256(salt + digest).hexdigest()


def mark_of(salt: bytes, tenant: str, user: str) -> str:
    """What the ledger calls a user: a commitment to the id, which says nothing without the salt."""
    digest = hashlib.sha256(encoded(canonical([tenant, user]))).digest()
    return commitment(salt, digest)[:_MARK_DIGITS]


def contents_of(change: Change) -> tuple[Content, ...]:
    """What a change says: each version that it begins."""
    return tuple([_content(put.record, record_digest(put.record)) for put in change.put])


def contents_of_each(changes: Sequence[Change]) -> list[tuple[Content, ...]]:
    """The same of many changes, each of which begins one version."""
    records = [change.put[0].record for change in changes]
    return [(_content(*told),) for told in zip(records, record_digests(records), strict=True)]


def _content(record: Record, digest: bytes) -> Content:
    return Content(memory=record.id, version=record.version, digest=digest)


def record_digest(record: Record) -> bytes:
    """The digest of everything a version says and of its scope, as one canonical text.

    Fields with their default value are left out, so that a field added later changes no older digest.
    """
    values = _told(record)
    told = compress(zip(_LABELS, _USUAL, values, strict=True), map(is_not, values, _USUAL))
    return _hashed("".join([label + _spelled(value) for label, usual, value in told if value != usual]))


def record_digests(records: Sequence[Record]) -> list[bytes]:
    """As `record_digest` for many, field by field: what they have in common is spelled once."""
    if not records:
        return []
    texts: list[Iterable[str]] = []
    alike = ""
    for label, usual, values in zip(_LABELS, _USUAL, zip(*map(_told, records), strict=True), strict=True):
        if values[0] is values[-1] and len(set(map(id, values))) == 1:
            alike += "" if values[0] == usual else label + _spelled(values[0])
        else:
            texts += (repeat(alike, len(records)), _column(label, usual, values))
            alike = ""
    texts.append(repeat(alike, len(records)))
    return [_hashed("".join(said)) for said in zip(*texts, strict=True)]


def _column(label: str, usual: object, values: tuple[Json, ...]) -> list[str]:
    """The spelling of one field in each record; empty where it is left out."""
    if usual is not NODEFAULT and usual in values:
        return ["" if value == usual else label + _spelled(value) for value in values]
    return [label + text for text in canonicals(values)]


def _hashed(said: str) -> bytes:
    return hashlib.sha256(encoded(f"{{{said[1:]}}}")).digest()


def _spelled(value: Json) -> str:
    """As `canonical` spells it: most of what is said are words and numbers."""
    if isinstance(value, str):
        return quoted(value)
    kind = type(value)
    return str(value) if kind is int else "null" if value is None else canonical(value)


def _commitment(content: Content, salt: Salt) -> str:
    digest = commitment(salt.salt, content.digest)
    return f'{{"digest":"{digest}","id":{quoted(content.memory)},"version":{content.version}}}'


def told_beside(change: Change) -> dict[str, Json] | None:
    """Digests of what a change holds beside its versions; None when there is nothing."""
    beside = (change.about, change.key, change.reason)
    if change.fingerprint is None and beside == (None, None, None):
        return None
    return digests_beside(*beside, change.fingerprint)


def digests_beside(
    about: str | None, key: str | None, reason: str | None, fingerprint: str | None
) -> dict[str, Json]:
    told: dict[str, Json] = {"digest": _digest([about, key, reason])}
    return told if fingerprint is None else told | {"fingerprint": _digest(fingerprint)}


def _digest(value: Json) -> str:
    return hashlib.sha256(encoded(canonical(value))).hexdigest()[:_DIGITS]
