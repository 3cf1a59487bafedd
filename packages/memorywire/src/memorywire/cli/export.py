"""`memorywire export`: a memory in one file, or in files that people read."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import open_app, require_store
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.ledger_file import left_out, other_tenants
from memorywire.cli.terminal import Progress
from memorywire.model.errors import Conflict, InvalidRequest, StoreUnavailable
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.migrate.bundle import ExportOptions
    from memorywire.pipeline.context import Context

FORMATS = ("bundle", "markdown", "csv", "okf")
_STDOUT = Path("-")
_SHOWN = 10


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="bundle",
    show_default=True,
    help="What to write; markdown and okf write a folder.",
)
@click.option(
    "--with-vectors", is_flag=True, help="Take the vectors along, so that no import has to make them."
)
@click.option(
    "--with-ledger", is_flag=True, help="Take the ledger along, and those that came here in bundles."
)
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
@shared
def export_command(
    cli: CliContext, file: Path, format_: str, with_vectors: bool, with_ledger: bool, replace: bool
) -> None:
    """Write the memory of every agent and user to FILE; - is standard output.

    --agent and --user narrow it to one agent, to one user, or to one user of one agent.

    A bundle has everything that ever happened, in order: every version with its ids and moments, what waits
    for a person and the rules that people gave. The same memory gives the same lines, and
    the last one is the signature of the store. The other formats
    have the memories as they are now, and what they cannot hold is said.
    """
    import asyncio

    from memorywire.migrate.bundle import ExportOptions

    if file != _STDOUT and file.exists() and not replace:
        raise Conflict(f"{file} exists", field="file", fix="name a new file, or say --replace")
    if not file.absolute().parent.is_dir():
        raise StoreUnavailable(
            f"{file} cannot be written: there is no folder {file.parent}",
            field="file",
            fix="make it first, or name another",
        )
    if format_ != "bundle" and (with_vectors or with_ledger):
        raise InvalidRequest(
            f"{format_} holds neither vectors nor a ledger", field="format", fix="write a bundle"
        )
    if file == _STDOUT and format_ != "bundle":
        raise InvalidRequest(f"{format_} is written to files of its own", field="file", fix="name a file")
    for url in cli.here.stores:
        require_store(url)
    options = ExportOptions(
        tenant=cli.tenant,
        agents=tuple(filter(None, [cli.reach().get("agent_id")])),
        user=cli.reach().get("user_id"),
        vectors=with_vectors,
        ledger=with_ledger,
    )
    answer = asyncio.run(_export(cli, file, format_, options)) | {"other_tenants": other_tenants(cli)}
    if file == _STDOUT:  # which has the bundle and nothing else
        click.echo("\n".join(_render_export(answer | {"file": "standard output"})), err=True)
    else:
        cli.show(answer, _render_export)


async def _export(cli: CliContext, file: Path, format_: str, options: "ExportOptions") -> Answer:
    async with open_app(cli.here) as container:
        with Progress("exporting", None) as progress:
            if format_ != "bundle":
                return await _write_readable(container.context, file, format_, options)
            return await _write_bundle(container.context, file, options, progress)


async def _write_bundle(
    context: "Context", file: Path, options: "ExportOptions", progress: Progress
) -> Answer:
    from memorywire.migrate.bundle import export_bundle

    def reached(done: int) -> None:
        progress.reached(done, counted(done, "change"))

    if file == _STDOUT:
        bundle = await export_bundle(sys.stdout.buffer, context, options, reached)
        return {"format": "bundle", "counts": dict(bundle.counts), "digest": bundle.digest}
    partial = file.with_name(f".{file.name}.partial")
    try:
        partial.touch(0o600)  # as private as the store
        with partial.open("wb") as target:
            bundle = await export_bundle(target, context, options, reached)
            target.flush()
            os.fsync(target.fileno())
        partial.replace(file)
    except OSError as error:
        raise _write_error(file, error) from error
    finally:
        partial.unlink(missing_ok=True)
    return {"file": str(file), "format": "bundle", "counts": dict(bundle.counts), "digest": bundle.digest}


async def _write_readable(context: "Context", file: Path, format_: str, options: "ExportOptions") -> Answer:
    from memorywire.migrate.export_files import LOSSES, export_files

    try:
        written = await export_files(
            file, format_, context.store, options.tenant, options.agents, options.user
        )
    except OSError as error:
        raise _write_error(file, error) from error
    return {
        "file": str(file),
        "format": format_,
        "counts": {"put": written.count},
        "losses": list(LOSSES),
        "others": list(written.others),
    }


def _write_error(file: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"{file} cannot be written: {error.strerror}", field="file", fix="check free space and permissions"
    )


def _render_export(answer: Answer) -> Iterator[str]:
    counts = answer["counts"]
    if answer["format"] != "bundle":
        yield f"wrote {counted(counts['put'], 'memory')} to {answer['file']}"
        yield from (f"  not in it: {loss}" for loss in answer["losses"])
        if answer["others"]:
            files = counted(len(answer["others"]), "file")
            yield f"  {files} there before and not of this export, of a memory that is gone perhaps:"
            yield from (f"    {name}" for name in answer["others"][:_SHOWN])
    else:
        changes, versions = (
            counted(counts.get("change", 0), "change"),
            counted(counts.get("put", 0), "version"),
        )
        yield f"wrote {changes} with {versions} to {answer['file']}"
        yield f"  sha256 of its lines: {answer['digest']}"
    yield from left_out(answer["other_tenants"])
