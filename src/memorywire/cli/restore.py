"""`memorywire restore`: a backup back in its place."""

from pathlib import Path

import click

from memorywire.cli.backup import copied, store_path, summary
from memorywire.cli.desk import Desk, shared
from memorywire.model.clock import system_clock


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Put it in the place of a store that exists; that one is renamed."
)
@shared
def command(desk: Desk, file: Path, replace: bool) -> None:
    """Put the backup FILE in the place of the store.

    Its pages and its ledger are checked first. End every process that uses the store before.
    """
    from memorywire.journal.backup import restore

    aside = f".replaced-{system_clock()}"
    done = restore(file, store_path(desk), replace=replace, aside=aside)
    desk.show(copied(done), lambda said: [f"restored {summary(said)}"])
