"""`memorywire list`: page through what is kept."""

import json
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import TYPES, json_object
from memorywire.cli.misread import note_misread
from memorywire.cli.neighbours import tell_of_others
from memorywire.cli.recall import content_words, not_standard
from memorywire.cli.terminal import entries, moment, terminal_width
from memorywire.model.record import Json

_PAGE = 20
_LONGEST_PAGE = 1000


@click.command("list")
@click.option("--type", "types", type=TYPES, multiple=True, help="Only this kind; repeatable.")
@click.option("--filter", "filter_", type=json_object, metavar="JSON", help="Only what matches this filter.")
@click.option("--include-archived", is_flag=True, help="Archived memories too.")
@click.option("--limit", type=int, metavar="N", help=f"How many to show; {_PAGE} when not given.")
@click.option("--after", metavar="ID", help="Start behind this id.")
@click.option("--all", "everything", is_flag=True, help="Every page.")
@shared
def command(
    cli: CliContext,
    types: tuple[str, ...],
    filter_: Json,
    include_archived: bool,
    limit: int | None,
    after: str | None,
    everything: bool,
) -> None:
    """Show what is kept, oldest first."""
    if filter_ is not None:
        note_misread(cli, filter_)
    request = cli.payload(
        types=list(types),
        filter=filter_,
        include=["archived"] if include_archived else None,
        limit=_LONGEST_PAGE if everything else _PAGE if limit is None else limit,
        after=after,
    )
    with cli.reading() as memory:
        page = memory.call("list", request)
        while everything and page.get("next"):
            more = memory.call("list", {**request, "after": page["next"]})
            page = {**more, "items": page["items"] + more["items"]}
    options = _options(types, filter_, include_archived=include_archived, limit=limit)
    cli.show(page, lambda said: sentences(said, cli.again("list", *options)))
    if not page["items"]:
        tell_of_others(cli)


def _options(
    types: tuple[str, ...], filter_: Json, *, include_archived: bool, limit: int | None
) -> Iterator[str]:
    """What chose this page, as it would be typed for the next."""
    for kind in types:
        yield from ("--type", kind)
    if filter_ is not None:
        yield from ("--filter", json.dumps(filter_, ensure_ascii=False))
    if include_archived:
        yield "--include-archived"
    if limit is not None:
        yield from ("--limit", str(limit))


def sentences(answer: Answer, more: str) -> Iterator[str]:
    if not answer["items"]:
        yield "nothing is kept here"
        return
    graded = not_standard(answer["items"])
    rows = [
        [
            item["type"],
            item["id"],
            moment(item["created_at"]),
            f"v{item['version']}",
            *([item["trust"]] if graded else []),
            content_words(item["content"]),
        ]
        for item in answer["items"]
    ]
    headers = ["TYPE", "ID", "CREATED", "VERSION", *(["TRUST"] if graded else []), "CONTENT"]
    yield from entries(headers, rows, lead=1, width=terminal_width())
    if answer.get("next"):
        yield f"{len(rows)} of {answer['total']}; more with: {more} --after {answer['next']}"
