"""`memorywire import`: a bundle, or what another product left behind."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.app import opened_house
from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.problems import REFUSED, problem_lines
from memorywire.cli.terminal import Progress
from memorywire.model.counting import counted
from memorywire.model.errors import NotFound

if TYPE_CHECKING:
    from memorywire.migrate.importing import Wish

SOURCES = (
    "auto",
    "bundle",
    "markdown",
    "csv",
    "okf",
    "mcp-memory",
    "notes",
    "basic-memory",
    "mem0",
    "openmemory",
    "letta",
    "langgraph",
    "chroma",
    "chatgpt",
    "claude",
    "memorywire-0",
)

where_taken = click.option(
    "--on-conflict",
    type=click.Choice(["skip", "overwrite", "new-id", "merge"]),
    default="skip",
    show_default=True,
    help="What to do where an id is taken.",
)


@click.command("import")
@click.argument("what", metavar="[FILE|URL]", required=False)
@click.option(
    "--from",
    "kind",
    metavar="FORMAT",
    default="auto",
    show_default=True,
    shell_complete=lambda ctx, param, text: [name for name in SOURCES if name.startswith(text)],
    help=f"What it is: {', '.join(SOURCES)}, or a format that another package adds.",
)
@where_taken
@click.option(
    "--remap",
    multiple=True,
    metavar="WHO=NEW",
    help="Give memories to somebody else: agent=NEW, agent=OLD:NEW, user=OLD:NEW; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done and what would be lost; write nothing.")
@click.option("--without-ledger", is_flag=True, help="Leave the ledger that a bundle brings along out.")
@click.option(
    "--trusted", is_flag=True, help="Vouch for it: believe its sources, and a bundle of unknown key."
)
@click.option("--undo", "undo", metavar="BATCH", help="Take an import back.")
@shared
def command(
    cli: CliContext,
    what: str | None,
    kind: str,
    on_conflict: str,
    remap: tuple[str, ...],
    dry_run: bool,
    without_ledger: bool,
    trusted: bool,
    undo: str | None,
) -> None:
    """Bring the memories of FILE in, with their ids and moments, through the policy that is in force.

    What is there already is not written twice: an import that was cut off is finished by starting it again.
    Memories of other products become those of --agent. URL is the API of a Letta server or of mem0, with its
    key in LETTA_API_KEY or MEM0_API_KEY, or the Postgres database of LangGraph, Letta or mem0. One --undo
    takes a whole import back.
    """
    import asyncio

    if undo is not None and what is None:
        cli.refuse_scope("a batch is taken back whole", names=("agent", "user"))
        cli.show(asyncio.run(_taken_back(cli, undo)), partial(_undone, cli))
        return
    if what is None or undo is not None:
        raise click.UsageError("name a FILE, or a batch with --undo")
    from memorywire.migrate.importing import Wish

    wish = Wish(
        **_place(what),
        typed=frozenset(cli.reach()),
        kind=kind,
        agent=cli.settings.agent,
        user=cli.settings.user,
        tenant=cli.tenant,
        on_conflict=on_conflict,
        remap=remap,
        dry_run=dry_run,
        ledger=not without_ledger,
        trusted=trusted,
    )
    answer = asyncio.run(_imported(cli, wish))
    cli.show(answer, partial(sentences, cli))
    if answer["problems"] or answer["refused"]:
        raise click.exceptions.Exit(REFUSED)


def _place(what: str) -> dict[str, Any]:
    """Where the memories are, in the words of a wish."""
    from memorywire.migrate.importers import is_address, read_keys

    if is_address(what):
        return {"address": what, "keys": read_keys(os.environ)}
    path = Path(what)
    if not what or not path.exists():  # an empty name would be the folder one stands in
        raise NotFound(f"there is no file {what}", field="file", fix="name a file, a folder, or a URL")
    return {"path": path}


async def _imported(cli: CliContext, wish: "Wish") -> Answer:
    from memorywire.migrate.importing import bring_in

    async with opened_house(cli.here) as container:
        with Progress("importing", None) as progress:
            return await bring_in(
                wish,
                container.context,
                lambda done, total: progress.reached(done, f"{done} of {total} changes", of=total),
            )


async def _taken_back(cli: CliContext, batch: str) -> Answer:
    from memorywire.migrate.undoing import take_back

    async with opened_house(cli.here) as container:
        return asdict(await take_back(batch, container.context, cli.tenant))


def sentences(cli: CliContext, answer: Answer) -> Iterator[str]:
    would = "would bring in" if answer["dry_run"] else "brought in"
    yield f"{would} {counted(answer['memories'], 'memory')} by {counted(answer['changes'], 'change')}"
    for name, words in _REST.items():
        if answer[name]:
            yield f"  {answer[name]} {words}"
    if "signed_by" in answer:
        yield f"  {_signature(answer)}"
    for ledger in answer["ledgers"]:
        sealed = f"{ledger['sealed']} of its {ledger['entries']} entries are signed"
        yield f"  the ledger of {ledger['origin']} holds: {sealed}"
    yield from (f"  lost: {loss}" for loss in answer["losses"])
    for problem in answer["problems"]:
        yield from problem_lines(problem, as_json=False)
    if not answer["dry_run"] and answer["changes"]:
        yield f"  take it back with: {cli.again('import', '--undo', answer['batch'])}"


def _signature(answer: Answer) -> str:
    """Who signed a bundle, and what that means for its memories."""
    signed = f"signed by {answer['signed_by']}" if answer["signed_by"] else "not signed"
    if answer["trusted"]:
        return f"{signed}: trusted"
    return (
        f"{signed}: no known key, so its memories are untrusted; import it with --trusted if you vouch for it"
    )


_REST = {
    "already": "changes were here already",
    "conflicts": "changes met an id that is taken, or built on one that did not come in",
    "held": "wait for a person: memorywire review",
    "ended": "would wait for a person, and ended later where they come from: nobody is asked",
    "refused": "were refused by policy",
    "redacted": "held a secret, which was taken out",
    "proposals": "proposals wait here now",
}


def _undone(cli: CliContext, answer: Answer) -> Iterator[str]:
    ended = counted(answer["ended"], "memory")
    yield f"took back: {ended} ended, {answer['restored']} as before"
    if answer["moved"]:
        yield f"  {len(answer['moved'])} were changed since and stay: {', '.join(answer['moved'])}"
    yield from (f"  undo with: {cli.again('undo', id)}" for id in answer["change_ids"])
