"""`memorywire changes`: what was done to memory, newest first."""

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import moment, table, terminal_width


@click.command("changes")
@click.option("--limit", type=int, metavar="N", help="How many to show.")
@shared
def command(cli: CliContext, limit: int | None) -> None:
    """Show the newest changes: what an undo can take back."""
    history = cli.again("history", "ID")
    cli.show(cli.call("changes", limit=limit), lambda said: sentences(said, history))


def sentences(answer: Answer, history: str) -> list[str]:
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
