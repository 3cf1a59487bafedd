"""Sessions in encrypted cookies, which only this server can read and write."""

import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import asdict, replace
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox
from starlette.responses import Response

from memorywire.model.clock import Clock
from memorywire.model.errors import InvalidRequest
from memorywire.model.ids import Entropy
from memorywire.model.record import Json

T = TypeVar("T")

COOKIE = "memorywire_session"
PATH = "/console"

_KEY_BYTES = 32
_MINUTE = 60_000
_ROTATE_MS = 10 * _MINUTE
_IDLE_MS = 120 * _MINUTE
_LONGEST_MS = 12 * 60 * _MINUTE
_LINK_MS = 15 * _MINUTE
_MOST_NOTES = 512
_MOST_ASIDE = 64
_MOST_BYTES = 4_000


class Session(Struct, frozen=True, kw_only=True):
    """A session: `secret` is the token that signed in, `local` marks a one-time link.

    Without either, it belongs to the local user, or to a viewer who is not signed in.
    """

    id: str
    begun: int
    issued: int
    secret: str | None = None
    tenant: str | None = None
    local: bool = False


class Note(Struct, frozen=True, kw_only=True):
    """What the next page tells at its head; `undo` is what `rooms.decisions.undo` needs to take it back."""

    text: str
    problem: bool = False
    fix: str | None = None
    undo: Mapping[str, Json] | None = None
    typed: Mapping[str, str] = field(default_factory=dict)
    """The fields of a form that was not processed."""
    id: str = ""


class Sessions:
    """Makes and reads sessions. The key lives as long as the process: a restart signs everybody out."""

    def __init__(self, clock: Clock, entropy: Entropy, *, secure: bool) -> None:
        self._clock = clock
        self._entropy = entropy
        self._secure = secure
        self._key = entropy(_KEY_BYTES)
        self._box = SecretBox(self._key)
        self._ended: dict[str, int] = {}
        self._links: dict[bytes, int] = {}
        self._told: OrderedDict[str, Note] = OrderedDict()
        self._taken: OrderedDict[str, Note] = OrderedDict()
        self._aside: OrderedDict[str, tuple[int, Mapping[str, str]]] = OrderedDict()

    def begin(self, *, secret: str | None = None, tenant: str | None = None, local: bool = False) -> Session:
        now = self._clock()
        return Session(
            id=self._entropy(18).hex(), begun=now, issued=now, secret=secret, tenant=tenant, local=local
        )

    def read(self, cookies: str) -> Session | None:
        """The session of a `Cookie` header; None for every reason why there is none."""
        try:
            morsel = SimpleCookie(cookies).get(COOKIE)
            if morsel is None:
                return None
            session = Session(**json.loads(self._box.decrypt(bytes.fromhex(morsel.value))))
        except (CookieError, CryptoError, ValueError, TypeError):
            return None
        now = self._clock()
        stale = not 0 <= now - session.issued < _IDLE_MS or now - session.begun >= _LONGEST_MS
        return None if stale or session.id in self._ended else session

    def end(self, session: Session) -> None:
        """Accept no copy of this session's cookie any more."""
        now = self._clock()
        self._ended = {id: at for id, at in self._ended.items() if now - at < _LONGEST_MS}
        self._ended[session.id] = now

    def renewed(self, session: Session) -> Session | None:
        """The session under a new seal, when it is time for one."""
        now = self._clock()
        return replace(session, issued=now) if now - session.issued >= _ROTATE_MS else None

    def keep(self, response: Response, session: Session, *, tls: bool) -> None:
        """Set the session cookie; with TLS it is marked secure."""
        cookie = self._box.encrypt(
            json.dumps(asdict(session)).encode(), self._entropy(SecretBox.NONCE_SIZE)
        ).hex()
        if len(cookie) > _MOST_BYTES:
            raise InvalidRequest("this token is too long for a cookie", field="token")
        self.cookie(response, COOKIE, cookie, tls=tls, hidden=True)

    def cookie(self, response: Response, name: str, value: str, *, tls: bool, hidden: bool = False) -> None:
        response.set_cookie(
            name,
            quote(value),
            path=PATH,
            httponly=hidden,
            samesite="strict",
            secure=self._secure or tls,
        )

    def drop(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict", secure=self._secure)

    def token(self, session: Session) -> str:
        """What every form of this session carries; no other site can know it."""
        return hmac.new(self._key, f"form:{session.id}".encode(), hashlib.sha256).hexdigest()[:40]

    def is_token(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode(errors="replace"))

    def new_link(self) -> str:
        """The key of a link that signs in once, and not after a quarter of an hour."""
        key = self._entropy(_KEY_BYTES).hex()
        self._links[_digest(key)] = self._clock() + _LINK_MS
        return key

    def revoke_links(self) -> None:
        """Accept no link any more that was made so far."""
        self._links.clear()

    def redeem(self, key: str) -> bool:
        """Whether the key of a link is good; it works only once."""
        until = self._links.pop(_digest(key), None)
        return until is not None and self._clock() < until

    def tell(self, session: Session, note: Note) -> None:
        """Have the next page of the session say it."""
        self._told[session.id] = replace(note, id=self._entropy(9).hex())
        _trim(self._told)

    def told(self, session: Session) -> Note | None:
        """What is to be said now; it can be taken back from now on."""
        note = self._told.pop(session.id, None)
        if note is not None and note.undo is not None:
            self._taken[f"{session.id}/{note.id}"] = note
            _trim(self._taken)
        return note

    def undoing(self, session: Session, id: str) -> Mapping[str, Json] | None:
        """What undoes the thing that a note told of; only for the session that was told."""
        note = self._taken.pop(f"{session.id}/{id}", None)
        return None if note is None else note.undo

    def put_aside(self, session: Session, draft: Mapping[str, str]) -> None:
        """Keep the draft of a viewer whose session has expired, until they sign in again."""
        if draft:
            self._aside[session.id] = self._clock(), draft
            _trim(self._aside, _MOST_ASIDE)

    def has_aside(self, session: Session) -> bool:
        return session.id in self._aside

    def given_back(self, session: Session) -> Mapping[str, str]:
        """What was put aside for the session: once, and only as long as an idle session lasts."""
        at, draft = self._aside.pop(session.id, (0, {}))
        return draft if self._clock() - at < _IDLE_MS else {}


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


def _trim(entries: OrderedDict[str, T], most: int = _MOST_NOTES) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
