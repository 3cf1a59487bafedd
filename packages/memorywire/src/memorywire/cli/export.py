"""`memorywire export`: memory as one bundle, or as readable files."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import require_store, run_in_app
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.hints import note_unknown_user
from memorywire.cli.inputs import option
from memorywire.cli.ledger_file import other_tenants, tenants_note
from memorywire.cli.terminal import Progress
from memorywire.model.errors import Conflict, InvalidRequest, StoreUnavailable
from memorywire.model.record import DEFAULT_TENANT
from memorywire.model.text import counted
from memorywire.runtime.files import flush

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.migrate.bundle import ExportOptions
    from memorywire.pipeline.context import Context

FORMATS = ("bundle", "markdown", "csv", "okf")
_STDOUT = Path("-")
_SHOWN = 10


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@option(
    "--format",
    "The format; markdown and okf write a folder.",
    name="format_",
    type=click.Choice(FORMATS),
    default="bundle",
)
@option("--with-vectors", "Include the vectors, so that an import need not create them.")
@option("--with-ledger", "Include the ledger, and imported ledgers.")
@option("--replace", "Overwrite an existing file.")
@shared
def export_command(
    cli: CliContext, file: Path, format_: str, with_vectors: bool, with_ledger: bool, replace: bool
) -> None:
    """Export memory to FILE; `-` is standard output.

    Of all agents and users, unless --agent or --user selects one.

    A bundle has the complete history in order: every version with its id and times, waiting proposals and
    rules. The same memory gives the same lines, and the last line is the signature of the store. The other
    formats have the current memories; the command prints what they leave out.
    """
    from memorywire.migrate.bundle import ExportOptions

    if file != _STDOUT and file.exists() and not replace:
        raise Conflict(f"{file} exists", field="file", fix="name a new file, or give --replace")
    if not file.absolute().parent.is_dir():
        raise StoreUnavailable(
            f"cannot write {file}: there is no folder {file.parent}",
            field="file",
            fix="create it first, or name another",
        )
    if format_ != "bundle" and (with_vectors or with_ledger):
        raise InvalidRequest(
            f"{format_} has neither vectors nor a ledger", field="format", fix="export a bundle"
        )
    if file == _STDOUT and format_ != "bundle":
        raise InvalidRequest(f"{format_} writes files", field="file", fix="name a file")
    for url in cli.local_settings.stores:
        require_store(url)
    request = ExportOptions(
        tenant=cli.tenant,
        tenant_only=cli.tenant_option is not None or cli.tenant != DEFAULT_TENANT,
        agents=tuple(filter(None, [cli.typed_scope().get("agent_id")])),
        user=cli.typed_scope().get("user_id"),
        vectors=with_vectors,
        ledger=with_ledger,
    )
    answer = run_in_app(cli.local_settings, partial(_export, file=file, format_=format_, request=request))
    answer |= {"other_tenants": other_tenants(cli)}
    if file == _STDOUT:  # it has only the bundle
        click.echo("\n".join(_render_export(answer | {"file": "standard output"})), err=True)
    else:
        cli.show(answer, _render_export)
    if request.user is not None and not answer["counts"].get("put") and not cli.as_json:
        note_unknown_user(request.user)


async def _export(container: "Container", file: Path, format_: str, request: "ExportOptions") -> Answer:
    from memorywire.migrate.export_files import LOSSES, export_files

    if format_ == "bundle":
        with Progress("exporting", None) as progress:
            return await _write_bundle(container.context, file, request, progress)
    try:
        result = await export_files(
            file, format_, container.context.store, request.tenant, request.agents, request.user
        )
    except OSError as error:
        raise _write_error(file, error) from error
    answer: Answer = {"file": str(file), "format": format_, "counts": {"put": result.count}}
    return answer | {"losses": list(LOSSES), "others": list(result.others)}


async def _write_bundle(
    context: "Context", file: Path, request: "ExportOptions", progress: Progress
) -> Answer:
    from memorywire.migrate.bundle import export_bundle

    def show_progress(done: int) -> None:
        progress.update(done, counted(done, "change"))

    if file == _STDOUT:
        bundle = await export_bundle(sys.stdout.buffer, context, request, show_progress)
        return {"format": "bundle", "counts": dict(bundle.counts), "digest": bundle.digest}
    unfinished = file.with_name(f".{file.name}.partial")
    try:
        unfinished.touch(0o600)  # as private as the store
        with unfinished.open("wb") as target:
            bundle = await export_bundle(target, context, request, show_progress)
            target.flush()
            flush(target.fileno())
        unfinished.replace(file)
    except OSError as error:
        raise _write_error(file, error) from error
    finally:
        unfinished.unlink(missing_ok=True)
    return {"file": str(file), "format": "bundle", "counts": dict(bundle.counts), "digest": bundle.digest}


def _write_error(file: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(
        f"cannot write {file}: {error.strerror}", field="file", fix="check free space and permissions"
    )


def _render_export(answer: Answer) -> Iterator[str]:
    counts = answer["counts"]
    if answer["format"] != "bundle":
        yield f"wrote {counted(counts['put'], 'memory')} to {answer['file']}"
        yield from (f"  not included: {loss}" for loss in answer["losses"])
        if answer["others"]:
            files = counted(len(answer["others"]), "file")
            yield f"  {files} not from this export, whose memory may have ended:"
            yield from (f"    {name}" for name in answer["others"][:_SHOWN])
    else:
        changes = counted(counts.get("change", 0), "change")
        versions = counted(counts.get("put", 0), "version")
        yield f"wrote {changes} with {versions} to {answer['file']}"
        yield f"  sha256 of its lines: {answer['digest']}"
    yield from tenants_note(answer["other_tenants"])
