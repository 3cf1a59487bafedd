"""Operators and their tokens: who may call a server, and with which rights.

A token is 256 random bits, so a fast hash is enough: brute force is infeasible, and a slow hash would only
make denial of service easier. The hash is keyed, so that precomputed tables of hashes are useless.

Every function works inside the caller's transaction.
"""

import hashlib
import hmac
import os
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import make_hash_key, read_hash_key
from memorywire.journal.backend import Session, Work
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.journal.ledger import operator_keys
from memorywire.model.clock import Clock
from memorywire.model.codec import dumps, loads
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.ids import Entropy
from memorywire.model.record import Json, Scope

T = TypeVar("T")

_HEAD = "mw_"
_SECRET_BYTES = 32
_ID_BYTES = 9
_ID_LETTERS = 12
_NAME_MAX = 64
_EVERY_AGENT = Scope(agent="*")


class Role(StrEnum):
    READER = "reader"
    WRITER = "writer"
    REVIEWER = "reviewer"
    ADMIN = "admin"
    AGENT = "agent"


class Right(StrEnum):
    READ = "read"
    WRITE = "write"
    REVIEW = "review"
    MANAGE = "manage"


RIGHTS: Mapping[Role, frozenset[Right]] = {
    Role.READER: frozenset({Right.READ}),
    Role.WRITER: frozenset({Right.READ, Right.WRITE}),
    Role.REVIEWER: frozenset({Right.READ, Right.REVIEW}),
    Role.ADMIN: frozenset(Right),
    Role.AGENT: frozenset({Right.READ, Right.WRITE}),
}
"""A writer cannot decide held proposals, and a reviewer cannot write; an admin can do both.

An agent has the rights of a writer, but acts as an agent: policy treats it as a program, not as a person.
"""

EVERYBODY = ("*",)

NEVER = -1
"""As an expiry: the token never expires."""


class Operator(Struct, frozen=True, kw_only=True):
    """A named caller with a role in these tenants and agents; `*` in a pattern matches any characters."""

    name: str
    role: Role
    made_at: int
    tenants: tuple[str, ...]
    agents: tuple[str, ...] = EVERYBODY
    revoked_at: int | None = None

    @property
    def rights(self) -> frozenset[Right]:
        return RIGHTS[self.role]


