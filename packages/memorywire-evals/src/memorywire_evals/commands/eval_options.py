"""Shared options, plan and progress of the commands of `memorywire eval`."""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.terminal import Progress
from memorywire.model.clock import system_clock
from memorywire.model.errors import InvalidRequest
from memorywire_evals.sets import Kind

if TYPE_CHECKING:
    from memorywire_evals.run import Plan

_COMMAND = re.compile(r"((?:cmd:|--agent-cmd[=\0])[^\s\0]+)\s[^\0]*")
"""A command in a NUL-separated command line: the program, then its arguments."""

_LONG_MS = 30_000

BASELINES = click.option("--baselines/--no-baselines", default=True, help="Rank with the plain rankers too.")
OPTIONS = (
    click.option(
        "--data",
        type=click.Path(exists=True, path_type=Path),
        help="The folder of the data, or the file itself.",
    ),
    click.option("--split", default="test", show_default=True, help="The part to use: dev, test or all."),
    click.option(
        "--store",
        "stores",
        multiple=True,
        metavar="URL",
        help="The store to measure; repeatable, for several as one; default: a temporary SQLite file.",
    ),
    click.option(
        "--out",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path("results"),
        show_default=True,
        help="Where results are written.",
    ),
    click.option(
        "--seeds",
        type=click.IntRange(1, 100),
        metavar="N",
        default=1,
        help="Run it N times in other orders, or sample N answers, and give means with intervals.",
    ),
    click.option("--limit", type=click.IntRange(min=1), help="Only the first so many cases."),
    click.option(
        "--roles",
        type=click.Choice(["all", "user"]),
        default="all",
        show_default=True,
        help="Whose turns to remember, where a set tells users from assistants.",
    ),
    BASELINES,
    click.option(
        "--trajectories",
        is_flag=True,
        help="Also write down every step: what was written, retrieved and used.",
    ),
    click.option("--fresh", is_flag=True, help="Start over instead of going on with an earlier run."),
    click.option("--embedder", default="minilm", show_default=True, help="An embedder by name or URL."),
    click.option(
        "--cache",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Where embedded texts are kept between runs; default: a file in the home folder.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the results as one JSON document."),
)


def build_plan(kind: Kind, *, data: Path | None, cache: Path | None, **options: Any) -> "Plan":
    from memorywire.app.settings import data_home
    from memorywire_evals.run import Plan

    if data is None and kind.needs_data:
        raise InvalidRequest(f"{kind.name} needs data", field="data", fix="pass --data FOLDER")
    return Plan(
        kind=kind,
        data=data or Path(),
        cache=cache or data_home(os.environ) / "eval-embeddings.db",
        embedder_key=os.environ.get("MEMORYWIRE_EMBEDDER_KEY"),
        **options,
    )


def today() -> str:
    return datetime.fromtimestamp(system_clock() / 1000, UTC).isoformat(timespec="seconds")


def typed() -> str:
    """Return the command line without possible secrets: a URL's login and query, a command's arguments."""
    from memorywire_evals.results import without_login

    line = "\0".join(word.partition("?")[0] for word in sys.argv[1:])
    return without_login(_COMMAND.sub(r"\1 ...", line)).replace("\0", " ")


@contextmanager
def tidy_path() -> Iterator[None]:
    """Handle SIGTERM like an interrupt, so that temporary files are removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def told(label: str) -> Iterator[Callable[[float, int, str], None]]:
    """Yield a function that shows progress: a bar on a terminal, else a line per case for the log.

    The line of a slow case is repeated at intervals.
    """
    bars: list[Progress] = []
    noted: tuple[str, int] | None = None

    def tell(done: float, total: int, note: str) -> None:
        nonlocal noted
        if not sys.stderr.isatty():
            if noted is None or note != noted[0] or system_clock() >= noted[1] + _LONG_MS:
                click.echo(f"{label}: {done:.4g}/{total} {note}", err=True)
                noted = note, system_clock()
            return
        if not bars:
            bars.append(Progress(label, total).__enter__())
        bars[0].update(done, note)

    try:
        yield tell
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)
