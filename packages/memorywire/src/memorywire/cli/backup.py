"""`memorywire backup` and `memorywire restore`: copies of a SQLite store with its ledger."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import find_file
from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import option
from memorywire.model.clock import system_clock
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.journal.sqlite.files import Copied


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@without_scope
def backup_command(cli: CliContext, file: Path) -> None:
    """Copy the store, its ledger and its key to FILE.

    The copy is a snapshot with every acknowledged write; a server may continue to write. The key and the
    checkpoints are stored beside FILE. Keep all three private.
    """
    from memorywire.journal.sqlite.files import backup

    cli.show(_copy_answer(backup(_store_path(cli), file)), _render_backup)


def _store_path(cli: CliContext) -> Path:
    """Return the file of the store; CapabilityUnsupported if it is not a SQLite file."""
    path = find_file(cli.local_settings.stores[0])
    if path is None:
        raise CapabilityUnsupported(
            "this command copies only SQLite stores",
            field="store",
            fix="use the tools of its database, such as pg_dump",
        )
    return path


def _copy_answer(result: "Copied") -> Answer:
    counts = {name: getattr(result, name) for name in ("bytes", "entries", "exposed")}
    return {"file": str(result.path), **counts}


def _render_backup(answer: Answer) -> Iterator[str]:
    yield f"copied {_copy_summary(answer)}"
    if answer["exposed"]:
        count = counted(answer["exposed"], "entry is", "entries are")
        yield f"the newest {count} not signed yet"


def _copy_summary(answer: Answer) -> str:
    entries = counted(answer["entries"], "entry")
    return f"{answer['bytes']} bytes with {entries} of the ledger in {answer['file']}"


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@option("--replace", "Replace an existing store, which is renamed.")
@without_scope
def restore_command(cli: CliContext, file: Path, replace: bool) -> None:
    """Restore the store from the backup FILE.

    The pages and the ledger of FILE are verified first. End every process that uses the store before.
    """
    from memorywire.journal.sqlite.files import restore

    copy = restore(file, _store_path(cli), replace=replace, aside=f".replaced-{system_clock()}")
    replaced = {} if copy.replaced is None else {"replaced": str(copy.replaced)}
    cli.show(_copy_answer(copy) | replaced, _render_restore)


def _render_restore(answer: Answer) -> Iterator[str]:
    yield f"restored {_copy_summary(answer)}"
    if "replaced" in answer:
        yield f"  the previous store is now {answer['replaced']}; delete it when you no longer need it"
