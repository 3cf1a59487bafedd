"""`memorywire capabilities`: what is wired here."""

from collections.abc import Iterator, Mapping

import click

from memorywire import __version__
from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.model.capabilities import DIMENSIONS
from memorywire.model.record import Json


@click.command("capabilities")
@of_everybody
def capabilities_command(cli: CliContext) -> None:
    """Show what the stores and the embedder wired here can do."""
    with cli.memory() as memory:
        cli.show(memory.call("capabilities", {}), _render_capabilities)


def _render_capabilities(answer: Answer) -> Iterator[str]:
    embedding = answer["embedding"]
    yield f"spec        {answer['spec']}"
    yield f"operations  {', '.join(answer['operations'])}"
    yield f"features    {', '.join(answer['features'])}"
    yield from (f"store       {store['name']}: {', '.join(store['features'])}" for store in answer["stores"])
    yield f"embedding   {embedding['model']} {embedding['revision']}, {embedding['dimension']} dimensions"
    served = [name for name, holds in answer.get("contracts", {}).items() if holds]
    yield f"contracts   {', '.join(served)}"
    yield from _render_openwop(answer["openwop"]) if "openwop" in answer else ()
    yield from (f"limit       {name} {value}" for name, value in answer["limits"].items())


def _render_openwop(said: Mapping[str, Json]) -> Iterator[str]:
    """What a host gives an agent, whether or not one is open, and what an agent would miss."""
    provided = said["dimensions"]
    yield f"openwop     {'served' if said['served'] else 'not served'}: {', '.join(provided) or 'nothing'}"
    missing = [name for name in DIMENSIONS if name not in provided]
    if missing:
        yield f"  degraded  {', '.join(missing)}"


@click.command("version")
@of_everybody
def version_command(cli: CliContext) -> None:
    """Show the release and the wire format it speaks."""
    answer = {"memorywire": __version__, "spec": "v0"}
    cli.show(answer, lambda said: [f"memorywire {said['memorywire']} (wire format {said['spec']})"])


_INSTALL_LINES = {
    "bash": 'eval "$(memorywire completion bash)"  # in ~/.bashrc',
    "zsh": 'eval "$(memorywire completion zsh)"  # in ~/.zshrc',
    "fish": "memorywire completion fish > ~/.config/fish/completions/memorywire.fish",
}


@click.command("completion", epilog="For example: " + _INSTALL_LINES["bash"])
@click.argument("shell", type=click.Choice(list(_INSTALL_LINES)))
def completion_command(shell: str) -> None:
    """Print the completion script for SHELL."""
    from click.shell_completion import get_completion_class

    from memorywire.cli.command import memorywire

    shell_class = get_completion_class(shell)
    if shell_class is None:
        raise click.UsageError(f"this release of click cannot complete for {shell}")
    click.echo(shell_class(memorywire, {}, "memorywire", "_MEMORYWIRE_COMPLETE").source())
