"""`memorywire eval answer`: let a model, or an agent, answer from what is recalled, and judge it."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.context import CliContext
from memorywire.cli.problems import REFUSED, problems
from memorywire.cli.terminal import table, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire_evals.commands.eval_options import BASELINES, OPTIONS, planned, tidied, today, told, typed
from memorywire_evals.sets import KINDS

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
        grid = Grid(
            cells=tuple(cells),
            judge=judging,
            budget=budget,
            most_calls=max_calls,
            spending=_spending(max_tokens, price, max_cost),
            questions=questions,
        )
        document = _answered(planned(KINDS[set_name], **options), grid)
    _show_answers(document, as_json)
    if document["answers"]["void"]:
        raise click.exceptions.Exit(REFUSED)


for _option in OPTIONS:
    if _option is not BASELINES:
        _option(answer)


def _spending(max_tokens: int | None, price: float | None, max_cost: float | None) -> "Spending | None":
    """What a run may spend; None is as much as it takes."""
    from memorywire.model.consolidation import Spending

    if max_cost is not None and price is None:
        raise InvalidRequest(
            "without a price nobody can say what it costs", field="max-cost", fix="pass --price P as well"
        )
    if max_tokens is None and price is None:
        return None
    return Spending(tokens=sys.maxsize if max_tokens is None else max_tokens, price=price, cost=max_cost)


def _first_cells(reader: str | None, agent_cmd: str | None, key: str | None) -> "list[Cell]":
    """One reader with our memory and without; an agent also with its own."""
    from memorywire_evals.answers import BUILT_IN, LOWER_BOUND, TREATMENT, Cell
    from memorywire_evals.readers import COMMAND, open_reader

    if (reader is None) == (agent_cmd is None):
        raise InvalidRequest(
            "either a reader or an agent answers",
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
        with tidied(), told(f"{plan.kind.name} answers") as tell:
            return asyncio.run(answer_all(plan, grid, date=today(), command=typed(), tell=tell))
    except KeyboardInterrupt:
        click.echo("\nanswers so far are kept: the same command goes on there", err=True)
        raise


def _show_answers(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        CliContext.print_json(document)
        return
    from memorywire_evals.tables import ANSWERS, answer_cells, answer_notes

    for line in table(ANSWERS, list(answer_cells(document)), elastic="reader", width=terminal_width()):
        click.echo(line)
    for note in answer_notes(document):
        click.echo(note)