class Token(Struct, frozen=True, kw_only=True):
    """A stored token: its hash, by which it is recognised, but not its secret."""

    id: str
    operator: str
    hash: bytes
    made_at: int
    expires_at: int | None = None
    used_at: int | None = None
    revoked_at: int | None = None

    def holds(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Issued(Struct, frozen=True, kw_only=True):
    """A new token: `secret` is shown once and never stored."""

    token: Token
    secret: str


class Operators:
    """The operators and tokens that may call a server, for its authentication."""

    def __init__(self, journal: Journal) -> None:
        self._backend = journal.backend

    async def has_any(self) -> bool:
        """Return whether an operator was ever added, even if revoked: then every caller needs a token."""
        return bool(await self._backend.read(lambda db: db.value("has_operator")))

    async def recognise(self, secret: str, now: int) -> tuple[Operator, Token] | None:
        """Return the operator and the token of a secret, or None if it is not accepted for any reason."""
        return await self._backend.read(partial(_recognise, secret=secret, now=now))

    async def note_use(self, id: str, at: int) -> None:
        """Store when a token was last used."""
        await self._backend.write(lambda db: db.execute("set_token_used", {"id": id, "at": at}))


class Registry(Struct, frozen=True, kw_only=True):
    """Changes the operators of a journal on behalf of `actor`.

    The ledger records the names, never a token.
    """

    journal: Journal
    clock: Clock
    actor: str
    entropy: Entropy = os.urandom

    async def add(self, operator: Operator, *, expires_at: int | None = None) -> Issued:
        """Add an operator and issue the first token; raises InvalidRequest or Conflict."""

        def work(db: Session) -> Issued:
            _add_operator(db, operator)
            return _issue_token(
                db, operator.name, now=self.clock(), expires_at=expires_at, entropy=self.entropy
            )

        return await self._write(work, "added", operator.name, role=operator.role.value)

    async def rotate(self, name: str, *, overlap_ms: int = 0, expires_at: int | None = None) -> Issued:
        """Issue a new token; the earlier tokens expire after the overlap. Raises InvalidRequest or Conflict.

        By default it expires when the newest earlier token would have expired, so that rotation does not
        extend a limited token for ever. `expires_at` sets another time; with `NEVER` the token does not
        expire.
        """

        def work(db: Session) -> Issued:
            now = self.clock()
            end = _find_newest_end(db, name, now) if expires_at is None else expires_at
            db.execute("end_tokens", {"name": name, "at": now + overlap_ms})
            end = None if end == NEVER else end
            return _issue_token(db, name, now=now, expires_at=end, entropy=self.entropy)

        return await self._write(work, "rotated", name)

    async def revoke(self, name: str) -> bool:
        """Revoke an operator and all of their tokens; False, and no entry, if they were already revoked."""

        def work(db: Session) -> bool:
            if _find_operator(db, name).revoked_at is not None:
                return False
            for statement in ("revoke_operator", "revoke_tokens"):
                db.execute(statement, {"name": name, "at": self.clock()})
            return True

        return await self._write(work, "revoked", name)

    async def known(self) -> list[tuple[Operator, list[Token]]]:
        """Return every operator that was ever added, with their stored tokens."""

        def work(db: Session) -> list[tuple[Operator, list[Token]]]:
            tokens = _list_tokens(db)
            operators = [_read_operator(*row) for row in db.rows("operators")]
            return [(one, [token for token in tokens if token.operator == one.name]) for one in operators]

        return await self.journal.backend.read(work)

    async def _write(self, work: Work[T], kind: str, name: str, **details: Json) -> T:
        entry = Entry(
            at=self.clock(),
            operation="operator",
            scope=_EVERY_AGENT,
            actor=self.actor,
            kind=kind,
            subject=name,
            details=details,
        )
        return await self.journal.write_with_entry(work, entry, partial(operator_keys, name=name))


def _add_operator(db: Session, operator: Operator) -> None:
    """Store a new operator; raises InvalidRequest or Conflict."""
    _check(operator)
    if not db.execute("add_operator", {"name": operator.name, "body": dumps(operator)}):
        raise Conflict(
            f"there is an operator {operator.name} already, perhaps a revoked one",
            field="name",
            fix="choose another name, so that the ledger stays clear",
        )


def _find_operator(db: Session, name: str) -> Operator:
    row = db.row("operator", {"name": name})
    if row is None:
        raise NotFound(f"there is no operator {name}", field="name", fix="see: memorywire operator list")
    return _read_operator(*row)


def _list_tokens(db: Session) -> list[Token]:
    return [_read_token(row) for row in db.rows("tokens")]


def _issue_token(db: Session, name: str, *, now: int, expires_at: int | None, entropy: Entropy) -> Issued:
    """Store and return a new token; raises Conflict for a revoked operator."""
    if _find_operator(db, name).revoked_at is not None:
        raise Conflict(f"operator {name} is revoked", field="name", fix="add a new one")
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("that time is in the past", field="expires_at", fix="give a time in the future")
    id = _encode_letters(entropy(_ID_BYTES))
    secret = _encode_letters(entropy(_SECRET_BYTES))
    token = Token(
        id=id,
        operator=name,
        hash=_hash(make_hash_key(db, entropy), secret),
        made_at=now,
        expires_at=expires_at,
    )
    row = {"id": id, "operator": name, "hash": token.hash, "made_at": now, "expires_at": expires_at}
    db.execute("add_token", row)
    return Issued(token=token, secret=f"{_HEAD}{id}_{secret}")


def _find_newest_end(db: Session, name: str, now: int) -> int | None:
    """Return when the newest token of an operator expires; raises InvalidRequest if it has expired."""
    _find_operator(db, name)
    own = [token for token in _list_tokens(db) if token.operator == name]
    # Of tokens made in the same millisecond, the newest expires last: a rotation only shortens old tokens.
    own.sort(key=lambda token: (token.made_at, token.expires_at is None, token.expires_at or 0))
    end = own[-1].expires_at if own else None
    if end is not None and end <= now:
        raise InvalidRequest(
            f"the last token of {name} has expired, so the new one needs its own expiry",
            field="expires_at",
            fix="give its expiry, on the command line with --expires WHEN or --expires never",
        )
    return end


def _recognise(db: Session, secret: str, now: int) -> tuple[Operator, Token] | None:
    """Return the operator and the token of a secret, or None if it is not accepted for any reason."""
    hash_key = read_hash_key(db)
    if hash_key is None or not secret.startswith(_HEAD) or not secret.isascii():
        return None
    id, tail = secret[len(_HEAD) :][:_ID_LETTERS], secret[len(_HEAD) + _ID_LETTERS + 1 :]
    row = db.row("token", {"id": id})
    token = None if row is None else _read_token(row)
    # Compared even without a stored token, so that the response time does not reveal which ids exist.
    same = hmac.compare_digest(_hash(hash_key, tail), bytes(_SECRET_BYTES) if token is None else token.hash)
    if token is None or not same or not token.holds(now):
        return None
    owner = _find_operator(db, token.operator)
    return None if owner.revoked_at is not None else (owner, token)


def _check(operator: Operator) -> None:
    name = operator.name
    if not 1 <= len(name) <= _NAME_MAX or not name.isprintable() or set(name) & set(" :*"):
        raise InvalidRequest(
            f"a name must have 1 to {_NAME_MAX} visible characters, without spaces, colons and stars",
            field="name",
        )
    for field, patterns in (("tenants", operator.tenants), ("agents", operator.agents)):
        if not patterns or not all(patterns):
            raise InvalidRequest(f"{field} must name at least one", field=field, fix="use * for all")
        if listed := [pattern for pattern in patterns if "," in pattern]:
            raise InvalidRequest(
                f"{listed[0]} is one name that contains a comma, not a list",
                field=field,
                fix=f"give each one separately, on the command line with one --{field} each",
            )


def _read_operator(body: str, revoked_at: int | None) -> Operator:
    return replace(loads(Operator, body), revoked_at=revoked_at)


def _read_token(row: tuple[str, str, bytes, int, int | None, int | None, int | None]) -> Token:
    id, name, hash, made_at, expires_at, used_at, revoked_at = row
    return Token(
        id=id,
        operator=name,
        hash=hash,
        made_at=made_at,
        expires_at=expires_at,
        used_at=used_at,
        revoked_at=revoked_at,
    )


def _hash(key: bytes, secret: str) -> bytes:
    return hmac.new(key, secret.encode(), hashlib.sha256).digest()


def _encode_letters(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
