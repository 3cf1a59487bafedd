"""`memorywire eval`: how well recall works, on public sets or on one's own data."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.desk import Desk
from memorywire.cli.problems import REFUSED, STORE_FAILURE, exit_code, problem_lines
from memorywire.cli.screen import Progress, table, terminal_width
from memorywire.evals.sets import KINDS, WHOLE, Kind
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError

if TYPE_CHECKING:
    from memorywire.evals.answers import Grid
    from memorywire.evals.parity import Parity
    from memorywire.evals.run import Plan

_FEW = 20
"""So many cases of a set are put into one shared memory when every set is measured."""

_BASELINES = click.option("--baselines/--no-baselines", default=True, help="Rank with the plain rankers too.")
_OPTIONS = (
    click.option(
        "--data",
        type=click.Path(exists=True, path_type=Path),
        help="The folder of the data, or the file itself.",
    ),
    click.option("--split", default="test", show_default=True, help="The part to use: dev, test or all."),
    click.option("--store", metavar="URL", help="The store to measure; default: a temporary SQLite file."),
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("results"),
        show_default=True,
        help="Where results are written.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first so many cases."),
    click.option(
        "--roles",
        type=click.Choice(["all", "user"]),
        default="all",
        show_default=True,
        help="Whose turns to remember, where a set tells users from assistants.",
    ),
    _BASELINES,
    click.option("--fresh", is_flag=True, help="Start over instead of going on with an earlier run."),
    click.option("--embedder", default="minilm", show_default=True, help="An embedder by name or URL."),
    click.option(
        "--cache",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Where embedded texts are kept between runs; default: a file in the home folder.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON document."),
)


class Sets(click.Group):
    """A command for every set, beside those that work on results."""

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


@command.command("compare")
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON document.")
def compare(before: Path, after: Path, as_json: bool) -> None:
    """Say which differences between two results are more than chance."""
    from memorywire.evals.compare import compared, lines
    from memorywire.evals.results import load

    with _problems(as_json):
        differences = compared(load(before), load(after))
        if as_json:
            Desk.print_json(differences)
            return
        headers, rows = lines(differences)
        for line in table(headers, rows, elastic="metric", width=terminal_width()):
            click.echo(line)


@command.command("report")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--to", "target", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
def report(folder: Path, target: Path | None) -> None:
    """Write all results of a folder as one HTML page that needs no network."""
    from memorywire.evals.report import page
    from memorywire.evals.results import runs

    with _problems(as_json=False):
        documents = runs(folder)
        if not documents:
            raise InvalidRequest(f"no results in {folder}", field="folder", fix="run `memorywire eval` first")
        place = target or folder / "report.html"
        place.write_text(page(documents), encoding="utf-8")
    click.echo(f"wrote {place}")


@command.command("answer")
@click.argument("set_name", metavar="SET", type=click.Choice(list(KINDS)))
@click.option("--reader", required=True, metavar="URL", help="Who answers, with memory and without.")
@click.option("--reference", metavar="URL", help="Another reader, without memory.")
@click.option("--target", metavar="URL", help="The reader to beat, without memory.")
@click.option("--judge", metavar="URL", help="Who judges; default: the reader.")
@click.option("--budget", default=1024, show_default=True, help="Tokens of memories to show.")
@click.option("--max-calls", default=200, show_default=True, help="Refuse to make more calls than this.")
def answer(
    set_name: str,
    reader: str,
    reference: str | None,
    target: str | None,
    judge: str | None,
    budget: int,
    max_calls: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Let a model answer from what is recalled, and judge it.

    A reader is openai+https://HOST/v1?model=NAME, anthropic+https://HOST/v1?model=NAME, or cmd:COMMAND for
    a program that reads a prompt and prints an answer. Its key is taken from MEMORYWIRE_READER_KEY.
    """
    from memorywire.evals.answers import TREATMENT, Cell, Grid
    from memorywire.evals.readers import key_from, open_reader

    with _problems(as_json):
        key = key_from(os.environ)
        first = open_reader(reader, key=key)
        cells = [Cell(name=TREATMENT, reader=first, memory=True), Cell(name="lower bound", reader=first)]
        for name, url in (("reference", reference), ("target", target)):
            if url is not None:
                cells.append(Cell(name=name, reader=open_reader(url, key=key)))
        judging = first if judge is None else open_reader(judge, key=key)
        grid = Grid(cells=tuple(cells), judge=judging, budget=budget, most_calls=max_calls)
        document = _answered(_plan(KINDS[set_name], **options), grid)
    _show_answers(document, as_json)


for _option in _OPTIONS:
    if _option is not _BASELINES:
        _option(answer)


def _answered(plan: "Plan", grid: "Grid") -> dict[str, Any]:
    import asyncio

    from memorywire.evals.answers import answer_all
    from memorywire.evals.readers import ReaderFailed

    try:
        with _told(f"{plan.kind.name} answers") as tell:
            return asyncio.run(answer_all(plan, grid, date=_today(), command=_typed(), tell=tell))
    except ReaderFailed as error:
        click.echo(f"error: {error}\n  fix: run it again; answers so far are kept", err=True)
        raise click.exceptions.Exit(STORE_FAILURE) from error


