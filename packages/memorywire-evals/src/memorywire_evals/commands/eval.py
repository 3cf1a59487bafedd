"""`memorywire eval`: measures the quality of recall on public sets and on own data."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from memorywire.cli.context import CliContext
from memorywire.cli.problems import REFUSED, problems
from memorywire.cli.terminal import format_table
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest
from memorywire_evals.commands.agents import agents
from memorywire_evals.commands.assistant import COMMANDS
from memorywire_evals.commands.eval_options import (
    BASELINES,
    OPTIONS,
    build_plan,
    tidy_path,
    today,
    told,
    typed,
)
from memorywire_evals.sets import KINDS, WHOLE, Kind

if TYPE_CHECKING:
    from memorywire.model.consolidation import Spending
    from memorywire_evals.answers import Cell, Grid
    from memorywire_evals.run import Plan


@click.command("answer")
@click.argument("set_name", metavar="SET", type=click.Choice(list(KINDS)))
@click.option("--reader", metavar="URL", help="Who answers, with memory and without.")
@click.option(
    "--agent-cmd",
    metavar="COMMAND",
    help="A command-line agent that answers instead: also from a memory of its own, which is told first.",
)
@click.option("--reference", metavar="URL", help="Another reader, without memory.")
@click.option("--target", metavar="URL", help="The reader to beat, without memory.")
@click.option("--judge", metavar="URL", help="Who judges; default: the reader.")
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only so many questions of each case, spread over all of them.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=1024,
    show_default=True,
    help="Tokens of memories to show.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(min=1),
    default=200,
    show_default=True,
    help="Refuse to make more calls than this.",
)
@click.option("--max-tokens", type=click.IntRange(min=1), metavar="N", help="Tokens a run may take.")
@click.option("--price", type=click.FloatRange(0), metavar="P", help="What a million tokens cost.")
@click.option("--max-cost", type=click.FloatRange(0), metavar="P", help="What a run may cost at that price.")
def answer(
    set_name: str,
    reader: str | None,
    agent_cmd: str | None,
    reference: str | None,
    target: str | None,
    judge: str | None,
    questions: int | None,
    budget: int,
    max_calls: int,
    max_tokens: int | None,
    price: float | None,
    max_cost: float | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Let a model answer from what is recalled, and judge it.

    A reader is openai+https://HOST/v1?model=NAME, anthropic+https://HOST/v1?model=NAME, or cmd:COMMAND for
    a program that reads a prompt and prints an answer. Its key is taken from MEMORYWIRE_READER_KEY, which
    goes to its host alone; those of others are MEMORYWIRE_JUDGE_KEY, _REFERENCE_KEY and _TARGET_KEY.

    The command of an agent is run once for every prompt. What it remembers by itself belongs into the folder
    MEMORYWIRE_AGENT_FOLDER, while MEMORYWIRE_AGENT_MEMORY is `on`; with `off` the folder is empty.
    """
    from memorywire_evals.answers import Cell, Grid
    from memorywire_evals.readers import keys, open_reader

    with problems(as_json=as_json):
        others = {"reference": reference, "target": target}
        given = keys({"reader": reader, "judge": judge, **others}, os.environ)  # from the environment only
        cells = _first_cells(reader, agent_cmd, given["reader"])
        for name, url in others.items():
            if url is not None:
                cells.append(Cell(name=name, reader=open_reader(url, key=given[name], role=name)))
        judging = cells[0].reader if judge is None else open_reader(judge, key=given["judge"], role="judge")
        plan = build_plan(KINDS[set_name], **options)
        grid = Grid(
            cells=tuple(cells),
            judge=judging,
            budget=budget,
            most_calls=max_calls,
            spending=_limit_spending(max_tokens, price, max_cost),
            questions=questions,
            seeds=plan.seeds,
        )
        document = _answered(plan, grid)
    _show_answers(document, as_json)
    if document["answers"]["void"]:
        raise click.exceptions.Exit(REFUSED)


for _option in OPTIONS:
    if _option is not BASELINES:
        _option(answer)


def _limit_spending(max_tokens: int | None, price: float | None, max_cost: float | None) -> "Spending | None":
    """Return the spending limit of a run; None if it has none."""
    from memorywire.model.consolidation import Spending

    if max_cost is not None and price is None:
        raise InvalidRequest("--max-cost needs a price", field="max-cost", fix="pass --price P as well")
    if max_tokens is None and price is None:
        return None
    return Spending(tokens=sys.maxsize if max_tokens is None else max_tokens, price=price, cost=max_cost)


