"""Sessions in encrypted cookies, which only this process can read and write."""

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
_NOTE_MS = 5 * _MINUTE
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
    """A message at the top of a page; `undo` is the payload that undoes the action."""

    text: str
    problem: bool = False
    fix: str | None = None
    undo: Mapping[str, Json] | None = None
    typed: Mapping[str, str] = field(default_factory=dict)
    """The draft of a form that was not processed."""


def build_note(receipt: Mapping[str, Json], agent: str, text: str, *, undoable: bool = True) -> Note:
    """Build a note about the result of a change, with its undo if it has one."""
    if receipt["status"] != "committed":
        rule = receipt.get("rule", "a rule")
        return Note(text=f"It is {receipt['status']}: {rule} needs a decision by a person.")
    if not undoable or "change_id" not in receipt:
        return Note(text=text)
    return Note(text=text, undo={"change_id": receipt["change_id"], "agent_id": agent})


class Sessions:
    """Creates and reads sessions. The key exists only in this process: a restart signs everybody out."""

    def __init__(self, clock: Clock, entropy: Entropy, *, secure: bool) -> None:
        self._clock = clock
        self._entropy = entropy
        self._secure = secure
        self._key = entropy(_KEY_BYTES)
        self._box = SecretBox(self._key)
        self._ended: dict[str, int] = {}
        self._links: dict[bytes, int] = {}
        self._notes: OrderedDict[str, tuple[int, Note]] = OrderedDict()
        self._undos: OrderedDict[str, Mapping[str, Json]] = OrderedDict()
        self._aside: OrderedDict[str, tuple[int, Mapping[str, str]]] = OrderedDict()

    def begin(self, *, secret: str | None = None, tenant: str | None = None, local: bool = False) -> Session:
        now = self._clock()
        return Session(
            id=self._entropy(18).hex(), begun=now, issued=now, secret=secret, tenant=tenant, local=local
        )

    def read(self, cookies: str) -> Session | None:
        """Return the session of a `Cookie` header; None if it is missing, invalid or expired."""
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
        """Reject this session's cookie from now on, including copies of it."""
        now = self._clock()
        self._ended = {id: at for id, at in self._ended.items() if now - at < _LONGEST_MS}
        self._ended[session.id] = now

    def renewed(self, session: Session) -> Session | None:
        """Return the session with a new time of issue; None if it is too early to renew it."""
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

    def cookie(
        self,
        response: Response,
        name: str,
        value: str,
        *,
        tls: bool,
        hidden: bool = False,
        seconds: int | None = None,
    ) -> None:
        """Set a cookie for that many seconds; without a number, until the browser is closed."""
        response.set_cookie(
            name,
            quote(value),
            max_age=seconds,
            path=PATH,
            httponly=hidden,
            samesite="strict",
            secure=self._secure or tls,
        )

    def drop(self, response: Response) -> None:
        response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict", secure=self._secure)

    def token(self, session: Session) -> str:
        """Return the session's CSRF token, which every form contains."""
        return hmac.new(self._key, f"form:{session.id}".encode(), hashlib.sha256).hexdigest()[:40]

    def is_token(self, session: Session, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode(errors="replace"))

    def new_link(self) -> str:
        """Create the key of a sign-in link that works once, within 15 minutes."""
        key = self._entropy(_KEY_BYTES).hex()
        self._links[_digest(key)] = self._clock() + _LINK_MS
        return key

    def revoke_links(self) -> None:
        """Invalidate all links created so far."""
        self._links.clear()

    def redeem(self, key: str) -> bool:
        """Invalidate the key of a link; returns whether it was valid."""
        until = self._links.pop(_digest(key), None)
        return until is not None and self._clock() < until

    def add_note(self, session: Session, note: Note) -> str:
        """Return the id under which pages of this session show the note, for a few minutes.

        The id travels in the address of the page. A note for "the next page" would go to whichever page
        of the session is rendered first: a second tab, or a part that the page before is still loading.
        """
        now = self._clock()
        for key in [key for key, (at, _) in self._notes.items() if now - at >= _NOTE_MS]:
            del self._notes[key]
        id = self._entropy(9).hex()
        _add(self._notes, f"{session.id}/{id}", (now, note))
        if note.undo is not None:
            _add(self._undos, f"{session.id}/{id}", note.undo)
        return id

    def find_note(self, session: Session, id: str) -> Note | None:
        at, note = self._notes.get(f"{session.id}/{id}", (0, None))
        return note if self._clock() - at < _NOTE_MS else None

    def take_undo(self, session: Session, id: str) -> Mapping[str, Json] | None:
        """Return the undo of a note, only once; the note is no longer shown."""
        self._notes.pop(f"{session.id}/{id}", None)
        return self._undos.pop(f"{session.id}/{id}", None)

    def put_aside(self, session: Session, draft: Mapping[str, str]) -> None:
        """Keep the draft of a viewer whose session has expired, until they sign in again."""
        if draft:
            _add(self._aside, session.id, (self._clock(), draft), _MOST_ASIDE)

    def has_aside(self, session: Session) -> bool:
        return session.id in self._aside

    def given_back(self, session: Session) -> Mapping[str, str]:
        """Return the saved draft of the session, only once, unless it is too old."""
        at, draft = self._aside.pop(session.id, (0, {}))
        return draft if self._clock() - at < _IDLE_MS else {}


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


def _add(entries: OrderedDict[str, T], key: str, value: T, most: int = _MOST_NOTES) -> None:
    entries[key] = value
    while len(entries) > most:
        entries.popitem(last=False)
