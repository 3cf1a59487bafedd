"""`memorywire version`: which release this is."""

import click

from memorywire import __version__
from memorywire.cli.context import Desk, of_everybody


@click.command("version")
@of_everybody
def command(desk: Desk) -> None:
    """Show the release and the wire format it speaks."""
    answer = {"memorywire": __version__, "spec": "v0"}
    desk.show(answer, lambda said: [f"memorywire {said['memorywire']} (wire format {said['spec']})"])
