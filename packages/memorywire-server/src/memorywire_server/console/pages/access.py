"""Pages for operators and their tokens, for signing in and out, and for settings of the browser; a token is
shown once."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from msgspec.structs import replace
from starlette.responses import Response

from memorywire.journal.operators import Issued, Operator, Registry, Right, Role
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, Forbidden, InvalidRequest, Unauthenticated
from memorywire.model.record import LOCAL
from memorywire_server.console.page import THEMES, Form, Page, PageGroup, Section, View, own
from memorywire_server.console.sessions import PATH, Note, Session
from memorywire_server.http.answers import status_of

EXPIRES_SOON_MS = 14 * DAY_MS
"""A token that expires within this time is highlighted."""


async def add(page: Page, form: Form) -> Response:
    """Add an operator; on failure the page shows the problem and the draft."""
    registry = _open_registry(page)
    try:
        text = form.text("role")
        if text not in set(Role):
            fix = f"use one of: {', '.join(Role)}"
            raise InvalidRequest(f"{text} is not a role", field="role", fix=fix)
        if text == Role.ADMIN and page.caller.name == LOCAL:
            raise Forbidden(
                "only an admin, or the command line, can name an admin",
                field="role",
                fix="memorywire operator add NAME --role admin",
            )
        operator = Operator(
            name=form.text("name"),
            role=Role(text),
            made_at=page.now,
            tenants=tuple((form.get("tenants") or "*").split()),
            agents=tuple((form.get("agents") or "*").split()),
        )
        token = await registry.add(operator, expires_at=_read_expiry(page, form))
    except (InvalidRequest, Conflict, Forbidden) as error:
        return await operators(page, status=status_of(error), form=form, problem=error.problem())
    return await operators(page, token)


async def rotate(page: Page, form: Form) -> Response:
    registry, expiry = _open_registry(page), _read_expiry(page, form)
    return await operators(page, await registry.rotate(form.text("name"), expires_at=expiry))


async def revoke(page: Page, form: Form) -> Response:
    await _open_registry(page).revoke(form.text("name"))
    return page.go(page.link("/operators"), Note(text=f"Access of {form.text('name')} was revoked."))


async def operators(
    page: Page,
    token: Issued | None = None,
    *,
    status: int = 200,
    form: Form | None = None,
    problem: Mapping[str, str] | None = None,
) -> Response:
    """Show the page of operators; a new token is shown only in this response."""
    values = {
        "known": await _open_registry(page).known(),
        "issued": token,
        "roles": list(Role),
        "soon": EXPIRES_SOON_MS,
    }
    response = await page.show("operators.html", status, **values, sent=form, problem=problem)
    response.headers["Cache-Control"] = "no-store"
    return response


def _open_registry(page: Page) -> Registry:
    page.caller.require(Right.MANAGE, everywhere=True)
    service = page.console.service
    return Registry(journal=service.journal, clock=service.container.context.clock, actor=page.caller.name)


def _read_expiry(page: Page, form: Form) -> int | None:
    days = form.get("days")
    if days is None:
        return None
    if not (days.isascii() and days.isdecimal() and 0 < int(days) <= 3_650):
        raise InvalidRequest("days is a number from 1 to 3650", field="days")
    return page.now + int(days) * DAY_MS


OPERATORS = PageGroup(
    views=(
        View(path="/operators", look=operators),
        View(path="/operators/add", do=add),
        View(path="/operators/rotate", do=rotate),
        View(path="/operators/revoke", do=revoke),
    ),
    section=Section(path="/operators", title="Operators", right=Right.MANAGE, everywhere=True),
)


_GIVEN_BACK = "You are signed in again. The action was not performed."


async def home(page: Page) -> Response:
    """Redirect to the first section that the viewer may open."""
    if not page.sections:
        raise Forbidden("your role cannot open any page")
    return page.go(page.link(page.sections[0].path))


async def sign_in_page(page: Page) -> Response:
    next = own(page.query.get("next", PATH))
    tenant = dict(parse_qsl(urlsplit(next).query)).get("tenant", "")
    has_draft = page.console.sessions.has_aside(page.session)
    return await page.show("sign_in.html", next=next, tenant=tenant, kept=has_draft)


async def sign_in(page: Page, form: Form) -> Response:
    """Sign in with the token of an operator."""
    tenant = form.get("tenant")
    secret = form.text("token").strip()
    state = page.request.state
    state.tokens.check(state.address, secret)
    try:
        await page.console.authenticator.admit(f"Bearer {secret}", tenant)
    except (Unauthenticated, Forbidden) as error:
        if isinstance(error, Forbidden):
            several = "this token has several tenants"
            reason = several if tenant is None else "this token is not for that tenant"
            raise Forbidden(reason, field="tenant", fix="name one of its tenants below") from error
        state.tokens.reject(state.address, secret)
        fix = "see: memorywire operator list"
        raise Unauthenticated("this token is not valid", field="token", fix=fix) from error
    return _start_session(page, page.console.sessions.begin(secret=secret, tenant=tenant), form.get("next"))


async def choose_tenant(page: Page, form: Form) -> Response:
    """Switch the viewer to another tenant; forms of the previous tenant become invalid."""
    tenant, old = form.text("tenant"), page.session
    if not old.local:
        secret = None if old.secret is None else f"Bearer {old.secret}"
        await page.console.authenticator.admit(secret, tenant)
    session = page.console.sessions.begin(secret=old.secret, tenant=tenant, local=old.local)
    return _start_session(page, replace(session, begun=old.begun), form.get("back"))


async def enter(page: Page) -> Response:
    """Sign in with a one-time link."""
    accepts_links = await page.console.authenticator.trusts_links()
    if not accepts_links:
        page.console.sessions.revoke_links()
    if accepts_links and page.console.sessions.redeem(page.query.get("key", "")):
        return _start_session(page, page.console.sessions.begin(local=True), None)
    if page.viewer is not None:
        return page.go(PATH)
    note = Note(
        text="The link was used before, has expired, or was disabled by the first operator.", problem=True
    )
    return page.go(page.link("/sign-in"), note)


async def sign_out(page: Page, form: Form) -> Response:
    page.console.sessions.end(page.session)
    response = page.go(page.link("/sign-in"))
    page.console.sessions.drop(response)
    return response


async def look_and_feel(page: Page, form: Form) -> Response:
    """Set the theme and whether keyboard shortcuts are on, in cookies."""
    response = page.go(form.get("back") or PATH)
    theme, keys = form.get("theme"), form.get("keys")
    if theme is not None:
        if theme not in THEMES:
            raise InvalidRequest(f"{theme} is not a theme", field="theme")
        page.console.sessions.cookie(response, "memorywire_theme", theme, tls=page.over_tls)
    if keys is not None:
        state = "off" if keys == "off" else "on"
        page.console.sessions.cookie(response, "memorywire_keys", state, tls=page.over_tls)
    return response


def _start_session(page: Page, session: Session, next: str | None) -> Response:
    """Start a new session, which prevents session fixation; drafts are carried over."""
    sessions = page.console.sessions
    draft = sessions.given_back(page.session)
    sessions.end(page.session)
    page.session = session
    note = Note(text=_GIVEN_BACK, typed=draft) if draft else None
    response = page.go(next or PATH, note)
    sessions.keep(response, session, tls=page.over_tls)
    return response


ENTRANCE = PageGroup(
    views=(
        View(path="/", look=home),
        View(path=PATH, look=home),
        View(path="/sign-in", look=sign_in_page, do=sign_in, public=True),
        View(path="/enter", look=enter, public=True),
        View(path="/tenant", do=choose_tenant),
        View(path="/sign-out", do=sign_out),
        View(path="/settings", do=look_and_feel, public=True),
    )
)