def _first_cells(reader: str | None, agent_cmd: str | None, key: str | None) -> "list[Cell]":
    """Return the cells of a reader with our memory and without; for an agent also with its own."""
    from memorywire_evals.answers import BUILT_IN, LOWER_BOUND, TREATMENT, Cell
    from memorywire_evals.readers import COMMAND, open_reader

    if (reader is None) == (agent_cmd is None):
        raise InvalidRequest(
            "--reader and --agent-cmd cannot be combined",
            field="reader",
            fix="pass --reader URL or --agent-cmd COMMAND",
        )
    role = "reader" if agent_cmd is None else "agent-cmd"
    first = open_reader(reader or f"{COMMAND}{agent_cmd}", key=key, role=role)
    cells = [Cell(name=TREATMENT, reader=first, memory=True), Cell(name=LOWER_BOUND, reader=first)]
    return cells if agent_cmd is None else [*cells, Cell(name=BUILT_IN, reader=first, own=True)]


def _answered(plan: "Plan", grid: "Grid") -> dict[str, Any]:
    import asyncio

    from memorywire_evals.answers import answer_all

    try:
        with tidy_path(), told(f"{plan.kind.name} answers") as tell:
            return asyncio.run(answer_all(plan, grid, date=today(), command=typed(), tell=tell))
    except KeyboardInterrupt:
        click.echo("\nanswers so far are kept: the same command goes on there", err=True)
        raise


