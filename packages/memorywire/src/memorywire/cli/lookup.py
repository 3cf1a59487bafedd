"""Commands that look memories up: `get`, `list`, `history`, `why`, `agents` and `users`."""

import json
from collections import Counter
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, scoped, shared
from memorywire.cli.hints import note_empty_scope, note_filter_doubts
from memorywire.cli.ids import resolve_memory_id, resolve_recall_id
from memorywire.cli.inputs import TYPES, limit_option, option, parse_json_object
from memorywire.cli.recall import format_content, has_special_trust, origin_options
from memorywire.cli.terminal import clean, clean_lines, format_entries, format_table, format_time
from memorywire.model.proposal import ORIGIN
from memorywire.model.record import Json

_TIMES = frozenset({"created_at", "updated_at", "occurred_at", "expires_at", "recalled_at"})
_PAGE = 20
_LONGEST_PAGE = 1000

_id = click.argument("id_", metavar="ID")


@click.command("get")
@_id
@shared
def get_command(cli: CliContext, id_: str) -> None:
    """Show one memory with all its fields.

    The beginning of its ID is enough, if no other memory begins so.
    """
    cli.show(cli.call("get", id=resolve_memory_id(cli, id_)), _render_memory)


@click.command("list")
@option("--type", "Only this memory type; repeatable.", name="types", type=TYPES, multiple=True)
@option("--filter JSON", "Only memories that match.", name="filter_", type=parse_json_object)
@option("--include-archived", "List archived memories too.")
@limit_option(default=None, most=_LONGEST_PAGE)
@option("--after ID", "Start after this id.")
@option("--all", "List all pages.", name="everything")
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
    """List memories, oldest first."""
    note_filter_doubts(cli, filter_)
    request = cli.payload(
        types=list(types),
        filter=filter_,
        include=["archived"] if include_archived else None,
        limit=_LONGEST_PAGE if everything else _PAGE if limit is None else limit,
        after=after,
    )
    page = cli.readable_memory().call("list", request)
    if everything:
        page = {**page, "items": [*page["items"], *_next_items(cli, request, page)]}
        page.pop("next", None)
    options = [word for kind in types for word in ("--type", kind)]
    options += [] if filter_ is None else ["--filter", json.dumps(filter_, ensure_ascii=False)]
    options += ["--include-archived"] if include_archived else []
    options += [] if limit is None else ["--limit", str(limit)]
    cli.show(page, lambda page: _render_list(page, cli.suggest("list", *options)))
    if not page["items"]:
        note_empty_scope(cli)


@click.command("history")
@_id
@shared
def history_command(cli: CliContext, id_: str) -> None:
    """Show every version of a memory.

    Oldest first, with the change that began it and the reason why it ended. The beginning of the ID is
    enough for a memory that has not ended.
    """
    cli.show(cli.call("history", id=resolve_memory_id(cli, id_)), _render_history)


@click.command("why")
@click.argument("recall_id", metavar="RECALL", required=False)
@origin_options
@option("--limit N", "List at most N; default: 20.", type=int)
@shared
def why_command(cli: CliContext, recall_id: str | None, **filters: Json) -> None:
    """Show the results of an earlier recall, as they were then.

    Without RECALL, list the newest recalls: all, or those of a session, run or trace.
    """
    given = {name: value for name, value in filters.items() if value is not None}
    if recall_id is None:
        answer = cli.readable_memory().call("recalls", {**cli.typed_scope(), **given})
        cli.show(answer, _render_recalls)
        return
    if given:
        raise click.UsageError("a recall id and filters cannot be combined")
    request = {**cli.typed_scope(), "recall_id": resolve_recall_id(cli, recall_id)}
    cli.show(cli.readable_memory().call("why", request), _render_why)


def _render_recalls(answer: Answer) -> list[str]:
    rows = [
        [
            format_time(one["at"]),
            one["recall_id"],
            *(one.get(name, "") for name in ORIGIN),
            one["count"],
            one.get("query", "(erased)"),
        ]
        for one in answer["items"]
    ]
    headers = ["AT", "RECALL", "SESSION", "RUN", "TRACE", "HITS", "QUERY"]
    return format_table(headers, rows, elastic="QUERY", empty="no recalls")


