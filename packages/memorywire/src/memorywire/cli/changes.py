"""`memorywire changes` and `memorywire undo`: what was changed, and how to take it back."""

from collections.abc import Iterator, Mapping

import click

from memorywire.cli.context import Answer, CliContext, shared, store_names
from memorywire.cli.ids import resolve_change_id
from memorywire.cli.inputs import limit_option, option, review_options
from memorywire.cli.recall import format_content
from memorywire.cli.terminal import clean, format_table, format_time, shorten, style
from memorywire.model.errors import CapabilityUnsupported, Forbidden, NotFound
from memorywire.model.record import Json

_PAGE = 20
_MOST_CHANGES = 1000
_MOST_MEMORIES = 3  # of one change that are shown
_WIDTH = 40  # columns of a content before and after


@click.command("changes")
@limit_option(default=_PAGE, most=_MOST_CHANGES)
@shared
def changes_command(cli: CliContext, limit: int) -> None:
    """Show the newest changes, with each memory before and after."""
    answer = cli.call("changes", limit=limit)
    effects = {} if cli.as_json or not answer["changes"] else _load_effects(cli, limit)
    cli.show(answer, lambda answer: _render_changes(answer, effects, cli.suggest("history", "ID")))


@click.command("undo")
@click.argument("change_id", metavar="[CHANGE]", required=False)
@option("--last", "Undo the newest change that is not undone yet.")
@review_options
@shared
def undo_command(cli: CliContext, change_id: str | None, last: bool, **fields: Json) -> None:
    """Undo a change.

    The beginning of the id is enough. An undo is a change too, so it can be undone. `memorywire changes`
    lists the changes.
    """
    if last == (change_id is not None):
        raise click.UsageError("name a CHANGE, or give --last")
    change_id = _find_last_change(cli) if change_id is None else resolve_change_id(cli, change_id)
    cli.show(cli.call("undo", change_id=change_id, **fields), render_undo)


def _find_last_change(cli: CliContext) -> str:
    """Return the newest change that is not an undo and was not undone."""
    undone_ids: set[str] = set()
    for change in cli.call("changes", limit=_MOST_CHANGES)["changes"]:
        if change["id"] in undone_ids:
            continue  # an undone undo does not count
        if "undoes" not in change:
            id: str = change["id"]
            return id
        undone_ids.add(change["undoes"])
    raise NotFound("there is no change to undo", fix="see: memorywire changes")


def render_undo(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        yield f"would undo {answer['undone']}, once a person approves"
        yield from (f"  would restore {id}" for id in answer["would_restore_ids"])
        yield from (f"  would end {id}" for id in answer["would_end_ids"])
        return
    yield f"undid {answer['undone']}"
    yield from (f"  restored {id}" for id in answer["restored_ids"])
    yield from (f"  ended {id}" for id in answer["ended_ids"])
    yield f"  {answer['status']} in {store_names(answer['stores'])}"


def _load_effects(cli: CliContext, limit: int) -> dict[str, list[str]]:
    """Return one line for each memory that a change touched, by change; empty without a readable ledger."""
    memory = cli.memory()
    try:
        entries = memory.audit_log(kind="committed", limit=limit)
    except (CapabilityUnsupported, Forbidden):
        return {}
    histories: dict[str, list[Answer]] = {}
    effects: dict[str, list[str]] = {}
    for entry in entries:
        ids = [one["id"] for one in entry.get("commitments", ())]
        ids += [id for id, *_ in entry.get("details", {}).get("ended", ())]
        unique = list(dict.fromkeys(ids))
        for id in unique[:_MOST_MEMORIES]:
            if id not in histories:
                try:
                    histories[id] = memory.call("history", cli.payload(id=id))["versions"]
                except NotFound:  # erased, or of another user
                    histories[id] = []
            line = _describe_effect(id, entry["subject"], histories[id])
            effects.setdefault(entry["subject"], []).append(line)
        if len(unique) > _MOST_MEMORIES:
            effects[entry["subject"]].append(f"  and {len(unique) - _MOST_MEMORIES} more")
    return effects


def _describe_effect(id: str, change_id: str, versions: list[Answer]) -> str:
    """Return the effect of a change on a memory: `before -> after`, new, or the reason why it ended."""
    before = next((one for one in versions if one.get("ended_by") == change_id), None)
    after = next((one for one in versions if one["began_by"] == change_id), None)
    if before is not None and after is not None:
        return f"  ~ {id}  {_format_version(before)} -> {_format_version(after)}"
    if after is not None:
        return style(f"  + {id}  {_format_version(after)}", colour="green")
    if before is not None:
        reason = before.get("reason") or "ended"
        into = f" into {before['into']}" if before.get("into") else ""
        return style(f"  - {id}  {_format_version(before)} ({reason}{into})", colour="red")
    return f"  ? {id}  (erased)"


def _format_version(version: Mapping[str, Json]) -> str:
    record = version.get("record")
    if not record:
        return "(erased)"
    standing = "" if record.get("standing", "active") == "active" else f" [{record['standing']}]"
    return f'"{shorten(clean(format_content(record["content"])), _WIDTH)}"{standing}'


def _render_changes(answer: Answer, effects: Mapping[str, list[str]], history: str) -> Iterator[str]:
    if not answer["changes"]:
        yield "nothing was changed yet"
        return
    rows = []
    for change in answer["changes"]:
        reason = f"undoes {change['undoes']}" if change.get("undoes") else change.get("reason")
        rows.append([format_time(change["at"]), change["operation"], change["id"], reason])
    heading, *lines = format_table(["AT", "OPERATION", "CHANGE", "REASON"], rows)
    yield heading
    for change, line in zip(answer["changes"], lines, strict=True):
        yield line
        yield from effects.get(change["id"], ())
    yield style(f"all versions of a memory: {history}", dim=True)
