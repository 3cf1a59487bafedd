"""Notes for a person on standard error: a doubtful filter, another agent."""

import click

from memorywire.cli.context import CliContext
from memorywire.cli.terminal import clean
from memorywire.model.errors import CapabilityUnsupported, Forbidden
from memorywire.model.record import Json
from memorywire.wire.filters import doubts

_MOST_AGENTS = 5


def note_filter_doubts(cli: CliContext, filter_: Json) -> None:
    """Print a note for each metadata name of the filter that is nearly a field name."""
    if filter_ is not None and not cli.as_json:
        for doubt in doubts(filter_):
            click.echo(clean(f"note: {doubt}"), err=True)


def note_empty_scope(cli: CliContext) -> None:
    """Print a note if the agent of this command, or its user, has no memories."""
    if cli.as_json:
        return
    try:
        agents = cli.memory().call("agents", {})["items"]
    except (CapabilityUnsupported, Forbidden):  # the store cannot list agents, or the caller may not
        agents = []
    agent, names = clean(cli.settings.agent), [one["agent_id"] for one in agents if one["memories"]]
    if names and cli.settings.agent not in names:
        examples = ", ".join(clean(name) for name in names[:_MOST_AGENTS])
        more = " and others" if len(names) > _MOST_AGENTS else ""
        click.echo(f"note: agent {agent} has no memories; choose {examples}{more} with --agent", err=True)
    elif cli.settings.user is not None:
        page = cli.memory().call("list", cli.payload(limit=1, include=["archived"]))
        if not page["total"]:
            note_unknown_user(cli.settings.user, f" of agent {agent}")


def note_user_scope(cli: CliContext) -> None:
    """As `note_empty_scope`, for a command that leaves out the memories of users if it names no user."""
    note_empty_scope(cli)
    request = cli.payload(limit=1, filter={"user_id": {"exists": True}})
    if not (cli.as_json or cli.settings.user) and cli.memory().call("list", request)["total"]:
        click.echo("note: memories of users need --user; see: memorywire users", err=True)


def note_unknown_user(user: str, whose: str = "") -> None:
    """Print that there is no memory of a user."""
    click.echo(f"note: user {clean(user)} has no memories{whose}; see: memorywire users", err=True)
