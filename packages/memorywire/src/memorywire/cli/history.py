"""`memorywire history`: every version of one memory."""

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.recall import content_words
from memorywire.cli.terminal import moment, table, terminal_width
from memorywire.model.record import Json


@click.command("history")
@click.argument("id_", metavar="ID")
@shared
def command(cli: CliContext, id_: str) -> None:
    """Show every version of memory ID.

    Oldest first, with the change that began each and why it ended.
    """
    cli.show(cli.call("history", id=id_), sentences)


def sentences(answer: Answer) -> list[str]:
    headers = ["VERSION", "BEGAN", "BY CHANGE", "ENDED", "WHY", "CONTENT"]
    rows = [_row(version) for version in answer["versions"]]
    return table(headers, rows, elastic="CONTENT", width=terminal_width())


def _row(version: dict[str, Json]) -> list[str]:
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
