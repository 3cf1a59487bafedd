"""`memorywire eval agents`: runs a coding agent with our plugin, with its own memory, and without."""

import json
from pathlib import Path

import click

from memorywire.cli.context import CliContext
from memorywire.cli.problems import problems
from memorywire.cli.terminal import format_table
from memorywire.model.errors import InvalidRequest, TooManyAffected
from memorywire_evals.commands.eval_options import tidy_path, today, told, typed

_CELLS = {"plugin": "plugin", "own": "own memory", "without": "without"}


@click.command("agents")
@click.argument("tasks", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--agent-cmd",
    required=True,
    metavar="COMMAND",
    help="The agent; it reads the prompt on standard input and works in the current folder.",
)
@click.option(
    "--hooks",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The hooks file of the plugin, such as plugin/memorywire/hooks/hooks.json.",
)
@click.option(
    "--host",
    type=click.Choice(["claude", "codex", "cursor"]),
    default="claude",
    show_default=True,
    help="Whose settings file in the checkout gets the hooks.",
)
@click.option(
    "--cell",
    "cells",
    type=click.Choice(list(_CELLS)),
    multiple=True,
    help="Only this cell; repeatable. Default: all three.",
)
@click.option("--seconds", type=click.FloatRange(min=1), default=600.0, show_default=True, help="For a task.")
@click.option(
    "--max-runs",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    help="Refuse to start the agent more often than this.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Where results are written.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON document.")
def agents(
    tasks: Path,
    agent_cmd: str,
    hooks: Path,
    host: str,
    cells: tuple[str, ...],
    seconds: float,
    max_runs: int,
    out: Path,
    as_json: bool,
) -> None:
    """A coding agent with our plugin, its own memory, or none.

    TASKS has JSON lines, one task each: a prompt, the files or the commit it begins with, and a command
    that checks the result. Each task has a throwaway checkout; memory lasts for the tasks of a case. The
    agent runs with your permissions: run what you trust, or run it in a container.
    """
    from memorywire_evals.agents.run import HEADERS, Plan, list_rows, run_agents
    from memorywire_evals.agents.tasks import read_tasks

    with problems(as_json=as_json):
        cases = read_tasks(tasks)
        _check_hooks(hooks)
        chosen = tuple(_CELLS[cell] for cell in (cells or _CELLS))
        runs = sum(map(len, cases.values())) * len(chosen)
        if runs > max_runs:
            raise TooManyAffected(
                f"{runs} runs of the agent", field="max-runs", fix=f"pass --max-runs {runs}, or fewer tasks"
            )
        plan = Plan(
            cases=cases, command=agent_cmd, hooks=hooks, host=host, out=out, cells=chosen, seconds=seconds
        )
        with tidy_path(), told("agents") as tell:
            document = run_agents(plan, date=today(), typed=typed(), tell=tell)
    if as_json:
        CliContext.print_json(document)
        return
    for line in format_table(HEADERS, list(list_rows(document)), elastic="hooks"):
        click.echo(line)


def _check_hooks(file: Path) -> None:
    try:
        document = json.loads(file.read_bytes())
    except ValueError as error:
        raise InvalidRequest(f"{file} is not JSON: {error}", field="hooks") from error
    if not isinstance(document, dict) or not isinstance(document.get("hooks"), dict):
        raise InvalidRequest(f"{file} is not a hooks file: it has no object `hooks`", field="hooks")
