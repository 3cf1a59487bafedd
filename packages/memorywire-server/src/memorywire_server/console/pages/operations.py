"""Operations: webhooks and undelivered events, backups, and the state of background work."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from memorywire.journal.operators import Registry, Right
from memorywire.journal.webhooks import Webhook, Webhooks
from memorywire.model.consolidation import DREAM
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.ids import IdMint
from memorywire_server.background import WebhookSender, check_address, new_secret
from memorywire_server.console import backups
from memorywire_server.console.page import Form, Page, PageGroup, Section, View, whole
from memorywire_server.console.pages.access import EXPIRES_SOON_MS
from memorywire_server.console.sessions import Note
from memorywire_server.http import audit
from memorywire_server.http.answers import status_of
from memorywire_server.http.reviews import Reviews

_LETTERS = 100


async def operations(
    page: Page, secret: tuple[Webhook, str] | None = None, *, status: int = 200, **values: Any
) -> Response:
    """Show the page; the secret of a new webhook is shown only in this response."""
    page.caller.require(Right.MANAGE, everywhere=True)
    service, store = page.console.service, backups.find_store(page.console.service.journal)
    runs = await audit.entries(service, page.caller, {"operation": DREAM, "kind": "committed", "limit": 1})
    operators = await _open_registry(page).known()
    tokens = [token for one, several in operators if not one.revoked_at for token in several]
    ends = [token.expires_at for token in tokens if token.holds(page.now) and token.expires_at is not None]
    shown = {"form": None, "problem": None, **values}
    response = await page.show(
        "operations.html",
        status,
        webhooks=await _list_webhooks(page),
        newest=await service.feed.now(),
        issued=secret,
        backups=None if store is None else await asyncio.to_thread(backups.list_backups, store),
        folder=None if store is None else str(store.parent),
        debts=await audit.owed(service, page.caller),
        run=next(iter(runs["entries"]), None),
        tokens=len(tokens),
        expiring=sum(end - page.now < EXPIRES_SOON_MS for end in ends),
        **shown,
    )
    response.headers["Cache-Control"] = "no-store"
    return response


async def add_webhook(page: Page, form: Form) -> Response:
    """Add a webhook for events from now on; on failure the page keeps the draft."""
    page.caller.require(Right.MANAGE, everywhere=True)
    journal = page.console.service.journal
    try:
        check_address(form.text("url"))
    except InvalidRequest as error:
        return await operations(page, status=status_of(error), form=form, problem=error.problem())
    webhook = Webhook(
        id=IdMint(lambda: page.now)(),
        url=form.text("url"),
        secret=new_secret(os.urandom),
        tenant=page.caller.tenant,
        agents=tuple((form.get("agents") or "*").split()),
        made_at=page.now,
        position=await journal.read_last_sequence(),
        review=form.get("review") is not None,
    )
    await Webhooks(journal).add(webhook, actor=page.caller.name)
    return await operations(page, (webhook, webhook.secret))


async def remove_webhook(page: Page, form: Form) -> Response:
    webhook = await _find_webhook(page, form.text("id"))
    scope: Mapping[str, Any] = {"tenant": page.caller.tenant, "actor": page.caller.name, "at": page.now}
    await Webhooks(page.console.service.journal).remove(webhook.id, **scope)
    return page.go(page.link("/operations"), Note(text="The webhook gets no events any more."))


async def try_now(page: Page, form: Form) -> Response:
    """Send the next event of a webhook at once, without the pause after a failure."""
    webhook = await _find_webhook(page, form.text("id"))
    webhooks = Webhooks(page.console.service.journal)
    await webhooks.fail(webhook.id, tries=webhook.tries, due_at=0, error=webhook.error or "")
    return page.go(page.link("/operations"), Note(text="The next event is sent within seconds."))


async def letters(page: Page) -> Response:
    """Show the undelivered events of a webhook, newest first."""
    webhook = await _find_webhook(page, page.query.get("id", ""))
    dead = await Webhooks(page.console.service.journal).list_dead_letters(webhook.id)
    return await page.show(
        "letters.html", webhook=webhook, letters=dead[: -_LETTERS - 1 : -1], total=len(dead)
    )


async def send_again(page: Page, form: Form) -> Response:
    """Send an undelivered event again, or discard it."""
    webhook = await _find_webhook(page, form.text("id"))
    event = whole(form.text("event"), "event", "the event is a number")
    service = page.console.service
    webhooks, address = Webhooks(service.journal), page.link("/operations/letters", id=webhook.id)
    letter = next((one for one in await webhooks.list_dead_letters(webhook.id) if one.event == event), None)
    if letter is None:
        raise NotFound(f"there is no event {event} that was given up", field="event")
    if form.get("act") == "discard":
        await webhooks.discard(webhook.id, event)
        return page.go(address, Note(text=f"Event {event} will not be sent again."))
    clock, reviews = service.container.context.clock, Reviews(service)
    sender = WebhookSender(
        service.journal, service.feed, clock, first_pause_ms=service.limits.webhook_pause_ms, reviews=reviews
    )
    error = await service.finish(sender.send_again(webhook, letter))
    if error is not None:
        return page.go(address, Note(text=f"Event {event} was not accepted: {error}", problem=True))
    return page.go(address, Note(text=f"Event {event} was accepted."))


async def make_backup(page: Page, form: Form) -> Response:
    page.caller.require(Right.MANAGE, everywhere=True)
    service = page.console.service
    store = backups.require_store(service.journal)
    copied = await service.finish(asyncio.to_thread(backups.make_backup, store, page.now))
    text = (
        f"{copied.path.name} was made: {copied.bytes:,} bytes with {copied.entries:,} entries of the ledger."
    )
    return page.go(page.link("/operations"), Note(text=text))


async def verify_backup(page: Page, form: Form) -> Response:
    page.caller.require(Right.MANAGE, everywhere=True)
    service, name = page.console.service, form.text("name")
    store = backups.require_store(service.journal)
    await service.finish(asyncio.to_thread(backups.verify_backup, store, name))
    return page.go(page.link("/operations"), Note(text=f"{name} is whole: its pages and its ledger hold."))


async def restore_backup(page: Page, form: Form) -> Response:
    """Restore a backup to a new file; the store in use is unchanged."""
    page.caller.require(Right.MANAGE, everywhere=True)
    service, names = page.console.service, (form.text("name"), form.text("target"))
    store = backups.require_store(service.journal)
    copied = await service.finish(asyncio.to_thread(backups.restore_backup, store, *names))
    text = f"Restored. Open it with: memorywire serve --store sqlite://{copied.path}"
    return page.go(page.link("/operations"), Note(text=text))


async def _list_webhooks(page: Page) -> list[Webhook]:
    all_of_them = await Webhooks(page.console.service.journal).list_all()
    return [one for one in all_of_them if one.tenant == page.caller.tenant]


async def _find_webhook(page: Page, id: str) -> Webhook:
    page.caller.require(Right.MANAGE, everywhere=True)
    webhook = next((one for one in await _list_webhooks(page) if one.id == id), None)
    if webhook is None:
        raise NotFound("there is no such webhook", field="id")
    return webhook


def _open_registry(page: Page) -> Registry:
    service = page.console.service
    return Registry(journal=service.journal, clock=service.container.context.clock, actor=page.caller.name)


OPERATIONS = PageGroup(
    views=(
        View(path="/operations", look=operations),
        View(path="/operations/webhooks", do=add_webhook),
        View(path="/operations/webhooks/remove", do=remove_webhook),
        View(path="/operations/webhooks/try", do=try_now),
        View(path="/operations/letters", look=letters, do=send_again),
        View(path="/operations/backup", do=make_backup),
        View(path="/operations/backup/verify", do=verify_backup),
        View(path="/operations/backup/restore", do=restore_backup),
    ),
    section=Section(path="/operations", title="Operations", right=Right.MANAGE, everywhere=True),
)