@click.command("agents")
@scoped("tenant")
def agents_command(cli: CliContext) -> None:
    """List the agents, with memory counts."""
    answer = cli.readable_memory().call("agents", {})
    rows = [[one["agent_id"], one["memories"], one["waiting"]] for one in answer["items"]]
    headers = ["AGENT", "MEMORIES", "WAITING"]
    cli.show(answer, format_table(headers, rows, elastic="AGENT", empty="no agents"))


@click.command("users")
@scoped("agent", "tenant")
def users_command(cli: CliContext) -> None:
    """List the users of the agent, with memory counts."""
    request = {"agent_id": cli.settings.agent, "limit": _LONGEST_PAGE, "include": ["archived"]}
    page = cli.readable_memory().call("list", request)
    items = [*page["items"], *_next_items(cli, request, page)]
    counts = Counter(item.get("user_id") for item in items)
    users = sorted(counts.items(), key=lambda pair: (pair[0] is None, pair[0] or ""))
    answer = {"items": [{"user_id": user, "memories": count} for user, count in users]}
    rows = [[user or "(no user)", count] for user, count in users]
    cli.show(answer, format_table(["USER", "MEMORIES"], rows, elastic="USER", empty="no memories"))
    if not items:
        note_empty_scope(cli)


def _next_items(cli: CliContext, request: Answer, page: Answer) -> Iterator[Answer]:
    """Yield the items of the pages after this one."""
    while page.get("next"):
        page = cli.memory().call("list", {**request, "after": page["next"]})
        yield from page["items"]


def _render_memory(answer: Answer) -> Iterator[str]:
    for name, value in answer.items():
        if value not in (None, [], {}):
            text = format_time(value) if name in _TIMES else format_content(value)
            first, *more = clean_lines(text)
            yield f"{name:12} {first}"
            yield from (f"{'':12} {line}".rstrip() for line in more)


def _render_list(answer: Answer, next_page: str) -> Iterator[str]:
    if not answer["items"]:
        yield "no memories"
        return
    has_trust = has_special_trust(answer["items"])
    rows = []
    for item in answer["items"]:
        lead = [item["type"], item["id"], format_time(item["created_at"]), f"v{item['version']}"]
        rows.append([*lead, *([item["trust"]] if has_trust else []), format_content(item["content"])])
    headers = ["TYPE", "ID", "CREATED", "VERSION", *(["TRUST"] if has_trust else []), "CONTENT"]
    yield from format_entries(headers, rows, lead=1)
    if answer.get("next"):
        yield f"{len(rows)} of {answer['total']}; more with: {next_page} --after {answer['next']}"


def _render_history(answer: Answer) -> list[str]:
    rows = []
    for version in answer["versions"]:
        reason, record = version.get("reason") or "", version.get("record")
        into = f" into {version['into']}" if version.get("into") else ""
        began, ended = format_time(version["began_at"]), format_time(version.get("ended_at")) or "current"
        content = format_content(record["content"]) if record else "(erased)"
        rows.append([version["number"], began, version["began_by"], ended, reason + into, content])
    return format_table(["VERSION", "BEGAN", "BY CHANGE", "ENDED", "WHY", "CONTENT"], rows)


def _render_why(answer: Answer) -> Iterator[str]:
    query = clean(answer["query"]) if "query" in answer else "(erased together with a memory it found)"
    caller, agent = clean(answer["caller"]), clean(answer["agent_id"])
    yield f"{format_time(answer['at'])}  {caller} asked {agent}: {query}"
    if not answer["results"]:
        yield f"no results ({answer['verdict']})"
        return
    rows = []
    for one in answer["results"]:
        memory = one.get("memory", {"content": "", "trust": ""})
        state = "as now" if one["current"] else "since changed" if "memory" in one else "since erased"
        origin = [memory.get("source", ""), memory["trust"], format_content(memory["content"])]
        rows.append([f"{one['score']:.3f}", state, one["id"], f"v{one['version']}", *origin])
    headers = ["SCORE", "STATE", "ID", "VERSION", "SOURCE", "TRUST", "CONTENT"]
    yield from format_entries(headers, rows, lead=2)
