"""The base of all pages: the viewer, calls of operations, and rendering of templates."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from memorywire.journal.operators import EVERYBODY, Right
from memorywire.model.errors import Forbidden, InvalidRequest, MemorywireError, Unauthenticated, WrongMedia
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.policy.patterns import names
from memorywire_server.auth import Authenticator, Caller
from memorywire_server.console.render import plain
from memorywire_server.console.sessions import PATH, Note, Session, Sessions
from memorywire_server.http import audit
from memorywire_server.http.endpoint import Service
from memorywire_server.http.requests import read_bytes

if TYPE_CHECKING:
    from memorywire.app.consolidators import BackgroundWork
    from memorywire_server.archive import LedgerArchive
    from memorywire_server.console.pictures import Pictures

PROOF = "form_token"
"""The hidden form field with the CSRF token of the session."""

NOTE = "note"
"""The query parameter with the id of the note to show."""

_WORDS = ("content", "rule", "reason", "why")
"""The form fields for long texts."""

_MOST_CHARACTERS = 100_000
_MEDIA = "application/x-www-form-urlencoded"
_MOST_FIELDS = 5_000


class Form(Struct, frozen=True):
    """The fields of a form, without empty ones."""

    fields: Mapping[str, tuple[str, ...]]

    def get(self, name: str) -> str | None:
        return self.fields[name][-1] if name in self.fields else None

    def text(self, name: str) -> str:
        """Return a required field; raises InvalidRequest if it is missing."""
        value = self.get(name)
        if value is None:
            raise InvalidRequest(f"{name} is missing", field=name, fix="fill it in")
        return value

    @property
    def typed(self) -> dict[str, str]:
        """The long texts of the form, to be shown again if it was not processed."""
        fields = {name: self.get(name) for name in _WORDS}
        return {name: words[:_MOST_CHARACTERS] for name, words in fields.items() if words and words.strip()}

    def many(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())


def whole(text: str, field: str, message: str) -> int:
    """Parse a whole number of a URL or a form; raises InvalidRequest with `message`."""
    if not (text.isascii() and text.isdecimal() and len(text) < 17):
        raise InvalidRequest(message, field=field)
    return int(text)


async def read_form(request: Request, *, limit: int, seconds: float) -> Form:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _MEDIA:
        raise WrongMedia("the body must be a form", field="Content-Type", fix=f"send {_MEDIA}")
    body = await read_bytes(request, limit=limit, seconds=seconds)
    try:
        pairs = parse_qsl(body.decode(), errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InvalidRequest("the form cannot be read", fix="send fewer fields, as UTF-8") from error
    fields: dict[str, tuple[str, ...]] = {}
    for name, text in pairs:
        fields[name] = (*fields.get(name, ()), text.replace("\r\n", "\n"))
    return Form(fields)


def show_text(value: Json, name: str | None = None) -> Response:
    """Respond with a value as plain text; with a name, as a download."""
    headers = {} if name is None else {"Content-Disposition": f'attachment; filename="{name}"'}
    text = plain(value).encode(errors="backslashreplace")
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


def check_origin(request: Request) -> None:
    """Raise Forbidden unless the browser states that the form comes from this origin.

    The middleware has refused foreign origins; this also refuses requests that state none.
    """
    headers = request.headers
    if headers.get("sec-fetch-site") != "same-origin" and "origin" not in headers:
        raise Forbidden(
            "this form does not come from a page of the console",
            field="Origin",
            fix="use the page, or the HTTP interface",
        )


A = TypeVar("A")

THEMES = ("auto", "light", "dark")


class Section(Struct, frozen=True, kw_only=True):
    """An entry of the navigation for viewers with the right, `everywhere` if it concerns all tenants;
    `count` returns the number of pending items, and `gap` adds space before the entry."""

    path: str
    title: str
    right: Right
    everywhere: bool = False
    gap: bool = False
    count: "Callable[[Page], Awaitable[int]] | None" = None


class View(Struct, frozen=True, kw_only=True):
    """A page below /console: `look` handles GET, `do` handles POST after the CSRF check.

    With `of_agent`, a viewer limited to some agents must choose one of them first.
    """

    path: str
    look: "Callable[[Page], Awaitable[Response]] | None" = None
    do: "Callable[[Page, Form], Awaitable[Response]] | None" = None
    public: bool = False
    of_agent: bool = False

    @property
    def methods(self) -> list[str]:
        return [method for method, answer in (("GET", self.look), ("POST", self.do)) if answer is not None]


_FRESH_MS = 60_000
_MOST_TENANTS = 64


class Growth:
    """Caches the counts of operations per tenant for a minute."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._counted: dict[str, tuple[int, Sequence[tuple[int, str, int]]]] = {}

    async def by_day(self, caller: Caller) -> Sequence[tuple[int, str, int]] | None:
        """Return (day, operation, count); None for a caller limited to some agents, as counts cover all."""
        if caller.agents != EVERYBODY:
            return None
        now = self._service.container.context.clock()
        at, counts = self._counted.get(caller.tenant, (None, ()))
        if at is None or not 0 <= now - at < _FRESH_MS:
            counts = await audit.growth(self._service, caller)
            if len(self._counted) >= _MOST_TENANTS:
                self._counted.clear()
            self._counted[caller.tenant] = (now, counts)
        return counts


