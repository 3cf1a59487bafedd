"""`memorywire webhook`: URLs to which a server sends events."""

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.app import agents_option, run_in_journal
from memorywire.cli.context import Answer, CliContext, scoped
from memorywire.cli.inputs import option
from memorywire.cli.terminal import clean, format_table, format_time, mask_secrets
from memorywire.model.clock import system_clock
from memorywire.model.errors import NotFound
from memorywire.model.record import PERSON

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.journal.journal import Journal
    from memorywire.journal.webhooks import Webhooks

T = TypeVar("T")


@click.group("webhook")
def webhook_command() -> None:
    """Send every change to other programs, signed and in order."""


@webhook_command.command("add")
@click.argument("url")
@agents_option
@option("--review", "Send held requests, with what they say, and carry out the decisions it returns.")
@scoped("tenant")
def add(cli: CliContext, url: str, agents: tuple[str, ...], review: bool) -> None:
    """Send events to URL from now on, and print the signing secret, once."""
    from memorywire.journal.webhooks import Webhook
    from memorywire.model.ids import IdMint
    from memorywire_server.background import check_address, new_secret

    check_address(url)

    async def work(webhooks: "Webhooks", journal: "Journal") -> Webhook:
        webhook = Webhook(
            id=IdMint(system_clock)(),
            url=url,
            secret=new_secret(os.urandom),
            tenant=cli.tenant,
            agents=agents,
            made_at=system_clock(),
            position=await journal.read_last_sequence(),
            review=review,
        )
        await webhooks.add(webhook, actor=PERSON)
        return webhook

    webhook = _run(cli, work)
    answer = {"id": webhook.id, "url": mask_secrets(webhook.url), "secret": webhook.secret}
    notice = f"  this secret signs events for {clean(answer['url'])}; it is shown only once"
    cli.show(answer, [webhook.secret, notice, f"  the webhook is {webhook.id}"])


@webhook_command.command("list")
@scoped("tenant")
def list_(cli: CliContext) -> None:
    """List the webhooks, with their progress and errors."""
    documents: list[Answer] = [
        {
            "id": webhook.id,
            "url": mask_secrets(webhook.url),
            "tenant": webhook.tenant,
            "agents": list(webhook.agents),
            "review": webhook.review,
            "told": webhook.position,
            "tries": webhook.tries,
            "error": webhook.error,
            "given_up": webhook.buried,
        }
        for webhook in _run(cli, lambda webhooks, _: webhooks.list_all())
        if cli.tenant_option in (None, webhook.tenant)
    ]
    names = ("id", "url", "tenant", "agents", "review", "told", "given_up", "error")
    rows = [[" ".join(one[name]) if name == "agents" else one[name] for name in names] for one in documents]
    headers = [name.replace("_", " ") for name in names]
    cli.show({"webhooks": documents}, format_table(headers, rows, empty="no webhooks"))


@webhook_command.command("letters")
@click.argument("id")
@scoped("tenant")
def letters(cli: CliContext, id: str) -> None:
    """Show the events that were not delivered, and why."""
    dead = _run(cli, lambda webhooks, _: webhooks.list_dead_letters(id), id)
    answer: Answer = {"letters": [{"event": one.event, "at": one.at, "error": one.error} for one in dead]}
    lines = [f"{one.event}  {format_time(one.at)}  {clean(one.error)}" for one in dead]
    cli.show(answer, lines)


@webhook_command.command("remove")
@click.argument("id")
@scoped("tenant")
def remove(cli: CliContext, id: str) -> None:
    """Remove a webhook."""
    remove = {"tenant": cli.tenant, "actor": PERSON}
    _run(cli, lambda webhooks, _: webhooks.remove(id, **remove, at=system_clock()), id)
    cli.show({"id": id, "removed": True}, [f"removed {id}"])


def _run(cli: CliContext, work: "Callable[[Webhooks, Journal], Awaitable[T]]", id: str | None = None) -> T:
    """Run the work on the webhooks; raises NotFound if webhook `id` is of another tenant than --tenant."""

    async def act(journal: "Journal") -> T:
        from memorywire.journal.webhooks import Webhooks

        webhooks, tenant = Webhooks(journal), cli.tenant_option
        owners = {} if id is None else {one.id: one.tenant for one in await webhooks.list_all()}
        if id is not None and tenant is not None and owners.get(id) != tenant:
            fix = "see: memorywire webhook list"
            raise NotFound(f"tenant {tenant} has no webhook {id}", field="id", fix=fix)
        return await work(webhooks, journal)

    return run_in_journal(cli.local_settings, act)


EXAMPLES = {
    "webhook": ("memorywire webhook add https://example.com/hook",),
    "webhook add": ("memorywire webhook add https://example.com/review --review",),
    "webhook list": ("memorywire webhook list",),
    "webhook letters": ("memorywire webhook letters 01a1e811-37c3-7000-937e-ee3ca3f930e9",),
    "webhook remove": ("memorywire webhook remove 01a1e811-37c3-7000-937e-ee3ca3f930e9",),
}
