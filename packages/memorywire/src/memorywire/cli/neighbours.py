"""What to tell somebody who found nothing: whose memories there are."""

import click

from memorywire.cli.context import CliContext
from memorywire.cli.terminal import safe
from memorywire.model.errors import CapabilityUnsupported, Forbidden

_NAMED = 5


def tell_of_others(cli: CliContext) -> None:
    """Tell a person which agents have memories, if the one that was asked has none."""
    if cli.as_json:
        return
    try:
        with cli.memory() as memory:
            agents = memory.call("agents", {})["items"]
    except (CapabilityUnsupported, Forbidden):  # not every store can say it, and not to everybody
        return
    having = [one["agent_id"] for one in agents if one["memories"]]
    if having and cli.settings.agent not in having:
        names = ", ".join(safe(name) for name in having[:_NAMED])
        more = " and others" if len(having) > _NAMED else ""
        told = f"the agent {safe(cli.settings.agent)} has no memories here; there are some of {names}{more}"
        click.echo(f"note: {told}: choose with --agent", err=True)
