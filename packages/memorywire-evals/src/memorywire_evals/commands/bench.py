"""`memorywire bench`: measures speed on this machine, compared with the reference design."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from memorywire.cli.problems import problems
from memorywire.cli.terminal import Progress, format_table
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest
from memorywire_evals.commands.drift import drift
from memorywire_evals.commands.eval_options import tidy_path, told

if TYPE_CHECKING:
    from memorywire_evals.bench.kv import Rate
    from memorywire_evals.bench.report import Report


@click.command("fusion")
@click.option("--queries", type=click.IntRange(1), metavar="N", default=42, help="Questions of each cell.")
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Of the dice; 1, with --paper 1337, when not given."
)
@click.option(
    "--rounds", type=click.IntRange(1), metavar="N", default=200, help="How often the cost is measured."
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the report to this file."
)
@click.option("--paper", is_flag=True, help="Only the paper's experiment, with a JSON file for each fusion.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="The folder of these files.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as one JSON document.")
def fusion(
    queries: int,
    seed: int | None,
    rounds: int,
    markdown: Path | None,
    paper: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Set rogue stores on the fusion of several, and say what reaches the answer.

    The paper's experiment, and a harder one: two to seven stores that see dimly, any number but one of them
    rogue, seven attacks, eight defences. What a router costs over the slowest of its stores; and what ways to
    read several stores find, all of them joined or one chosen by a rule.

    With `--paper` only the paper's table: 50 memories, 20 queries with two gold ids, 0 to 50 injected ids.
    """
    import asyncio

    from memorywire.app.settings import data_home
    from memorywire_evals.bench.fusion_report import FIGURE_HEADERS, READ_HEADERS, SUM_HEADERS, bench_fusion

    if paper:
        with problems(as_json=as_json):
            _run_paper(seed, out, markdown, as_json)
        return
    home = data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Progress("fusing", None) as progress:
        report = asyncio.run(
            bench_fusion(
                queries=queries,
                seed=1 if seed is None else seed,
                rounds=rounds,
                folder=home,
                clock=system_clock,
                watch=lambda doing: progress.update(0, doing),
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
            for line in format_table(headers, list(rows), elastic=headers[0]):
                click.echo(line)
            click.echo()
        click.echo(report.cost())
    if markdown is not None:
        markdown.write_text(report.markdown(), encoding="utf-8")


def _run_paper(seed: int | None, out: Path, markdown: Path | None, as_json: bool) -> None:
    import asyncio

    from memorywire_evals.bench.fusion_report import PAPER_NOTE
    from memorywire_evals.bench.paper_fusion import HEADERS, SEED, list_rows, run_paper
    from memorywire_evals.bench.report import describe, markdown_table
    from memorywire_evals.commands.eval_options import today, typed

    experiments = asyncio.run(
        run_paper(_data_folder(), seed=SEED if seed is None else seed, clock=system_clock)
    )
    about = {"date": today(), "command": typed(), "machine": describe()}
    documents = [one.json() | about for one in experiments]
    out.mkdir(parents=True, exist_ok=True)
    for document in documents:
        text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        (out / f"adversarial-results.{document['fusion']}.json").write_text(text, encoding="utf-8")
    if as_json:
        click.echo(json.dumps(documents, ensure_ascii=False, indent=2))
    else:
        click.echo(PAPER_NOTE)
        for line in format_table(HEADERS, list(list_rows(experiments)), elastic=HEADERS[0]):
            click.echo(line)
    if markdown is not None:
        page = f"{PAPER_NOTE}\n\n{markdown_table(HEADERS, list(list_rows(experiments)))}\n"
        markdown.write_text(page, encoding="utf-8")


_HEADERS = ["WHAT", "WHO", "A SECOND", "CPU US", "OF BARE"]


@click.command("kv")
@click.option(
    "--keys", type=click.IntRange(1), metavar="N", default=20_000, help="How many; 20000 when not given."
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    metavar="N",
    default=1_024,
    help="How many callers, each with its next key as soon as it has done one; 1024 when not given.",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Where the files are made and removed: the disk to measure; the data folder when not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON document.")
def kv(keys: int, at_once: int, folder: Path | None, as_json: bool) -> None:
    """Measure get and set without embedding, many at once.

    Beside them stands a bare SQLite table in a file of the same durability, written and read by the same
    threads: as many who set at once share a commit there. The same table is also measured with one commit
    a set.
    """
    import asyncio

    from memorywire.app.settings import data_home
    from memorywire_evals.bench.kv import measure
    from memorywire_evals.bench.report import describe

    home = folder or data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    rates = asyncio.run(measure(home, keys, at_once))
    if as_json:
        figures = {"keys": keys, "at_once": at_once, "rates": [asdict(one) for one in rates]}
        click.echo(json.dumps({"machine": describe(), **figures}))
        return
    click.echo(f"{keys} keys, {at_once} callers at once, load {describe()['load']}")
    for line in format_table(_HEADERS, _rows(rates), elastic="WHO"):
        click.echo(line)


def _rows(rates: "list[Rate]") -> list[list[str]]:
    from memorywire_evals.bench.kv import BARE

    bare = {rate.what: rate for rate in rates if rate.who == BARE}
    ordered = sorted(rates, key=lambda rate: list(bare).index(rate.what))
    return [
        [
            rate.what,
            rate.who,
            f"{rate.a_second:,.0f}",
            f"{rate.cpu_us:.0f}",
            f"{rate.cpu_us / bare[rate.what].cpu_us:.1f} x",
        ]
        for rate in ordered
    ]


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
    written to a file. Files are written after every size, and what is interrupted shows what it has.
    """
    if context.invoked_subcommand is not None:
        return
    outcome = _Outcome(json_file=json_file, markdown=markdown, plot=plot)
    with problems(as_json=json_file == _STDOUT):
        outcome.check()
        try:
            _run(sizes, rounds, reference, reference_model, folder, outcome)
        finally:
            outcome.show()


class _Outcome:
    """The reports after each size: each overwrites the files of the one before, the last is shown."""

    def __init__(self, *, json_file: str | None, markdown: Path | None, plot: Path | None) -> None:
        self._bare = json_file == _STDOUT
        self._files: list[tuple[str | Path | None, Callable[[Report], str]]] = [
            (None if self._bare else json_file, _document),
            (markdown, _page),
            (plot, _draw_plot),
        ]
        self.reports: list[Report] = []

    def check(self) -> None:
        """Raise InvalidRequest now, rather than after hours, if the files cannot be written."""
        for file, _ in self._files:
            if file is not None and not Path(file).parent.is_dir():
                raise InvalidRequest(f"there is no folder {Path(file).parent}", fix="make it first")

    def keep(self, report: "Report") -> None:
        self.reports.append(report)
        for file, text in self._files:
            if file is not None:
                Path(file).write_text(text(report), encoding="utf-8")

    def show(self) -> None:
        for report in self.reports[-1:]:
            if self._bare:
                click.echo(_document(report).encode(), nl=False)
            else:
                _show(report)


command.add_command(fusion)
command.add_command(kv)
command.add_command(drift)


def _run(
    sizes: tuple[int, ...],
    rounds: int,
    choice: str,
    model: Path | None,
    folder: Path | None,
    outcome: _Outcome,
) -> None:
    import asyncio

    from memorywire_evals.bench.reference_design import model_folder, open_reference
    from memorywire_evals.bench.run import SIZES, Plan, bench

    plan = Plan(folder=folder or _data_folder(), sizes=sizes or SIZES, rounds=rounds)
    reference = open_reference(choice, model or model_folder())
    with tidy_path(), told("bench") as tell:
        asyncio.run(
            bench(
                plan,
                reference,
                clock=system_clock,
                watch=lambda doing: tell(len(outcome.reports), len(plan.sizes), doing),
                keep=outcome.keep,
            )
        )


def _document(report: "Report") -> str:
    return json.dumps(report.json(), ensure_ascii=False, indent=2) + "\n"


def _page(report: "Report") -> str:
    from memorywire_evals.bench.report import markdown

    return markdown(report)


def _draw_plot(report: "Report") -> str:
    from memorywire_evals.bench.report import chart

    return chart(report.latencies)


def _data_folder() -> Path:
    """Return the data folder, because a temporary folder may be in memory, where nothing is durable."""
    from memorywire.app.settings import data_home

    home = data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home


def _show(report: "Report") -> None:
    from memorywire_evals.bench.report import HEADERS, LATENCY_HEADERS, RATE_HEADERS, figures

    for line in report.heading():
        click.echo(line)
    latencies, rates = [row.cells() for row in report.latencies], [row.cells() for row in report.rates]
    for headers, rows in ((LATENCY_HEADERS, latencies), (RATE_HEADERS, rates)):
        click.echo()
        for line in format_table(headers, rows, elastic=headers[0]):
            click.echo(line)
    for line in report.footing():
        click.echo(line)
    asked = list(figures(report))
    if asked:
        click.echo()
        for line in format_table(HEADERS, asked, elastic=""):
            click.echo(line)


EXAMPLES = {
    "bench": ("memorywire bench",),
}
