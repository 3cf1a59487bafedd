"""`memorywire version`: which release this is."""

import click

from memorywire import __version__
from memorywire.cli.context import CliContext, of_everybody


@click.command("version")
@of_everybody
def command(cli: CliContext) -> None:
    """Show the release and the wire format it speaks."""
    answer = {"memorywire": __version__, "spec": "v0"}
    cli.show(answer, lambda said: [f"memorywire {said['memorywire']} (wire format {said['spec']})"])
