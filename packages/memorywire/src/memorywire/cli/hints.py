"""Notes for a person on standard error: a doubtful filter, another agent, a missing package."""

from collections.abc import Iterator
from contextlib import contextmanager

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


def note_other_agents(cli: CliContext) -> None:
    """Print which agents have memories, if the agent of this command has none."""
    if cli.as_json:
        return
    try:
        agents = cli.memory().call("agents", {})["items"]
    except (CapabilityUnsupported, Forbidden):  # the store cannot list agents, or the caller may not
        return
    names = [one["agent_id"] for one in agents if one["memories"]]
    if names and cli.settings.agent not in names:
        listed = ", ".join(clean(name) for name in names[:_MOST_AGENTS])
        more = " and others" if len(names) > _MOST_AGENTS else ""
        agent = clean(cli.settings.agent)
        click.echo(f"note: agent {agent} has no memories; choose {listed}{more} with --agent", err=True)


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Raise CapabilityUnsupported with the package to install if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memorywire."):
            raise  # a module of this package: no extra provides it
        raise CapabilityUnsupported(
            f"{error.name} is not installed", fix=f"pip install 'memorywire[{extra}]'"
        ) from error
