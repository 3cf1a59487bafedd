"""`memorywire backup`: a copy of everything, taken while others write."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import file_of
from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.model.counting import counted
from memorywire.model.errors import CapabilityUnsupported

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.journal.backup import Copied


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@of_everybody
def command(cli: CliContext, file: Path) -> None:
    """Copy the store, its ledger and the ledger's key to FILE.

    The copy is of one moment and holds everything that was acknowledged before; a server may go on
    writing meanwhile. The key and the checkpoints are put beside FILE. Keep all three private.
    """
    from memorywire.journal.backup import backup

    cli.show(copied(backup(store_path(cli), file)), _sentences)


def store_path(cli: CliContext) -> Path:
    """The file of the desk's store."""
    path = file_of(cli.here.stores[0])
    if path is None:
        raise CapabilityUnsupported(
            "only a store that is a SQLite file is copied by this command",
            field="store",
            fix="use the tools of its database, such as pg_dump",
        )
    return path


def copied(result: "Copied") -> Answer:
    return {
        "file": str(result.path),
        "bytes": result.bytes,
        "entries": result.entries,
        "exposed": result.exposed,
    }


def _sentences(answer: Answer) -> Iterator[str]:
    yield f"kept {summary(answer)}"
    if answer["exposed"]:
        unsigned = counted(answer["exposed"], "entry is", "entries are")
        yield f"the newest {unsigned} not signed: nothing proves more yet"


def summary(answer: Answer) -> str:
    entries = counted(answer["entries"], "entry")
    return f"{answer['bytes']} bytes with {entries} of the ledger in {answer['file']}"
