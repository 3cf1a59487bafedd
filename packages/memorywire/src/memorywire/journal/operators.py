"""Operators and their tokens: who may come in through a door, and what they may do there.

A token is 256 random bits, so a fast hash is enough: nobody can try them all, and a slow hash would only
let strangers spend our time. The hash is keyed, so that tables of hashes made elsewhere are of no use.

Every function works inside the caller's transaction.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from enum import StrEnum

import apsw
from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.codec import dumps, loads
from memorywire.model.errors import Conflict, InvalidRequest, NotFound
from memorywire.model.ids import Entropy
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_doors.sql")

_HEAD = "mw_"
_SECRET_BYTES = 32
_ID_BYTES = 9
_ID_LETTERS = 12
_NAME_MAX = 64


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
"""A writer does not decide what is held, and a reviewer does not write; an admin does both.

An agent has the rights of a writer, but acts as an agent: policy treats it as a program, not as a person.
"""

EVERYBODY = ("*",)

NEVER = -1
"""As the end of a token: it has none."""


class Operator(Struct, frozen=True, kw_only=True):
    """Somebody with a name and a role, for these tenants and agents; `*` in a pattern is any characters."""

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
    """What is kept of a token: enough to know it again, too little to use it."""

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
    """A new token: `secret` is shown once and kept nowhere."""

    token: Token
    secret: str


def any_operator(db: apsw.Connection) -> bool:
    """Whether anybody was ever named, revoked or not: from then on nobody comes in without a token."""
    return bool(db.execute(QUERIES["any_operator"]).get)


def add_operator(db: apsw.Connection, operator: Operator) -> None:
    """Keep a new operator; raises InvalidRequest or Conflict."""
    _check(operator)
    db.execute(QUERIES["add_operator"], {"name": operator.name, "body": dumps(operator)})
    if not db.changes():
        raise Conflict(
            f"there is an operator {operator.name} already, perhaps a revoked one",
            field="name",
            fix="choose another name, so that the ledger stays clear",
        )


def operators(db: apsw.Connection) -> list[Operator]:
    return [_operator(*row) for row in db.execute(QUERIES["operators"])]


def operator(db: apsw.Connection, name: str) -> Operator:
    row = db.execute(QUERIES["operator"], {"name": name}).fetchone()
    if row is None:
        raise NotFound(f"there is no operator {name}", field="name", fix="see: memorywire operator list")
    return _operator(*row)


def tokens(db: apsw.Connection) -> list[Token]:
    return [_token(row) for row in db.execute(QUERIES["tokens"])]


def issue(db: apsw.Connection, name: str, *, now: int, expires_at: int | None, entropy: Entropy) -> Issued:
    """A new token for an operator who is not revoked."""
    if operator(db, name).revoked_at is not None:
        raise Conflict(f"operator {name} is revoked", field="name", fix="add a new one")
    if expires_at is not None and expires_at <= now:
        raise InvalidRequest("that moment is past", field="expires_at", fix="name one in the future")
    id = _letters(entropy(_ID_BYTES))
    secret = _letters(entropy(_SECRET_BYTES))
    token = Token(
        id=id, operator=name, hash=_hash(make_key(db, entropy), secret), made_at=now, expires_at=expires_at
    )
    row = {"id": id, "operator": name, "hash": token.hash, "made_at": now, "expires_at": expires_at}
    db.execute(QUERIES["add_token"], row)
    return Issued(token=token, secret=f"{_HEAD}{id}_{secret}")


def rotate(
    db: apsw.Connection, name: str, *, now: int, overlap_ms: int, expires_at: int | None, entropy: Entropy
) -> Issued:
    """A new token; those before it end after the overlap.

    It ends when the newest token before it would have ended, unless `expires_at` says otherwise: a token that
    was given for a time is not renewed for ever by replacing it. `NEVER` gives one without an end.
    """
    if expires_at is None:
        expires_at = _newest_end(db, name, now)
    db.execute(QUERIES["end_tokens"], {"name": name, "at": now + overlap_ms})
    return issue(db, name, now=now, expires_at=None if expires_at == NEVER else expires_at, entropy=entropy)


def _newest_end(db: apsw.Connection, name: str, now: int) -> int | None:
    """When the newest token of an operator ends; raises InvalidRequest if it has ended already."""
    operator(db, name)
    own = [token for token in tokens(db) if token.operator == name]
    # Of tokens made in one millisecond the newest ends last: a rotation only brings ends forward.
    own.sort(key=lambda token: (token.made_at, token.expires_at is None, token.expires_at or 0))
    end = own[-1].expires_at if own else None
    if end is not None and end <= now:
        raise InvalidRequest(
            f"the last token of {name} has ended, so a new one needs an end of its own",
            field="expires_at",
            fix="say when the new one ends, on the command line with --expires WHEN or --expires never",
        )
    return end


def revoke(db: apsw.Connection, name: str, now: int) -> bool:
    """Accept no token of this operator from now on; False if they were revoked before."""
    if operator(db, name).revoked_at is not None:
        return False
    for query in ("revoke_operator", "revoke_tokens"):
        db.execute(QUERIES[query], {"name": name, "at": now})
    return True


def recognise(db: apsw.Connection, secret: str, now: int) -> tuple[Operator, Token] | None:
    """Whose token this is; None for every reason why it is not taken."""
    hash_key = key(db)
    if hash_key is None or not secret.startswith(_HEAD) or not secret.isascii():
        return None
    id, tail = secret[len(_HEAD) :][:_ID_LETTERS], secret[len(_HEAD) + _ID_LETTERS + 1 :]
    row = db.execute(QUERIES["token"], {"id": id}).fetchone()
    token = None if row is None else _token(row)
    # Compared even when there is nothing to compare with, so that time says nothing about ids.
    same = hmac.compare_digest(_hash(hash_key, tail), bytes(_SECRET_BYTES) if token is None else token.hash)
    if token is None or not same or not token.holds(now):
        return None
    found = operator(db, token.operator)
    return None if found.revoked_at is not None else (found, token)


def note_use(db: apsw.Connection, id: str, at: int) -> None:
    db.execute(QUERIES["used"], {"id": id, "at": at})


def _check(operator: Operator) -> None:
    name = operator.name
    if not 1 <= len(name) <= _NAME_MAX or not name.isprintable() or set(name) & set(" :*"):
        raise InvalidRequest(
            f"a name has 1 to {_NAME_MAX} visible characters, without spaces, colons and stars", field="name"
        )
    for field, patterns in (("tenants", operator.tenants), ("agents", operator.agents)):
        if not patterns or not all(patterns):
            raise InvalidRequest(f"{field} must name somebody", field=field, fix="use * for everybody")
        if listed := [pattern for pattern in patterns if "," in pattern]:
            raise InvalidRequest(
                f"{listed[0]} is one name with a comma in it, not a list",
                field=field,
                fix=f"name each by itself, on the command line with a --{field} of its own",
            )


def _operator(body: str, revoked_at: int | None) -> Operator:
    return replace(loads(Operator, body), revoked_at=revoked_at)


def _token(row: tuple[str, str, bytes, int, int | None, int | None, int | None]) -> Token:
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


def key(db: apsw.Connection) -> bytes | None:
    """The key of this database for its hashes; None until one was needed."""
    found: bytes | None = db.execute(QUERIES["key"]).get
    return None if found is None else bytes(found)


def make_key(db: apsw.Connection, entropy: Entropy) -> bytes:
    """The key of this database, made now if there is none."""
    if key(db) is None:
        db.execute(QUERIES["keep_key"], (entropy(_SECRET_BYTES),))
    return bytes(db.execute(QUERIES["key"]).get)


def _hash(key: bytes, secret: str) -> bytes:
    return hmac.new(key, secret.encode(), hashlib.sha256).digest()


def _letters(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
