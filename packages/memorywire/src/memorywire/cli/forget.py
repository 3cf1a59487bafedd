"""`memorywire forget`: end memories, by id or by filter."""

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import json_object
from memorywire.cli.misread import note_misread
from memorywire.cli.problems import REFUSED
from memorywire.cli.recall import contents_of
from memorywire.cli.terminal import safe, shortened
from memorywire.model.counting import counted
from memorywire.model.record import Json
from memorywire.model.review import ERASE

_SAMPLE = 5
"""How many of the memories that would go are shown with their content."""
_WIDTH = 60


@click.command("forget")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--filter",
    "filter_",
    type=json_object,
    metavar="JSON",
    help="Everything that matches; beside IDs, only those of them that match.",
)
@click.option("--hard", "hard_delete", is_flag=True, help="Erase the content everywhere; cannot be undone.")
@click.option("--reason", metavar="TEXT", help="Why; kept with the change.")
@click.option("--dry-run", is_flag=True, help="Say what would be forgotten and change nothing.")
@click.option("--max-affected", type=int, metavar="N", help="Refuse when more than N would go.")
@click.option("--yes", is_flag=True, help="Do not ask before a filter is applied, or before an erase.")
@shared
def command(
    cli: CliContext,
    ids: tuple[str, ...],
    filter_: Json,
    dry_run: bool,
    max_affected: int | None,
    yes: bool,
    **fields: Json,
) -> None:
    """End memories by ID or by filter.

    A forgotten memory is not recalled any more; its history stays and an undo brings it back. With
    --hard its content is erased everywhere, and nothing brings it back.
    """
    request = {"ids": list(ids), "filter": filter_, **fields}
    if filter_ is not None:
        note_misread(cli, filter_)
    if filter_ is not None and not dry_run and not yes and max_affected is None:
        max_affected = _confirmed(cli, request)
    elif fields["hard_delete"] and not (dry_run or yes) and sys.stdin.isatty():
        agreed(cli, ERASE, ids)
    answer = cli.call("forget", **request, dry_run=dry_run, max_affected=max_affected)
    found = named_ids(answer)
    contents = contents_of(cli, found[:_SAMPLE]) if dry_run and not cli.as_json else {}
    cli.show(answer, lambda said: sentences(said, contents))
    if not found:
        raise click.exceptions.Exit(REFUSED)


def _confirmed(cli: CliContext, request: dict[str, Json]) -> int:
    """How many the person at the terminal agreed to; the forget is held to that number."""
    if not sys.stdin.isatty():
        raise click.UsageError("a filter without a terminal to ask needs --yes or --max-affected N")
    ids = named_ids(cli.call("forget", **request, dry_run=True))
    return agreed(cli, ERASE if request["hard_delete"] else "forget", ids)


def typed_word() -> str:
    """What the person at the terminal types to erase for good; the word is `erase`, anything else is a no."""
    word: str = click.prompt("type the word erase to erase it for good", err=True, prompt_suffix=": ")
    if word.strip() != ERASE:
        raise click.Abort
    return ERASE


def agreed(cli: CliContext, deed: str, ids: Sequence[str]) -> int:
    """How many memories to touch, after the person at the terminal has seen some and said yes."""
    for id, content in contents_of(cli, ids[:_SAMPLE]).items():
        click.echo(_line(id, content), err=True)
    if len(ids) > _SAMPLE:
        click.echo(f"  and {len(ids) - _SAMPLE} more", err=True)
    if deed == ERASE:
        click.echo(f"{deed} {counted(len(ids), 'memory')}: nothing brings them back", err=True)
        typed_word()
    else:
        click.confirm(f"{deed} {counted(len(ids), 'memory')}?", abort=True, err=True)
    return len(ids)


def named_ids(answer: Answer) -> list[str]:
    """The memories that a receipt is about: those that were forgotten, or that would be."""
    ids: list[str] = answer.get("would_forget_ids") or answer["forgotten_ids"]
    return ids


def sentences(answer: Answer, contents: Mapping[str, str]) -> Iterator[str]:
    deed = "erased" if answer["hard_delete"] else "forgot"
    found = named_ids(answer)
    if not found:
        yield "nothing was found to forget"
    elif answer["pending_approval"]:
        yield f"would {'erase' if answer['hard_delete'] else 'forget'} {len(found)}, once a person approves:"
    elif answer.get("dry_run"):
        yield f"would have {'erased' if answer['hard_delete'] else 'forgotten'} {len(found)}:"
    else:
        yield f"{deed} {len(found)}:"
    yield from (_line(id, contents.get(id, "")) for id in found)
    yield from (f"  not found: {id}" for id in answer["missing_ids"])
    yield from (f"  {one['store']}: {one['error']}" for one in answer["stores"] if one.get("error"))


def _line(id: str, content: str) -> str:
    return f"  {id}  {shortened(safe(content), _WIDTH)}".rstrip()