def _show_answers(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        Desk.print_json(document)
        return
    gaps = document["answers"]["treatment minus"]
    rows = [
        [
            name,
            cell["reader"],
            f"{cell['accuracy']:.3f}",
            f"{gaps[name]['mean']:+.3f} ({gaps[name]['low']:+.3f} to {gaps[name]['high']:+.3f})"
            if name in gaps
            else "",
            str(cell["questions"]),
            str(cell["tokens"]),
        ]
        for name, cell in document["answers"]["cells"].items()
    ]
    headers = ("cell", "reader", "accuracy", "treatment minus it", "questions", "tokens")
    for line in table(headers, rows, elastic="reader", width=terminal_width()):
        click.echo(line)


def _set_command(name: str, sets: list[str], about: str) -> click.Command:
    def measure(**options: Any) -> None:
        _measure([KINDS[one] for one in sets], **options)

    callback: Callable[..., None] = measure
    options = [*_OPTIONS, *([_PARITY] if name in KINDS and KINDS[name].parity else [])]
    for option in reversed(options):
        callback = option(callback)
    return click.command(name, help=about)(callback)


_PARITY = click.option(
    "--parity",
    is_flag=True,
    help="Only check that one shared memory, filtered, answers exactly as isolated ones do.",
)


def _measure(kinds: list[Kind], *, as_json: bool, parity: bool = False, **options: Any) -> None:
    documents = []
    with _problems(as_json):
        plans = [_plan(kind, **options) for kind in kinds]
        for plan in plans:
            if parity:
                _check_parity(plan)
                continue
            with _passing_over(plan.kind, len(kinds) > 1):
                documents.append(_run(plan))
                if not as_json:
                    _show(documents[-1])
        if as_json:
            Desk.print_json(documents[0] if len(kinds) == 1 else documents)
        elif len(kinds) > 1:
            _show_figures(documents, [plan for plan in plans if plan.kind.parity])
    if any(document["summary"]["void"] for document in documents):
        raise click.exceptions.Exit(REFUSED)


@contextmanager
def _passing_over(kind: Kind, several: bool) -> Iterator[None]:
    """Of several sets, those that are not in the folder are left out; a single one must be there."""
    from memorywire.evals.datasets.files import NoData

    try:
        yield
    except NoData as error:
        if not several:
            raise
        click.echo(f"{kind.name}: left out, {error.detail}", err=True)


def _plan(kind: Kind, *, data: Path | None, cache: Path | None, **options: Any) -> "Plan":
    from memorywire.evals.run import Plan
    from memorywire.house.settings import data_home

    if data is None and kind.needs_data:
        raise InvalidRequest(f"{kind.name} needs data", field="data", fix="pass --data FOLDER")
    return Plan(
        kind=kind,
        data=data or Path(),
        cache=cache or data_home(os.environ) / "eval-embeddings.db",
        embedder_key=os.environ.get("MEMORYWIRE_EMBEDDER_KEY"),
        **options,
    )


def _run(plan: "Plan") -> dict[str, Any]:
    import asyncio

    from memorywire.evals.run import run

    with _told(plan.kind.name) as tell:
        return asyncio.run(run(plan, date=_today(), command=_typed(), tell=tell))


def _today() -> str:
    return datetime.fromtimestamp(system_clock() / 1000, UTC).isoformat(timespec="seconds")


def _typed() -> str:
    """The command line, without the query of any URL, which may hold a secret."""
    return " ".join(word.partition("?")[0] for word in sys.argv[1:])


def _show_figures(documents: list[dict[str, Any]], shareable: "list[Plan]") -> None:
    """All that is to be reached in one table, with the check of a shared memory on a few cases."""
    from memorywire.evals.tables import FIGURES, figures, parity_figure

    measured = {document["run"]["set"] for document in documents}
    few = [
        replace(plan, limit=min(plan.limit or _FEW, _FEW)) for plan in shareable if plan.kind.name in measured
    ]
    rows = [*figures(documents), *(parity_figure(_parity(plan)) for plan in few)]
    for line in table(FIGURES, rows, elastic="", width=terminal_width()):
        click.echo(line)


def _parity(plan: "Plan") -> "Parity":
    import asyncio

    from memorywire.evals.parity import parity

    with _told(f"{plan.kind.name} parity") as tell:
        return asyncio.run(parity(plan, tell=tell))


def _check_parity(plan: "Plan") -> None:
    found = _parity(plan)
    click.echo(
        f"{found.questions} questions, {found.memories} memories shared by {found.cases} cases: "
        f"{len(found.differences)} answered differently, {found.leaks} hits from another case"
    )
    for difference in found.differences:
        click.echo(f"  {difference}")
    if found.differences or found.leaks:
        raise click.exceptions.Exit(REFUSED)


def _show(document: dict[str, Any]) -> None:
    from memorywire.evals.tables import HEADERS, cells, notes

    for line in table(HEADERS, list(cells(document)), elastic="", width=terminal_width()):
        click.echo(line)
    for note in notes(document):
        click.echo(note)
    click.echo("")


@contextmanager
def _told(label: str) -> Iterator[Callable[[int, int, str], None]]:
    """A bar on a terminal; a line a case where there is none, so that a log shows where a run is."""
    bars: list[Progress] = []

    def tell(done: int, total: int, note: str) -> None:
        if not sys.stderr.isatty():
            click.echo(f"{label}: {done}/{total} {note}", err=True)
            return
        if not bars:
            bars.append(Progress(label, total).__enter__())
        bars[0].reached(done, note)

    try:
        yield tell
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


@contextmanager
def _problems(as_json: bool) -> Iterator[None]:
    try:
        yield
    except MemorywireError as error:
        for line in problem_lines(error.problem(), as_json=as_json):
            click.echo(line, err=True)
        raise click.exceptions.Exit(exit_code(type(error))) from error
