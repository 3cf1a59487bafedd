"""`memorywire bench drift`: compares the end of a long run of writes with its start."""

import json
import os
from pathlib import Path
from typing import Any

import click

from memorywire.cli.problems import REFUSED, problems
from memorywire.cli.terminal import format_table
from memorywire_evals.commands.eval_options import tidy_path, today, told, typed


@click.command("drift")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), metavar="N", default=30.0, show_default=True
)
@click.option(
    "--writes",
    type=click.IntRange(30),
    metavar="N",
    default=10_000,
    show_default=True,
    help="So many to fill the memory.",
)
@click.option(
    "--pace",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    default=4.0,
    show_default=True,
    help="Rounds a second; a round is a forget, three writes and a search.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1337, show_default=True)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Where the file is made and removed; the data folder when not given.",
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the report to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
def drift(folder: Path | None, markdown: Path | None, as_json: bool, **options: Any) -> None:
    """Write with repetitions and search for a long time, and compare the end with the start.

    A process of its own keeps the memory; the same operations go to `memory://`, the oracle. First it is
    filled with 10,000 writes. A third of all writes repeats another word for word, a third in another
    spelling. Then each round forgets the oldest memory for good, writes a new one and searches, so that the
    size stays the same. Answers, repetitions and embedded texts are compared with the oracle's, latency and
    resident memory with the first third of the run. It fails if any of them drifts.
    """
    import asyncio

    from memorywire.app.settings import data_home
    from memorywire_evals.bench.drift import Drift, run_drift
    from memorywire_evals.bench.report import describe

    home = folder or data_home(os.environ)
    with problems(as_json=as_json):
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        plan = Drift(folder=home, **options)
        with tidy_path(), told("drift") as tell:
            document = asyncio.run(run_drift(plan, lambda share, note: tell(share, 1, note)))
        document |= {"machine": describe(), "date": today(), "command": typed()}
        if as_json:
            click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        else:
            _show(document)
        if markdown is not None:
            markdown.write_text(_build_page(document), encoding="utf-8")
    if not all(check["holds"] for check in document["checks"]):
        raise click.exceptions.Exit(REFUSED)


def _show(document: dict[str, Any]) -> None:
    from memorywire_evals.bench.drift import HEADERS, TIMES, list_check_rows, list_lines, list_time_rows

    for line in list_lines(document):
        click.echo(line)
    for headers, rows in ((HEADERS, list_check_rows(document)), (TIMES, list_time_rows(document))):
        click.echo()
        for line in format_table(headers, list(rows), elastic=headers[0]):
            click.echo(line)
    for fault in document["first faults"]:
        click.echo(f"fault: {fault}")


def _build_page(document: dict[str, Any]) -> str:
    from memorywire_evals.bench.drift import HEADERS, TIMES, list_check_rows, list_lines, list_time_rows
    from memorywire_evals.bench.report import markdown_table

    about = ", ".join(f"{name} {value}" for name, value in document["machine"].items())
    parts = [
        "# A long run of writes",
        f"`memorywire {document['command']}`, {document['date']}; {about}.",
        *list_lines(document),
        markdown_table(HEADERS, list(list_check_rows(document))),
        markdown_table(TIMES, list(list_time_rows(document))),
        *(f"Fault: {fault}." for fault in document["first faults"]),
    ]
    return "\n\n".join(parts) + "\n"
