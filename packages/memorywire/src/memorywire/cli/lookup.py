"""`memorywire get`: one memory, whole."""

import json
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.hints import note_filter_doubts, note_other_agents
from memorywire.cli.inputs import TYPES, json_object
from memorywire.cli.recall import content_words, not_standard
from memorywire.cli.terminal import entries, moment, safe, safe_lines, table, terminal_width
from memorywire.model.record import Json

_MOMENTS = frozenset({"created_at", "updated_at", "occurred_at", "expires_at", "recalled_at"})


@click.command("get")
@click.argument("id_", metavar="ID")
@shared
def get_command(cli: CliContext, id_: str) -> None:
    """Show the memory ID and everything known about it."""
    cli.show(cli.call("get", id=id_), _render_memory)


def _render_memory(answer: Answer) -> Iterator[str]:
    for name, value in answer.items():
        if value not in (None, [], {}):
            first, *more = safe_lines(_format_field(name, value))
            yield f"{name:12} {first}"
            yield from (f"{'':12} {line}".rstrip() for line in more)


def _format_field(name: str, value: Json) -> str:
    return moment(value) if name in _MOMENTS else content_words(value)


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
def list_command(
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
        note_filter_doubts(cli, filter_)
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
    options = _page_options(types, filter_, include_archived=include_archived, limit=limit)
    cli.show(page, lambda said: _render_list(said, cli.again("list", *options)))
    if not page["items"]:
        note_other_agents(cli)


def _page_options(
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


def _render_list(answer: Answer, more: str) -> Iterator[str]:
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


@click.command("history")
@click.argument("id_", metavar="ID")
@shared
def history_command(cli: CliContext, id_: str) -> None:
    """Show every version of memory ID.

    Oldest first, with the change that began each and why it ended.
    """
    cli.show(cli.call("history", id=id_), _render_history)


def _render_history(answer: Answer) -> list[str]:
    headers = ["VERSION", "BEGAN", "BY CHANGE", "ENDED", "WHY", "CONTENT"]
    rows = [_version_row(version) for version in answer["versions"]]
    return table(headers, rows, elastic="CONTENT", width=terminal_width())


def _version_row(version: dict[str, Json]) -> list[str]:
    reason = version.get("reason") or ""
    into = f"{reason} into {version['into']}" if version.get("into") else reason
    record = version.get("record")
    return [
        str(version["number"]),
        moment(version["began_at"]),
        version["began_by"],
        moment(version.get("ended_at")) or "current",
        into,
        content_words(record["content"]) if record else "(erased)",
    ]


@click.command("why")
@click.argument("recall_id", metavar="RECALL")
@shared
def why_command(cli: CliContext, recall_id: str) -> None:
    """Show what RECALL answered, with the memories as they were then."""
    with cli.reading() as memory:
        answer = memory.call("why", {**cli.reach(), "recall_id": recall_id})
    cli.show(answer, _render_why)


def _render_why(answer: Answer) -> Iterator[str]:
    asked = safe(answer["query"]) if "query" in answer else "(erased with a memory it found)"
    yield f"{moment(answer['at'])}  {safe(answer['caller'])} asked {safe(answer['agent_id'])}: {asked}"
    if not answer["results"]:
        yield f"nothing was handed out ({answer['verdict']})"
        return
    rows = [
        [
            f"{one['score']:.3f}",
            "as now" if one["current"] else "since changed" if "memory" in one else "since erased",
            one["id"],
            f"v{one['version']}",
            one["memory"].get("source", "") if "memory" in one else "",
            one["memory"]["trust"] if "memory" in one else "",
            content_words(one["memory"]["content"]) if "memory" in one else "",
        ]
        for one in answer["results"]
    ]
    headers = ["SCORE", "STATE", "ID", "VERSION", "SOURCE", "TRUST", "CONTENT"]
    yield from entries(headers, rows, lead=2, width=terminal_width())
