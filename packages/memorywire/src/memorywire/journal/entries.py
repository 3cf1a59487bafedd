"""Ledger entries: operation, actor, subject and commitments to content, but never the content."""

import hashlib
import math
import os
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from msgspec import NODEFAULT, Raw, Struct, field
from msgspec.json import Encoder
from msgspec.structs import FieldInfo, astuple, fields, replace

from memorywire.model.change import Change
from memorywire.model.errors import InvalidRequest
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing, Trust

_SAME = frozenset({str, int, bool, type(None), Raw, MemoryType, Standing, Trust})  # encoded as in RFC 8785
_encode = Encoder(order="sorted").encode
# Between these limits, Python's repr of a float has the same digits as ECMAScript's.
_PLAIN_FROM, _PLAIN_BELOW = 1e-4, 1e16
_LONGEST_WHOLE, _SMALLEST_POINT = 21, -6


def canonical_bytes(value: Json) -> bytes:
    """Return the canonical JSON of a value, in UTF-8, for hashes and signatures.

    Integers keep all their digits, unlike RFC 8785, which rounds beyond 2**53. A Struct is encoded unchanged:
    its fields must be in alphabetical order and hold text, integers, Raw JSON or Structs of such fields.
    Raises InvalidRequest for a lone surrogate or a number that is not finite.
    """
    try:
        return _encode(_to_canonical(value))
    except UnicodeEncodeError as error:
        raise InvalidRequest("the text contains a lone surrogate") from error


def canonical(value: Json) -> str:
    """Return the canonical JSON of a value as text."""
    return canonical_bytes(value).decode()


def _to_canonical(value: Json) -> Json:
    """Return the value in a form that msgspec encodes canonically.

    msgspec formats floats and sorts non-ASCII keys differently, so those are encoded here, as Raw.
    """
    kind = type(value)
    if kind in _SAME:
        return value
    if kind is dict or isinstance(value, Mapping):
        members = {}
        for name, inner in value.items():  # a call per value would take most of the time
            members[name] = inner if type(inner) in _SAME else _to_canonical(inner)
        if "".join(members).isascii():
            return members
        names = sorted(members, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return Raw(
            b"{%b}" % b",".join([b"%b:%b" % (_encode(name), _encode(members[name])) for name in names])
        )
    if isinstance(value, float):
        return Raw(_encode_number(value).encode())
    return [*map(_to_canonical, value)] if isinstance(value, list | tuple) else value


def _encode_number(value: float) -> str:
    if not math.isfinite(value):
        raise InvalidRequest("a number in the entry is not finite")
    if value == 0:
        return "0"  # -0 too
    if _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value).removesuffix(".0")
    return ("-" if value < 0 else "") + _ecmascript(Decimal(repr(abs(value))).normalize())


def _ecmascript(value: Decimal) -> str:
    """Number::toString of ECMA-262; `point` is the position of the decimal point in the digits."""
    parts = value.as_tuple()
    digits = "".join(map(str, parts.digits))
    point = len(digits) + int(parts.exponent)
    if len(digits) <= point <= _LONGEST_WHOLE:
        return digits.ljust(point, "0")
    if _SMALLEST_POINT < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


_SALT_BYTES = 16
_MARK_DIGITS = _DIGITS = 32


def _default(field: FieldInfo) -> object:
    """Return the default value of a field of a record."""
    return field.default if field.default_factory is NODEFAULT else field.default_factory()


_FIELDS, _DEFAULTS = Record.__struct_fields__, tuple(map(_default, fields(Record)))
_NOT_HASHED = frozenset({"scope", "recalled_at"})  # the parts of the scope are hashed instead


class Content(Struct, frozen=True, kw_only=True, gc=False):
    """A version whose digest the ledger commits to."""

    memory: str
    version: int
    digest: bytes


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One operation. `details` has ids, counts, scores and reasons, never the content of a memory.

    `subject` is the id of the change, proposal or recall; `kind` is the outcome (committed, staged,
    refused, ...). The entry commits to `contents` by salted digests.
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


