"""The console as an ASGI application for the HTTP server; viewers sign in with a cookie."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

from memorywire.app.consolidators import BackgroundWork
from memorywire.app.container import Container
from memorywire.model.errors import Forbidden, MemorywireError, NotFound, Unauthenticated, WrongMethod
from memorywire.model.ids import Entropy
from memorywire.model.record import DEFAULT_TENANT
from memorywire_server.archive import LedgerArchive
from memorywire_server.auth import ANYBODY, Authenticator, Caller, Provider
from memorywire_server.console import render
from memorywire_server.console.page import (
    PROOF,
    ConsoleContext,
    Form,
    Growth,
    Page,
    PageGroup,
    View,
    check_origin,
    own,
    read_form,
)
from memorywire_server.console.pages import (
    access,
    activity,
    design,
    find,
    health,
    home,
    memories,
    memory_map,
    operations,
    people,
    policy,
    questions,
    record,
    review,
    workbench,
)
from memorywire_server.console.pictures import Pictures
from memorywire_server.console.sessions import PATH, Note, Session, Sessions
from memorywire_server.http.answers import status_of
from memorywire_server.http.app import MountedApp, problem_of
from memorywire_server.http.audit import stream_events
from memorywire_server.http.endpoint import Endpoint, Limits, Service
from memorywire_server.http.requests import parameters_of

PAGE_GROUPS: tuple[PageGroup, ...] = (
    access.ENTRANCE,
    home.HOME,
    review.INBOX,
    review.DECISIONS,
    memories.MEMORIES,
    memory_map.MAP,
    record.RECORD,
    people.PEOPLE,
    workbench.WORKBENCH,
    questions.QUESTIONS,
    activity.ACTIVITY,
    activity.DREAMS,
    policy.POLICY,
    health.HEALTH,
    operations.OPERATIONS,
    health.AGENTS,
    access.OPERATORS,
    find.FIND,
    design.DESIGN,
)
"""The parts of the console, in the order of the navigation."""

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER = "public, max-age=31536000, immutable"


class Console(Struct, frozen=True, kw_only=True):
    """The mount for `serve`, and its one-time sign-in links."""

    mounted: MountedApp
    sessions: Sessions

    def link(self, url: str) -> str:
        """Return a URL that signs in the first person to open it, as the user of this machine."""
        return f"{url}{PATH}/enter?key={self.sessions.new_link()}"


def console_mount(
    container: Container,
    *,
    local: bool,
    provider: Provider | None = None,
    tending: BackgroundWork | None = None,
    archive: LedgerArchive | None = None,
    entropy: Entropy = os.urandom,
) -> Console:
    """Build the console over an open container.

    If only this machine can connect (`local`), its user needs no token while there are no operators;
    otherwise cookies require HTTPS. `tending` is the background work of this process.
    """
    service = Service(container, Limits())
    clock = container.context.clock
    authenticator = Authenticator(service.journal, clock, trusting=local, provider=provider)
    sessions = Sessions(clock, entropy, secure=not local)
    sections = tuple(group.section for group in PAGE_GROUPS if group.section is not None)
    console = ConsoleContext(
        service=service,
        authenticator=authenticator,
        sessions=sessions,
        templates=render.environment(),
        sections=sections,
        growth=Growth(service),
        pictures=Pictures(service),
        tending=tending,
        archive=archive,
    )

    async def entry(scope: Scope) -> Caller | None:
        """Return the viewer of the session cookie; stores the session in the state of the request."""
        scope["state"]["operation"] = "console"
        session = sessions.read(Request(scope).headers.get("cookie", ""))
        scope["state"].update(session=session or sessions.begin(), fresh=session is None)
        return await find_viewer(session, authenticator)

    @asynccontextmanager
    async def running() -> AsyncIterator[None]:
        yield
        await service.drain()
        await authenticator.close()

    async def show_unknown(request: Request, error: Exception) -> Response:
        page = Page(request, console, request.state.session, request.state.caller)
        problem = NotFound("there is no such page", fix="start at the inbox")
        return await page.show("problem.html", 404, problem=problem.problem())

    app = Starlette(
        routes=_routes(console),
        exception_handlers={HTTPException: show_unknown, MemorywireError: problem_of},
    )
    app.router.redirect_slashes = False
    mount = MountedApp(path=PATH, app=app, running=running, entry=entry, welcoming=True)
    return Console(mounted=mount, sessions=sessions)


def _routes(console: ConsoleContext) -> list[Route]:
    async def events(request: Request) -> Response:
        if request.state.caller is None:
            raise Unauthenticated("you are not signed in", fix="sign in")
        request.state.operation = "events"  # a stream's duration must not count as a page's latency
        request.state.parameters = parameters_of("/v0/events", "GET").read(request)
        return await stream_events(request, console.service)

    views = [view for group in PAGE_GROUPS for view in group.views]
    return [
        *(Route(view.path, _endpoint(view, console), methods=view.methods) for view in views),
        Route("/events", events),
        Route("/static/{name}", _static),
    ]


async def find_viewer(session: Session | None, authenticator: Authenticator) -> Caller | None:
    """Return the caller of the session; None if it is no longer valid."""
    if session is not None and session.local:
        trusted = await authenticator.trusts_links()
        return replace(ANYBODY, tenant=session.tenant or DEFAULT_TENANT) if trusted else None
    secret, tenant = (None, None) if session is None else (session.secret, session.tenant)
    try:
        return await authenticator.admit(None if secret is None else f"Bearer {secret}", tenant)
    except (Unauthenticated, Forbidden):
        return None


def _endpoint(view: View, console: ConsoleContext) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        state = request.state
        page = Page(request, console, state.session, state.caller)
        tenant = page.query.get("tenant")  # links in receipts have it
        if request.method != "POST" and request.headers.get("sec-fetch-site") == "cross-site":
            return await page.show("onward.html")  # strict cookies were withheld: this page sends them
        if page.viewer is None and not view.public:
            response = await _redirect_to_sign_in(page)
        elif request.method != "POST" and page.viewer and tenant not in (None, page.viewer.tenant):
            response = await page.show("elsewhere.html", tenant=tenant)
        else:
            response = await _respond(view, page)
        session = page.session if state.fresh else console.sessions.renewed(page.session)
        if session is not None and not any(name == b"set-cookie" for name, _ in response.raw_headers):
            console.sessions.keep(response, session, tls=page.over_tls)
        return response

    return endpoint


async def _redirect_to_sign_in(page: Page) -> Response:
    """Redirect to the sign-in page, which returns to the requested page afterwards.

    After a form it returns to the page with the form, which then shows the draft again.
    """
    if page.request.method != "POST":
        return page.go(page.link("/sign-in", next=page.link()))
    with suppress(MemorywireError):
        page.console.sessions.put_aside(page.session, (await _read_form(page)).typed)
    sender = urlsplit(page.request.headers.get("referer", ""))
    return page.go(page.link("/sign-in", next=own(urlunsplit(("", "", *sender[2:4], ""))), ended="1"))


async def _respond(view: View, page: Page) -> Response:
    form = Form({})
    try:
        if page.request.method == "POST" and view.do is not None:
            form = await _read_form(page)
            if not page.console.sessions.is_token(page.session, form.get(PROOF) or ""):
                page.typed, form = form.typed, Form({})
                raise Forbidden(
                    "this form belongs to another session", field=PROOF, fix="load the page again"
                )
            return await view.do(page, form)
        if view.look is None:
            raise WrongMethod("this address does not support that method")
        if view.of_agent and page.limited and page.agent is None:
            agents = (await page.call("agents"))["items"]
            if len(agents) == 1:  # only one to choose from
                return page.go(page.link(agent=agents[0]["agent_id"]))
            return await page.show("choose.html", agents=agents)
        return await view.look(page)
    except MemorywireError as error:
        page.request.state.visit.code = error.code
        back = form.get("back")
        if back is not None:
            return page.go(back, Note(text=error.detail, fix=error.fix, problem=True, typed=form.typed))
        return await page.show("problem.html", status_of(error), problem=error.problem())


async def _read_form(page: Page) -> Form:
    """Read the form without checking its CSRF token; raises Forbidden for a foreign origin."""
    check_origin(page.request)
    limits = page.console.service.limits
    return await read_form(page.request, limit=limits.batch, seconds=limits.body_seconds)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    body = render.asset(name)
    if body is None:
        raise HTTPException(404)
    kind = _TYPES.get(name.rpartition(".")[2], "text/plain; charset=utf-8")
    headers = {"Cache-Control": _FOREVER, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers = render.packed(name), {**headers, "Content-Encoding": "gzip"}
    return Response(body, media_type=kind, headers=headers)
