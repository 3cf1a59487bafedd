"""`memorywire bench`: how fast memory is on this machine, beside the design it is compared with."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.bench_fusion import fusion
from memorywire.cli.bench_kv import kv
from memorywire.cli.problems import problems
from memorywire.cli.screen import Progress, table, terminal_width
from memorywire.model.clock import system_clock

if TYPE_CHECKING:
    from memorywire.evals.bench.report import Report

_STDOUT = "-"


@click.group("bench", invoke_without_command=True)
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="How many memories the agent has; repeatable; 100, 10000, 100000 and 1000000 when not given.",
)
@click.option(
    "--rounds", type=click.IntRange(1), metavar="N", default=100, help="How often each is measured."
)
@click.option(
    "--reference",
    type=click.Choice(["auto", "torch", "onnx", "none"]),
    default="auto",
    help="The embedder of the reference design; auto takes the first that is installed, or none.",
)
@click.option(
    "--reference-model",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the ONNX model, when it is not in this environment.",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Where the databases are made and removed: the disk to measure; the data folder when not given.",
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the report to this file."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Also draw the latencies as SVG."
)
@click.option(
    "--json",
    "json_file",
    is_flag=False,
    flag_value=_STDOUT,
    metavar="[FILE]",
    help="Write the report as JSON, to standard output instead of the tables when no FILE is given.",
)
@click.pass_context
def command(
    context: click.Context,
    sizes: tuple[int, ...],
    rounds: int,
    reference: str,
    reference_model: Path | None,
    folder: Path | None,
    markdown: Path | None,
    plot: Path | None,
    json_file: str | None,
) -> None:
    """Measure remember and recall, side by side with the reference design.

    The reference design embeds in float32 and looks at every vector of an agent in a SQLite table. Both
    keep the same made-up memories in files with the same durability, and are timed in turn. Beyond
    200,000 the vectors they are filled with are made up, too. With `--json FILE` the report is also
    written to a file.
    """
    if context.invoked_subcommand is not None:
        return
    with problems(as_json=json_file == _STDOUT):
        report = _run(sizes, rounds, reference, reference_model, folder)
    document = json.dumps(report.json(), ensure_ascii=False, indent=2) + "\n"
    if json_file == _STDOUT:
        click.echo(document.encode(), nl=False)
    else:
        _show(report)
    if json_file not in (None, _STDOUT):
        Path(json_file).write_text(document, encoding="utf-8")
    if markdown is not None:
        markdown.write_text(report.markdown(), encoding="utf-8")
    if plot is not None:
        plot.write_text(_drawn(report), encoding="utf-8")


command.add_command(fusion)
command.add_command(kv)


def _run(
    sizes: tuple[int, ...], rounds: int, choice: str, model: Path | None, folder: Path | None
) -> "Report":
    import asyncio

    from memorywire.evals.bench.embedders import model_folder, open_reference
    from memorywire.evals.bench.run import SIZES, Plan, bench

    plan = Plan(folder=folder or _data_folder(), sizes=sizes or SIZES, rounds=rounds)
    reference = open_reference(choice, model or model_folder())
    with Progress("measuring", None) as progress:
        return asyncio.run(
            bench(plan, reference, clock=system_clock, watch=lambda doing: progress.reached(0, doing))
        )


def _drawn(report: "Report") -> str:
    from memorywire.evals.bench.plot import chart

    return chart(report.latencies)


def _data_folder() -> Path:
    """On the disk where memories are kept: a temporary folder may be in memory, where nothing is durable."""
    from memorywire.house.settings import data_home

    home = data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def _show(report: "Report") -> None:
    from memorywire.evals.bench.report import LATENCY_HEADERS, RATE_HEADERS

    for line in report.heading():
        click.echo(line)
    latencies, rates = [row.cells() for row in report.latencies], [row.cells() for row in report.rates]
    for headers, rows in ((LATENCY_HEADERS, latencies), (RATE_HEADERS, rates)):
        click.echo()
        for line in table(headers, rows, elastic=headers[0], width=terminal_width()):
            click.echo(line)
    for line in report.footing():
        click.echo(line)
