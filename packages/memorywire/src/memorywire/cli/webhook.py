"""`memorywire webhook`: URLs to which a server sends events."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import agents_option, run_in_journal
from memorywire.cli.context import PERSON, Answer, CliContext, scoped
from memorywire.cli.terminal import clean, format_table, format_time, mask_secrets
from memorywire.model.clock import system_clock
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.journal.journal import Journal
    from memorywire.journal.webhooks import Letter, Webhook


@click.group("webhook")
def webhook_command() -> None:
    """Send every change to other programs, signed and in order."""


@webhook_command.command("add")
@click.argument("url")
@agents_option
@scoped("tenant")
def add(cli: CliContext, url: str, agents: tuple[str, ...]) -> None:
    """Send events to URL from now on, and print the signing secret, once."""
    from memorywire.cli.hints import require_extra

    with require_extra("server"):
        from memorywire.server.background import check_address, new_secret
    from memorywire.journal.webhooks import Webhook

    check_address(url)

    async def work(journal: "Journal") -> Webhook:
        from memorywire.journal.webhooks import Webhooks
        from memorywire.model.ids import IdMint

        webhook = Webhook(
            id=IdMint(system_clock)(),
            url=url,
            secret=new_secret(os.urandom),
            tenant=cli.tenant,
            agents=agents,
            made_at=system_clock(),
            position=await journal.read_last_sequence(),
        )
        await Webhooks(journal).add(webhook, actor=PERSON)
        return webhook

    webhook = run_in_journal(cli.local_settings, work)
    cli.show({"id": webhook.id, "url": mask_secrets(webhook.url), "secret": webhook.secret}, _render_added)


@webhook_command.command("list")
@scoped("tenant")
def list_(cli: CliContext) -> None:
    """List the webhooks, with their progress and errors."""

    async def work(journal: "Journal") -> "list[Webhook]":
        from memorywire.journal.webhooks import Webhooks

        return await Webhooks(journal).list_all()

    webhooks = run_in_journal(cli.local_settings, work)
    documents = [
        _webhook_answer(webhook) for webhook in webhooks if cli.tenant_option in (None, webhook.tenant)
    ]
    cli.show({"webhooks": documents}, _render_webhooks)


@webhook_command.command("letters")
@click.argument("id")
@scoped("tenant")
def letters(cli: CliContext, id: str) -> None:
    """Show the events that were not delivered, and why."""

    async def work(journal: "Journal") -> "list[Letter]":
        from memorywire.journal.webhooks import Webhooks

        await _check_tenant(journal, id, cli.tenant_option)
        return await Webhooks(journal).list_dead_letters(id)

    found = run_in_journal(cli.local_settings, work)
    answer: Answer = {"letters": [{"event": one.event, "at": one.at, "error": one.error} for one in found]}
    cli.show(
        answer,
        lambda answer: [
            f"{one['event']}  {format_time(one['at'])}  {clean(one['error'])}" for one in answer["letters"]
        ],
    )


@webhook_command.command("remove")
@click.argument("id")
@scoped("tenant")
def remove(cli: CliContext, id: str) -> None:
    """Remove a webhook."""

    async def work(journal: "Journal") -> None:
        from memorywire.journal.webhooks import Webhooks

        await _check_tenant(journal, id, cli.tenant_option)
        await Webhooks(journal).remove(id, tenant=cli.tenant, actor=PERSON, at=system_clock())

    run_in_journal(cli.local_settings, work)
    cli.show({"id": id, "removed": True}, lambda answer: [f"removed {answer['id']}"])


async def _check_tenant(journal: "Journal", id: str, tenant: str | None) -> None:
    """Raise NotFound if the webhook belongs to another tenant than the typed one."""
    from memorywire.journal.webhooks import Webhooks

    webhooks = {webhook.id: webhook.tenant for webhook in await Webhooks(journal).list_all()}
    if tenant is not None and webhooks.get(id) != tenant:
        raise NotFound(f"tenant {tenant} has no webhook {id}", field="id", fix="see: memorywire webhook list")


def _render_added(answer: Answer) -> Iterator[str]:
    yield answer["secret"]
    yield f"  this secret signs events for {clean(answer['url'])}; it is shown only once"
    yield f"  the webhook is {answer['id']}"


def _webhook_answer(webhook: "Webhook") -> Answer:
    return {
        "id": webhook.id,
        "url": mask_secrets(webhook.url),
        "tenant": webhook.tenant,
        "agents": list(webhook.agents),
        "told": webhook.position,
        "tries": webhook.tries,
        "error": webhook.error,
        "given_up": webhook.buried,
    }


def _render_webhooks(answer: Answer) -> list[str]:
    if not answer["webhooks"]:
        return ["no webhooks"]
    rows = [
        [
            one["id"],
            one["url"],
            one["tenant"],
            " ".join(one["agents"]),
            str(one["told"]),
            str(one["given_up"]),
            one["error"] or "",
        ]
        for one in answer["webhooks"]
    ]
    headers = ["id", "url", "tenant", "agents", "told", "given up", "error"]
    return format_table(headers, rows, elastic="error")