class Commitment(Struct, frozen=True, gc=False):
    """The salted digest of a version."""

    digest: str
    id: str
    version: int


class Body(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An entry as it is hashed and stored; the fields are in alphabetical order, as in its canonical text.

    The transaction adds the sequence number, the mark of the person that the entry is about, and in `state`
    the digests of the changed rows.
    """

    actor: str
    agent: str
    at: int
    commitments: tuple[Commitment, ...] = ()
    details: Raw | None = None
    kind: str
    operation: str
    person: str | None = None
    seq: int = 0
    state: Raw | None = None
    subject: str | None = None
    tenant: str


class Draft(Struct, frozen=True, gc=False):
    """An entry without the fields that the transaction adds; `person` is (tenant, user)."""

    body: Body
    salts: tuple[Salt, ...]
    person: tuple[str, str] | None = None

    def complete(self, sequence: int, mark: str | None = None, state: Json = None) -> str:
        """Return the canonical text; `mark` replaces the person, `state` holds the digests of rows."""
        raw = None if state is None else Raw(canonical_bytes(state))
        return canonical_bytes(replace(self.body, seq=sequence, person=mark, state=raw)).decode()


def build_draft(entry: Entry, entropy: Entropy = os.urandom) -> Draft:
    """Build the parts of an entry that need no database, so that the transaction is short.

    Raises InvalidRequest for details that have no canonical text.
    """
    scope, salts, commitments = entry.scope, [], []
    for content in entry.contents:
        salt = entropy(_SALT_BYTES)
        salts.append(Salt(scope.tenant, content.memory, content.version, salt))
        commitments.append(Commitment(commitment(salt, content.digest), content.memory, content.version))
    body = Body(
        actor=entry.actor,
        agent=scope.agent,
        at=entry.at,
        commitments=tuple(commitments),
        details=Raw(canonical_bytes(entry.details)) if entry.details else None,
        kind=entry.kind,
        operation=entry.operation,
        subject=entry.subject,
        tenant=scope.tenant,
    )
    return Draft(body, tuple(salts), None if scope.user is None else (scope.tenant, scope.user))


def commitment(salt: bytes, digest: bytes) -> str:
    """Return the salted digest for the ledger; it can only be checked with both the content and the salt."""
    return hashlib.sha256(salt + digest).hexdigest()


def mark_of(salt: bytes, tenant: str, user: str) -> str:
    """Return the ledger's mark of a user: a commitment to the id, which reveals nothing without the salt."""
    digest = hashlib.sha256(canonical_bytes([tenant, user])).digest()
    return commitment(salt, digest)[:_MARK_DIGITS]


def contents_of(change: Change) -> tuple[Content, ...]:
    """Return the versions that a change begins, with their digests."""
    contents = []
    for put in change.put:
        record = put.record
        contents.append(Content(memory=record.id, version=record.version, digest=record_digest(record)))
    return tuple(contents)


def record_digest(record: Record) -> bytes:
    """Return the digest of all fields of a version and of its scope.

    Fields with their default value are left out, so that a field added later changes no older digest.
    """
    scope = record.scope
    document: dict[str, Json] = {"agent": scope.agent, "tenant": scope.tenant, "user": scope.user}
    document |= {
        name: value
        for name, value, default in zip(_FIELDS, astuple(record), _DEFAULTS, strict=True)
        if value is not default and value != default and name not in _NOT_HASHED
    }
    return hashlib.sha256(canonical_bytes(document)).digest()


def digests_beside(
    about: str | None, key: str | None, reason: str | None, fingerprint: str | None
) -> dict[str, Json]:
    """Return digests of the fields that a change has besides its versions."""
    digests: dict[str, Json] = {"digest": _digest([about, key, reason])}
    if reason is not None:  # an erase removes the reason; the other fields can still be compared
        digests["unreasoned"] = _digest([about, key, None])
    return digests if fingerprint is None else digests | {"fingerprint": _digest(fingerprint)}


def _digest(value: Json) -> str:
    return hashlib.sha256(canonical_bytes(value)).hexdigest()[:_DIGITS]
