"""`memorywire archive`: write the ledger to a folder or an object store, or verify what is there."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memorywire.cli.app import run_in_app
from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import option
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.app import Container

_BROKEN = 1


@click.command("archive")
@click.argument("url", required=False)
@option("--verify", "Prove what is in the archive instead, with nothing but its files.")
@option("--key KEY", "With --verify: the public key to trust; default: that of the ledger.")
@without_scope
def archive_command(cli: CliContext, url: str | None, verify: bool, key: str | None) -> None:
    """Archive the ledger in the folder or object store URL; default: the settings.

    Writes new entries and a signed checkpoint; nothing is ever replaced. Exits with 3 and writes nothing if
    the ledger no longer agrees with the last archived checkpoint.
    """
    import asyncio

    from msgspec import to_builtins

    from memorywire_server.archive import archive_ledger, open_place, trusted_key, verify_archive

    address = url or cli.settings.archive
    if address is None:
        raise InvalidRequest(
            "give the URL of an archive", field="archive", fix="memorywire archive file:///FOLDER"
        )
    if key is not None and not verify:
        raise click.UsageError("--key has an effect only with --verify")
    place = open_place(address, os.environ)

    async def act(container: "Container") -> Answer:
        journal = container.journal
        if journal is None:
            raise InvalidRequest("there is no ledger", field="policy")
        if not verify:
            answer: Answer = to_builtins(await archive_ledger(journal, place))
            return answer
        report = await asyncio.to_thread(verify_archive, place, trusted_key(key, journal.signer))
        fault = None if report.fault is None else f"{report.fault.place} {report.fault.reason}"
        checked = {"ok": report.ok, "entries": report.entries, "checkpoints": report.checkpoints}
        return checked if fault is None else {**checked, "fault": fault}

    answer = run_in_app(cli.local_settings, act)
    cli.show(answer, _render_check if verify else _render_round)
    if verify and not answer["ok"]:
        click.get_current_context().exit(_BROKEN)


def _render_round(answer: Answer) -> Iterator[str]:
    segments = counted(answer["segments"], "segment")
    yield f"wrote {counted(answer['written'], 'entry')} in {segments}; the archive has {answer['entries']}"


def _render_check(answer: Answer) -> Iterator[str]:
    entries, checkpoints = counted(answer["entries"], "entry"), counted(answer["checkpoints"], "checkpoint")
    yield f"the archive is sound: {entries}, {checkpoints}" if answer["ok"] else f"broken: {answer['fault']}"


EXAMPLES = {
    "archive": ("memorywire archive file:///backup/ledger", "memorywire archive --verify"),
}
