"""`memorywire restore`: a backup back in its place."""

from collections.abc import Iterator
from pathlib import Path

import click

from memorywire.cli.backup import copied, store_path, summary
from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.model.clock import system_clock


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--replace", is_flag=True, help="Put it in the place of a store that exists; that one is renamed."
)
@of_everybody
def command(cli: CliContext, file: Path, replace: bool) -> None:
    """Put the backup FILE in the place of the store.

    Its pages and its ledger are checked first. End every process that uses the store before.
    """
    from memorywire.journal.backup import restore

    aside = f".replaced-{system_clock()}"
    done = restore(file, store_path(cli), replace=replace, aside=aside)
    answer = copied(done) if done.replaced is None else {**copied(done), "replaced": str(done.replaced)}
    cli.show(answer, _sentences)


def _sentences(answer: Answer) -> Iterator[str]:
    yield f"restored {summary(answer)}"
    if "replaced" in answer:
        yield f"  what was there is now {answer['replaced']}; delete it when you do not need it any more"
