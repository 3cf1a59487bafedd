"""`memorywire recover`: take out what a source said, and all that was made of it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import PAST, ago
from memorywire.cli.problems import REFUSED
from memorywire.cli.terminal import table, terminal_width


@click.command("recover")
@click.option("--source", required=True, metavar="PATTERN", help="Whose memories; `*` stands for anything.")
@click.option("--since", type=ago, required=True, metavar="WHEN", help=f"From this moment on: {PAST}.")
@click.option("--dry-run", is_flag=True, help="Report, and change nothing.")
@shared
def command(cli: CliContext, source: str, since: int, dry_run: bool) -> None:
    """Take out what came from a source, and whatever was derived or merged from it or replaced it.

    What had a clean version before goes back to it; what the source had pushed aside returns; what
    remains and reads like an instruction to the model is archived. All of it is one change, and one
    undo takes it back. Exits with 3 when nothing was found. Of more than 1,000,000 changes since then the
    newest are looked at, and the answer says `older_changes`.
    """
    with cli.memory() as memory:
        found = memory.recover(source, since=since, dry_run=dry_run)
    told = asdict(found)
    told["steps"] = [{name: value for name, value in step.items() if value} for step in told["steps"]]
    answer = {name: value for name, value in told.items() if value not in (None, ())}
    cli.show(answer, _sentences)
    if not found.steps:
        raise click.exceptions.Exit(REFUSED)


def _sentences(answer: Answer) -> Iterator[str]:
    steps = answer["steps"]
    if not steps:
        yield "nothing came from there"
        return
    counts = Counter(step["deed"].replace("_", " ") for step in steps)
    would = "would be: " if answer["dry_run"] else ""
    yield would + ", ".join(f"{count} {deed}" for deed, count in counts.items())
    rows = [
        [
            step["deed"].replace("_", " "),
            step["id"],
            step["cause"],
            step.get("via", ", ".join(step.get("signs", ()))),
        ]
        for step in steps
    ]
    yield from table(["DEED", "MEMORY", "BECAUSE", "OF"], rows, elastic="OF", width=terminal_width())
