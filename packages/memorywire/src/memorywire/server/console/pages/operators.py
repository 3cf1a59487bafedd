"""Operators: who may come in, as what, and where to; tokens are given once and taken back here."""

from collections.abc import Mapping

from starlette.responses import Response

from memorywire.app import LOCAL
from memorywire.journal.operators import Issued, Operator, Right, Role
from memorywire.model.clock import DAY_MS
from memorywire.model.errors import Conflict, Forbidden, InvalidRequest
from memorywire.server.console.forms import Form
from memorywire.server.console.page import Page, Room, Section, View
from memorywire.server.console.sessions import Note
from memorywire.server.http.answers import status_of
from memorywire.server.operators import Registry


async def operators(page: Page) -> Response:
    return await _shown(page)


async def add(page: Page, form: Form) -> Response:
    """Add an operator; if it fails, the page shows the problem and keeps what was typed."""
    registry = _registry(page)
    try:
        issued = await registry.add(_named(page, form), expires_at=_ends(page, form))
    except (InvalidRequest, Conflict, Forbidden) as error:
        return await _shown(page, status=status_of(error), sent=form, problem=error.problem())
    return await _shown(page, issued)


def _named(page: Page, form: Form) -> Operator:
    role = _role(form.text("role"))
    if role is Role.ADMIN and page.caller.name == LOCAL:
        raise Forbidden(
            "only an admin, or the command line, can name an admin",
            field="role",
            fix="memorywire operator add NAME --role admin",
        )
    return Operator(
        name=form.text("name"),
        role=role,
        made_at=page.now,
        tenants=_patterns(form, "tenants"),
        agents=_patterns(form, "agents"),
    )


async def rotate(page: Page, form: Form) -> Response:
    return await _shown(page, await _registry(page).rotate(form.text("name"), expires_at=_ends(page, form)))


async def revoke(page: Page, form: Form) -> Response:
    await _registry(page).revoke(form.text("name"))
    return page.go(page.link("/operators"), Note(text=f"{form.text('name')} can come in no more."))


async def _shown(
    page: Page,
    issued: Issued | None = None,
    *,
    status: int = 200,
    sent: Form | None = None,
    problem: Mapping[str, str] | None = None,
) -> Response:
    """The page of operators; a new token is shown here once, and nowhere else."""
    shown = {"known": await _registry(page).known(), "issued": issued, "roles": list(Role)}
    response = await page.show("operators.html", status, **shown, sent=sent, problem=problem)
    response.headers["Cache-Control"] = "no-store"
    return response


def _registry(page: Page) -> Registry:
    page.caller.require(Right.MANAGE, everywhere=True)
    door = page.shop.door
    return Registry(journal=door.journal, clock=door.container.context.clock, actor=page.caller.name)


def _role(text: str) -> Role:
    if text not in set(Role):
        raise InvalidRequest(f"{text} is not a role", field="role", fix=f"use one of: {', '.join(Role)}")
    return Role(text)


def _patterns(form: Form, name: str) -> tuple[str, ...]:
    return tuple((form.get(name) or "*").split())


def _ends(page: Page, form: Form) -> int | None:
    days = form.get("days")
    if days is None:
        return None
    if not (days.isascii() and days.isdecimal() and 0 < int(days) <= 3_650):
        raise InvalidRequest("days is a number from 1 to 3650", field="days")
    return page.now + int(days) * DAY_MS


ROOM = Room(
    views=(
        View(path="/operators", look=operators),
        View(path="/operators/add", do=add),
        View(path="/operators/rotate", do=rotate),
        View(path="/operators/revoke", do=revoke),
    ),
    section=Section(path="/operators", title="Operators", right=Right.MANAGE, everywhere=True),
)
