"""`memorywire webhook`: addresses that a server tells of events."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import run_in_journal, which_agents
from memorywire.cli.context import PERSON, Answer, CliContext, scoped
from memorywire.cli.terminal import moment, safe, table, terminal_width, without_secrets
from memorywire.model.clock import system_clock
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.journal.journal import Journal
    from memorywire.journal.webhooks import Letter, Webhook


@click.group("webhook")
def webhook_command() -> None:
    """Tell other programs of every change: signed, in order, and again until it is taken."""


@webhook_command.command("add")
@click.argument("url")
@which_agents
@scoped("tenant")
def add(cli: CliContext, url: str, agents: tuple[str, ...]) -> None:
    """Tell URL of what happens from now on, and print the secret that signs it, once."""
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
            position=await journal.last_sequence(),
        )
        await Webhooks(journal).add(webhook, actor=PERSON)
        return webhook

    made = run_in_journal(cli.here, work)
    cli.show({"id": made.id, "url": without_secrets(made.url), "secret": made.secret}, _added)


@webhook_command.command("list")
@scoped("tenant")
def list_(cli: CliContext) -> None:
    """Show every webhook: how far it was told, and what is wrong."""

    async def work(journal: "Journal") -> "list[Webhook]":
        from memorywire.journal.webhooks import Webhooks

        return await Webhooks(journal).list_all()

    known = run_in_journal(cli.here, work)
    shown = [_shown(webhook) for webhook in known if cli.named in (None, webhook.tenant)]
    cli.show({"webhooks": shown}, _lines)


@webhook_command.command("letters")
@click.argument("id")
@scoped("tenant")
def letters(cli: CliContext, id: str) -> None:
    """Show the events that webhook ID never took, and why."""

    async def work(journal: "Journal") -> "list[Letter]":
        from memorywire.journal.webhooks import Webhooks

        await _check_tenant(journal, id, cli.named)
        return await Webhooks(journal).list_dead_letters(id)

    found = run_in_journal(cli.here, work)
    answer: Answer = {"letters": [{"event": one.event, "at": one.at, "error": one.error} for one in found]}
    cli.show(
        answer,
        lambda said: [
            f"{one['event']}  {moment(one['at'])}  {safe(one['error'])}" for one in said["letters"]
        ],
    )


@webhook_command.command("remove")
@click.argument("id")
@scoped("tenant")
def remove(cli: CliContext, id: str) -> None:
    """Tell webhook ID nothing any more."""

    async def work(journal: "Journal") -> None:
        from memorywire.journal.webhooks import Webhooks

        await _check_tenant(journal, id, cli.named)
        await Webhooks(journal).remove(id, tenant=cli.tenant, actor=PERSON, at=system_clock())

    run_in_journal(cli.here, work)
    cli.show({"id": id, "removed": True}, lambda said: [f"removed {said['id']}"])


async def _check_tenant(journal: "Journal", id: str, tenant: str | None) -> None:
    """Raise NotFound for a webhook of another tenant than the one that was typed, if any was."""
    from memorywire.journal.webhooks import Webhooks

    known = {webhook.id: webhook.tenant for webhook in await Webhooks(journal).list_all()}
    if tenant is not None and known.get(id) != tenant:
        raise NotFound(f"tenant {tenant} has no webhook {id}", field="id", fix="see: memorywire webhook list")


def _added(answer: Answer) -> Iterator[str]:
    yield answer["secret"]
    yield f"  this signs what is sent to {safe(answer['url'])}; it is shown only now"
    yield f"  the webhook is {answer['id']}"


def _shown(webhook: "Webhook") -> Answer:
    return {
        "id": webhook.id,
        "url": without_secrets(webhook.url),
        "tenant": webhook.tenant,
        "agents": list(webhook.agents),
        "told": webhook.position,
        "tries": webhook.tries,
        "error": webhook.error,
        "given_up": webhook.buried,
    }


def _lines(answer: Answer) -> list[str]:
    if not answer["webhooks"]:
        return ["nobody is told of changes"]
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
    return table(headers, rows, elastic="error", width=terminal_width())
