"""Commands about the installation: `capabilities`, `version` and `completion`."""

from collections.abc import Iterator

import click

from memorywire import __version__
from memorywire.cli.context import Answer, CliContext, scoped, without_scope
from memorywire.model.capabilities import DIMENSIONS


@click.command("capabilities")
@scoped("agent", "tenant")
def capabilities_command(cli: CliContext) -> None:
    """Show what the stores of the agent and the embedder can do."""
    payload = {"agent_id": cli.settings.agent} if cli.settings.agent else {}
    cli.show(cli.memory().call("capabilities", payload), _render_capabilities)


def _render_capabilities(answer: Answer) -> Iterator[str]:
    embedding = answer["embedding"]
    yield f"spec        {answer['spec']}"
    yield f"operations  {', '.join(answer['operations'])}"
    yield f"features    {', '.join(answer['features'])}"
    yield from (f"store       {store['name']}: {', '.join(store['features'])}" for store in answer["stores"])
    yield f"embedding   {embedding['model']} {embedding['revision']}, {embedding['dimension']} dimensions"
    contracts = [name for name, holds in answer.get("contracts", {}).items() if holds]
    yield f"contracts   {', '.join(contracts)}"
    if "openwop" in answer:
        dimensions, state = answer["openwop"]["dimensions"], answer["openwop"]["served"]
        yield f"openwop     {'served' if state else 'not served'}: {', '.join(dimensions) or 'nothing'}"
        if missing := [name for name in DIMENSIONS if name not in dimensions]:
            yield f"  degraded  {', '.join(missing)}"
    yield from (f"limit       {name} {value}" for name, value in answer["limits"].items())


@click.command("version")
@without_scope
def version_command(cli: CliContext) -> None:
    """Show the version and its wire format."""
    answer = {"memorywire": __version__, "spec": "v0"}
    cli.show(answer, [f"memorywire {__version__} (wire format v0)"])


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from memorywire.cli.command import memorywire

    shell_class = get_completion_class(shell)
    if shell_class is None:
        raise click.UsageError(f"this version of click has no completion for {shell}")
    click.echo(shell_class(memorywire, {}, "memorywire", "_MEMORYWIRE_COMPLETE").source())
