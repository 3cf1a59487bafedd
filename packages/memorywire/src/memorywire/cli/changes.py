"""`memorywire changes`: what was done to memory, newest first."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, names, shared
from memorywire.cli.terminal import moment, table, terminal_width


@click.command("changes")
@click.option("--limit", type=int, metavar="N", help="How many to show.")
@shared
def changes_command(cli: CliContext, limit: int | None) -> None:
    """Show the newest changes: what an undo can take back."""
    history = cli.again("history", "ID")
    cli.show(cli.call("changes", limit=limit), lambda said: _render_changes(said, history))


def _render_changes(answer: Answer, history: str) -> list[str]:
    if not answer["changes"]:
        return ["nothing was changed yet"]
    rows = [
        [
            moment(change["at"]),
            change["operation"],
            change["id"],
            f"undoes {change['undoes']}" if change.get("undoes") else change.get("reason") or "",
        ]
        for change in answer["changes"]
    ]
    headers = ["AT", "OPERATION", "CHANGE", "REASON"]
    return [
        *table(headers, rows, elastic="REASON", width=terminal_width()),
        f"the versions of a memory, with the change that began each: {history}",
    ]


@click.command("undo")
@click.argument("change_id", metavar="CHANGE")
@shared
def undo_command(cli: CliContext, change_id: str) -> None:
    """Take CHANGE back.

    An undo is a change too, so it can be undone. `memorywire changes` lists what can be taken back.
    """
    cli.show(cli.call("undo", change_id=change_id), render_undo)


def render_undo(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        yield f"would undo {answer['undone']}, once a person approves"
        yield from (f"  would restore {id}" for id in answer["would_restore_ids"])
        yield from (f"  would end {id}" for id in answer["would_end_ids"])
        return
    yield f"undid {answer['undone']}"
    yield from (f"  restored {id}" for id in answer["restored_ids"])
    yield from (f"  ended {id}" for id in answer["ended_ids"])
    yield f"  {answer['status']} in {names(answer['stores'])}"
