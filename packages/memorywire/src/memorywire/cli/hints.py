"""Names that a filter looks for in the metadata, and that are nearly the name of a field."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from memorywire.cli.context import CliContext
from memorywire.cli.terminal import safe
from memorywire.model.errors import CapabilityUnsupported, Forbidden
from memorywire.model.record import Json
from memorywire.wire.filters import doubts


def note_filter_doubts(cli: CliContext, wanted: Json) -> None:
    """Tell a person about it; the filter is valid as it stands, so nothing is stopped."""
    if not cli.as_json:
        for doubt in doubts(wanted):
            click.echo(safe(f"note: {doubt}"), err=True)


_MOST_AGENTS = 5


def note_other_agents(cli: CliContext) -> None:
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
        names = ", ".join(safe(name) for name in having[:_MOST_AGENTS])
        more = " and others" if len(having) > _MOST_AGENTS else ""
        told = f"the agent {safe(cli.settings.agent)} has no memories here; there are some of {names}{more}"
        click.echo(f"note: {told}: choose with --agent", err=True)


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Say what to install when something inside cannot be imported."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memorywire."):
            raise  # that is ours, and installing more does not bring it
        raise CapabilityUnsupported(
            f"{error.name} is not installed", fix=f"pip install 'memorywire[{extra}]'"
        ) from error
