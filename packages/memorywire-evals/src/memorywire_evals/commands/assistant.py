"""`memorywire eval reading|tasks|facts`: measures an assistant's memory on built-in sets."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.problems import problems
from memorywire.cli.terminal import format_table
from memorywire.model.errors import InvalidRequest
from memorywire_evals.commands.eval_options import tidy_path, told

if TYPE_CHECKING:
    from memorywire_evals.assistant.run import Run

_OPTIONS = (
    click.option(
        "--part",
        type=click.Choice(["train", "dev", "test"]),
        default="test",
        show_default=True,
        help="Tune on train and dev, report test.",
    ),
    click.option(
        "--json",
        "target",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write figures and rows to a file.",
    ),
    click.option("--misses", is_flag=True, help="Print what went wrong; not of the part test."),
    click.option("--store", default="memory://", show_default=True, metavar="URL", help="An empty store."),
    click.option("--embedder", default="minilm", show_default=True, help="An embedder by name or URL."),
    click.option(
        "--cache",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Where embedded texts are kept between runs; default: a file in the home folder.",
    ),
)


@click.command("reading")
def reading(**options: Any) -> None:
    """Which facts the built-in reader keeps of 400 sentences, and of 150 that hold none."""
    _measure("reading", **options)


@click.command("tasks")
@click.option(
    "--baseline",
    type=click.Choice(["recall"]),
    help="Measure plain recall, with the floor and without, instead of context.",
)
def tasks(**options: Any) -> None:
    """What an agent gets for 450 tasks of 30 people, and for 100 unrelated prompts."""
    _measure("tasks", **options)


@click.command("facts")
def facts(**options: Any) -> None:
    """800 questions on own facts: exact words, identifiers, newest state, other words, no match."""
    _measure("facts", **options)


COMMANDS = (reading, tasks, facts)
for _command in COMMANDS:
    for _option in reversed(_OPTIONS):
        _option(_command)


def _measure(
    set_name: str, *, target: Path | None, misses: bool, cache: Path | None, part: str, **options: Any
) -> None:
    from memorywire.app.settings import data_home
    from memorywire_evals.assistant.run import Run

    with problems(as_json=False):
        if misses and part == "test":
            raise InvalidRequest(
                "the rows of the test part are hidden, so that nothing is tuned on them",
                field="misses",
                fix="pass --part dev",
            )
        run = Run(
            set_name=set_name,
            part=part,
            cache=cache or data_home(os.environ) / "eval-embeddings.db",
            embedder_key=os.environ.get("MEMORYWIRE_EMBEDDER_KEY"),
            **options,
        )
        document = _run(run)
        if target is not None:
            _write(document, target)
    _show(document, misses=misses)


def _run(run: "Run") -> dict[str, Any]:
    import asyncio

    from memorywire_evals.assistant.run import measure

    with tidy_path(), told(run.set_name) as tell:
        return asyncio.run(measure(run, tell))


def _write(document: dict[str, Any], target: Path) -> None:
    import json

    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True)
    target.write_text(f"{text}\n", encoding="utf-8")


def _show(document: dict[str, Any], *, misses: bool) -> None:
    from memorywire_evals.tables import FIGURES, figures

    for name, lines in document["tables"].items():
        click.echo(f"{document['set']}, {document['part']}: {name}")
        for line in format_table(FIGURES, list(figures(lines)), elastic=""):
            click.echo(line)
        click.echo("")
    click.echo(f"embedder {document['embedder']}, digest {document['digest']}")
    if misses:
        _show_misses(document)


_FAULTS = ("missed", "wrong", "not ended", "helpful missing", "constraint missing", "in the way")


def _show_misses(document: dict[str, Any]) -> None:
    for name, rows in document["rows"].items():
        for row in rows:
            faults = {key: row[key] for key in _FAULTS if row.get(key)}
            if not faults and row.get("right", True):
                continue
            text = row.get("text") or row.get("prompt") or row["question"]
            details = faults or {key: row[key] for key in ("group", "gold", "hits")}
            click.echo(f"{name}: {text}\n    {details}")