def _show_answers(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        CliContext.print_json(document)
        return
    from memorywire_evals.tables import ANSWERS, answer_cells, answer_notes

    for line in format_table(ANSWERS, list(answer_cells(document)), elastic="reader"):
        click.echo(line)
    for note in answer_notes(document):
        click.echo(note)


_FEW = 20
"""The number of cases of each set in the check of shared memories of `all`."""


class Sets(click.Group):
    """A command for each set, in addition to those that work on results."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*KINDS, "all", *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in KINDS:
            return _set_command(cmd_name, [cmd_name], KINDS[cmd_name].about)
        if cmd_name == "all":
            return _set_command("all", list(WHOLE), "Every set whose data is in the folder.")
        return super().get_command(ctx, cmd_name)


@click.group("eval", cls=Sets)
def command() -> None:
    """Measure how well recall works.

    Each set is a command of its own; `compare` and `report` work on what they wrote. A run that was cut
    short goes on where it stopped.
    """


command.add_command(agents)
command.add_command(answer)
for _assistant in COMMANDS:
    command.add_command(_assistant)


@command.command("compare")
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
def compare(before: Path, after: Path, as_json: bool) -> None:
    """Say which differences between two results are more than chance."""
    from memorywire_evals.compare import cautions, compared, lines
    from memorywire_evals.results import load

    with problems(as_json=as_json):
        documents = load(before), load(after)
        differences = compared(*documents)
        for caution in cautions(*documents):
            click.echo(f"caution: {caution}", err=True)
        if as_json:
            CliContext.print_json(differences)
            return
        headers, rows = lines(differences)
        for line in format_table(headers, rows, elastic="metric"):
            click.echo(line)


@command.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "target", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def report(folder: Path, target: Path | None) -> None:
    """Write all results of a folder as one HTML page that needs no network."""
    from memorywire_evals.report import page
    from memorywire_evals.results import answered, benches, parities, runs

    with problems(as_json=False):
        documents, answers, shared = runs(folder), answered(folder), parities(folder)
        if not documents and not answers and not shared:
            raise InvalidRequest(f"no results in {folder}", field="folder", fix="run `memorywire eval` first")
        place = target or folder / "report.html"
        place.write_text(page(documents, benches(folder), answers, shared), encoding="utf-8")
    click.echo(f"wrote {place}")


def _set_command(name: str, sets: list[str], about: str) -> click.Command:
    def measure(**options: Any) -> None:
        _measure([KINDS[one] for one in sets], **options)

    callback: Callable[..., None] = measure
    options = [*OPTIONS, *([_PARITY] if name in KINDS and KINDS[name].parity else [])]
    options += [_PAPER] if name == "micro" else []
    for option in reversed(options):
        callback = option(callback)
    return click.command(name, help=about)(callback)


_PARITY = click.option(
    "--parity",
    is_flag=True,
    help="Only check that one shared memory, filtered, answers exactly as isolated ones do.",
)


_PAPER = click.option(
    "--paper",
    is_flag=True,
    help="The paper's table instead: ten users, single calls with their embedding, and their latencies.",
)


def _measure(
    kinds: list[Kind], *, as_json: bool, parity: bool = False, paper: bool = False, **options: Any
) -> None:
    with problems(as_json=as_json):
        plans = [build_plan(kind, **options) for kind in kinds]
        if plans[0].trajectories:
            _check_alone("trajectories", parity=parity, paper=paper)
        if plans[0].seeds > 1:
            _check_alone("seeds", parity=parity, paper=paper)
            _measure_seeds(plans, as_json)
        elif paper:
            _measure_paper(plans[0], as_json)
        elif parity:  # of one set
            _check_parity(plans[0], as_json)
        elif len(plans) == 1:
            _measure_one(plans[0], as_json)
        else:
            _measure_all(plans, as_json)


def _check_alone(option: str, **modes: bool) -> None:
    for name, chosen in modes.items():
        if chosen:
            raise InvalidRequest(
                f"--{name} takes no {option}", field=option, fix=f"leave out --{option} or --{name}"
            )


def _measure_seeds(plans: "list[Plan]", as_json: bool) -> None:
    """Measure each set with several seeds."""
    from memorywire_evals.tables import SEEDS, seed_cells, seed_notes

    documents = []
    for plan in plans:
        with _warn_skipped(plan.kind) if len(plans) > 1 else nullcontext():
            documents.append(_run_seeds(plan))
    if as_json:
        CliContext.print_json(documents[0] if len(plans) == 1 else {"runs": documents})
    else:
        for document in documents:
            for line in format_table(SEEDS, list(seed_cells(document)), elastic=""):
                click.echo(line)
            for note in seed_notes(document):
                click.echo(note)
            click.echo("")
    _refuse(any(document["void"] for document in documents))


def _run_seeds(plan: "Plan") -> dict[str, Any]:
    import asyncio

    from memorywire_evals.run import run_seeds

    with tidy_path(), told(plan.kind.name) as tell:
        return asyncio.run(run_seeds(plan, date=today(), command=typed(), tell=tell))


def _measure_one(plan: "Plan", as_json: bool) -> None:
    document = _run(plan)
    if as_json:
        CliContext.print_json(document)
    else:
        _show(document)
    _refuse(document["summary"]["void"])


def _measure_paper(plan: "Plan", as_json: bool) -> None:
    """Print the paper's table, and keep it as the results of `micro-paper`."""
    import asyncio

    from memorywire_evals.paper import HEADERS as PAPER_HEADERS
    from memorywire_evals.paper import list_rows, run_micro_paper
    from memorywire_evals.results import write_document

    document = asyncio.run(
        run_micro_paper(plan.stores, plan.embedder, clock=system_clock, embedder_key=plan.embedder_key)
    )
    document |= {"date": today(), "command": typed()}
    write_document(plan.out, "micro-paper", document)
    if as_json:
        CliContext.print_json(document)
        return
    for line in format_table(PAPER_HEADERS, list(list_rows(document)), elastic="metric"):
        click.echo(line)


def _measure_all(plans: "list[Plan]", as_json: bool) -> None:
    """Measure every set in the folder, check some cases in one shared memory, and show all figures."""
    runs, shared = [], []
    for plan in plans:
        with _warn_skipped(plan.kind):
            runs.append(_run(plan))
            if not as_json:
                _show(runs[-1])
            if plan.kind.parity:
                shared.append(_parity(replace(plan, limit=min(plan.limit or _FEW, _FEW))))
    _show_figures(runs, shared, as_json)
    _refuse(any(document["summary"]["void"] for document in runs) or any(map(_differs, shared)))


def _show_figures(runs: list[dict[str, Any]], shared: list[dict[str, Any]], as_json: bool) -> None:
    """Print all figures to reach in one table, or everything as one document."""
    from memorywire_evals.tables import FIGURES, figures, reached

    lines = reached(runs, shared)
    if as_json:
        CliContext.print_json({"runs": runs, "parity": shared, "figures": lines})
        return
    for line in format_table(FIGURES, list(figures(lines)), elastic=""):
        click.echo(line)


def _differs(found: dict[str, Any]) -> bool:
    return bool(found["differences"] or found["leaks"])


def _refuse(failed: bool) -> None:
    if failed:
        raise click.exceptions.Exit(REFUSED)


@contextmanager
def _warn_skipped(kind: Kind) -> Iterator[None]:
    """Report a set that is not in the folder, and go on with the other sets."""
    from memorywire_evals.datasets.files import NoData

    try:
        yield
    except NoData as error:
        click.echo(f"{kind.name}: left out, {error.detail}", err=True)


def _run(plan: "Plan") -> dict[str, Any]:
    import asyncio

    from memorywire_evals.run import run

    try:
        with tidy_path(), told(plan.kind.name) as tell:
            return asyncio.run(run(plan, date=today(), command=typed(), tell=tell, watch=tell))
    except KeyboardInterrupt:
        click.echo("\nfinished cases are kept: the same command goes on there", err=True)
        raise


def _parity(plan: "Plan") -> dict[str, Any]:
    import asyncio

    from memorywire_evals.run import recorded

    with tidy_path(), told(f"{plan.kind.name} parity") as tell:
        return asyncio.run(recorded(plan, date=today(), command=typed(), tell=tell))


def _check_parity(plan: "Plan", as_json: bool) -> None:
    from memorywire_evals.tables import parity_lines

    results = _parity(plan)
    if as_json:
        CliContext.print_json(results)
    else:
        for line in parity_lines(results):
            click.echo(line)
    _refuse(_differs(results))


def _show(document: dict[str, Any]) -> None:
    from memorywire_evals.tables import HEADERS, cells, notes

    for line in format_table(HEADERS, list(cells(document)), elastic=""):
        click.echo(line)
    for note in notes(document):
        click.echo(note)
    click.echo("")


EXAMPLES = {
    "eval": ("memorywire eval --help",),
}