class ConsoleContext(Struct, frozen=True, kw_only=True):
    """The objects that all pages share."""

    service: Service
    authenticator: Authenticator
    sessions: Sessions
    templates: Environment
    sections: tuple[Section, ...]
    growth: Growth
    pictures: "Pictures"
    tending: "BackgroundWork | None" = None
    archive: "LedgerArchive | None" = None


class Page:
    """A request of a viewer. All operations run with the viewer's rights."""

    def __init__(
        self, request: Request, console: ConsoleContext, session: Session, viewer: Caller | None
    ) -> None:
        self.request = request
        self.console = console
        self.session = session
        self.viewer = viewer
        self.typed: Mapping[str, str] = {}
        """The draft of a form that was not processed."""

    @property
    def caller(self) -> Caller:
        """The viewer; raises Unauthenticated if there is none, as is possible on public pages."""
        if self.viewer is None:
            raise Unauthenticated("you are not signed in", fix="sign in")
        return self.viewer

    @property
    def now(self) -> int:
        return self.console.service.container.context.clock()

    async def call(self, operation: str, /, **payload: Json) -> dict[str, Json]:
        """Run an operation as the viewer; drops fields that are None or empty."""
        fields = {name: value for name, value in payload.items() if value not in (None, "", [], {})}
        return await self.console.service.call(operation, fields, self.caller)

    async def ask(self, kind: type[A], operation: str, /, **payload: Json) -> A:
        """Do the same as `call` with all fields, but return a value instead of JSON."""
        answer = await self.console.service.ask(operation, payload, self.caller)
        if not isinstance(answer, kind):
            raise TypeError(f"{operation} answers with {type(answer).__name__}")
        return answer

    def may(self, right: Right, *, everywhere: bool = False) -> bool:
        caller = self.viewer
        return caller is not None and right in caller.rights and (caller.everywhere or not everywhere)

    @property
    def sections(self) -> list[Section]:
        """The sections that the viewer may open."""
        return [one for one in self.console.sections if self.may(one.right, everywhere=one.everywhere)]

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The query parameters without empty ones; of a repeated one the last.

        The id of a note is left out, so that links and forms of the page do not repeat it.
        """
        return {name: text for name, text in parse_qsl(self.request.url.query) if name != NOTE}

    @property
    def agent(self) -> str | None:
        """The agent in the URL; else the viewer's agent, if there is only one."""
        agent = self.query.get("agent")
        only, *others = self.caller.agents
        return agent if agent is not None or others or "*" in only else only

    def choose(self, agents: Sequence[Mapping[str, Json]]) -> str | None:
        """Return the page's agent: the one in the URL, else the one with the most memories.

        All links of the page then include it.
        """
        largest = max(agents, key=lambda one: one["memories"], default=None)
        agent: str | None = self.agent or (None if largest is None else largest["agent_id"])
        if agent is not None:
            self.query = {**self.query, "agent": agent}
        return agent

    @property
    def limited(self) -> bool:
        """Return whether the viewer is limited to some agents."""
        return self.caller.agents != EVERYBODY

    def link(self, path: str | None = None, /, **fields: Json) -> str:
        """Build a URL: this page with changed fields, or another page with only these; None drops a field."""
        current: Mapping[str, Json] = self.query if path is None else {}
        query = {name: value for name, value in {**current, **fields}.items() if value not in (None, "")}
        place = self.request.url.path if path is None else f"{PATH}{path}"
        return f"{place}?{urlencode(query)}" if query else place

    async def show(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """Render a template, with the values that the layout needs."""
        here = self.request.url.path.removeprefix(PATH)
        note_id = self.request.query_params.get(NOTE, "")
        note = self.console.sessions.find_note(self.session, note_id)
        theme = self.request.cookies.get("memorywire_theme", "auto")
        frame = {
            "page": self,
            "sections": self.sections,
            "section": next((one.path for one in self.sections if here.startswith(one.path)), "/"),
            "counts": await self._count(),
            "tenants": await self._list_tenants(),
            "note": note,
            "note_id": note_id,
            "typed": self.typed if note is None else note.typed,
            "token_field": PROOF,
            "token": self.console.sessions.token(self.session),
            "theme": theme if theme in THEMES else "auto",
            "keys": self.request.cookies.get("memorywire_keys") != "off",
            "here": here,
            "address": self.link(),
        }
        html = self.console.templates.get_template(template).render(**frame, **values)
        return Response(html.encode(errors="backslashreplace"), status, media_type="text/html; charset=utf-8")

    def go(self, address: str, note: Note | None = None) -> Response:
        """Redirect after a form (303); the next page shows `note`, or the note of this page."""
        address = own(address)
        id = self.request.query_params.get(NOTE)
        if note is not None:
            id = self.console.sessions.add_note(self.session, note)
        if id:
            address += f"{'&' if '?' in address else '?'}{urlencode({NOTE: id})}"
        return RedirectResponse(address, status_code=303)

    @property
    def over_tls(self) -> bool:
        """Return whether the browser uses TLS, to us or to a proxy before us.

        The proxy header is accepted from any client: forging it only makes the client's own cookie
        stricter.
        """
        protocol = self.request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        return "https" in (self.request.url.scheme, protocol)

    async def _count(self) -> dict[str, int]:
        """Count the pending items of each section; ignores errors, so that the page still renders."""
        counts: dict[str, int] = {}
        for section in self.sections:
            if section.count is not None:
                with suppress(MemorywireError):
                    counts[section.path] = await section.count(self)
        return counts

    async def _list_tenants(self) -> list[str]:
        """Return the tenants that the viewer may see; a pattern covers all tenants with memories."""
        if self.viewer is None:
            return []
        patterns = self.viewer.tenants
        visible = {self.viewer.tenant, *(one for one in patterns if "*" not in one)}
        if any("*" in one for one in patterns):
            with suppress(MemorywireError):
                stored = await self.console.service.journal.list_tenants()
                visible |= {one for one in (DEFAULT_TENANT, *stored) if names(patterns, one)}
        return sorted(visible)


def own(address: str) -> str:
    """Return the address if it is a page of the console, else the start page (no open redirects)."""
    inside = address == PATH or address.startswith((f"{PATH}/", f"{PATH}?"))
    return address if inside and address.isprintable() and "\\" not in address else PATH


class PageGroup(Struct, frozen=True, kw_only=True):
    """A part of the console: its pages, and its entry in the navigation, if any."""

    views: tuple[View, ...]
    section: Section | None = None
