"""`memorywire bench fusion`: what lying stores get through, and what joining stores costs."""

import json
import os
from pathlib import Path

import click

from memorywire.cli.terminal import Progress, table, terminal_width
from memorywire.model.clock import system_clock


@click.command("fusion")
@click.option("--queries", type=click.IntRange(1), metavar="N", default=42, help="Questions of each cell.")
@click.option("--seed", type=click.IntRange(0), metavar="N", default=1, help="Of the dice.")
@click.option(
    "--rounds", type=click.IntRange(1), metavar="N", default=200, help="How often the cost is measured."
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the report to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
def fusion(queries: int, seed: int, rounds: int, markdown: Path | None, as_json: bool) -> None:
    """Set rogue stores on the fusion of several, and say what reaches the answer.

    The paper's experiment, and a harder one: two to seven stores that see dimly, any number but one of them
    rogue, seven attacks, eight defences. What a router costs over the slowest of its stores; and what ways to
    read several stores find, all of them joined or one chosen by a rule.
    """
    import asyncio

    from memorywire.app.settings import data_home
    from memorywire_evals.bench.fusion.report import FIGURE_HEADERS, READ_HEADERS, SUM_HEADERS
    from memorywire_evals.bench.fusion.run import bench_fusion

    home = data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Progress("fusing", None) as progress:
        report = asyncio.run(
            bench_fusion(
                queries=queries,
                seed=seed,
                rounds=rounds,
                folder=home,
                clock=system_clock,
                watch=lambda doing: progress.reached(0, doing),
            )
        )
    if as_json:
        click.echo(json.dumps(report.json(), ensure_ascii=False, indent=2))
    else:
        for headers, rows in (
            (SUM_HEADERS, report.sums()),
            (READ_HEADERS, report.reading()),
            (FIGURE_HEADERS, report.figures()),
        ):
            for line in table(headers, list(rows), elastic=headers[0], width=terminal_width()):
                click.echo(line)
            click.echo()
        click.echo(report.cost())
    if markdown is not None:
        markdown.write_text(report.markdown(), encoding="utf-8")
