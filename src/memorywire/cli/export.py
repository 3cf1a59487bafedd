"""`memorywire export`: a memory in one file, or in files that people read."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.desk import Answer, Desk, shared
from memorywire.cli.house import opened_house
from memorywire.cli.screen import Progress
from memorywire.model.errors import Conflict
from memorywire.model.record import DEFAULT_TENANT

if TYPE_CHECKING:
    from memorywire.engine.tools import Tools

FORMATS = ("bundle", "markdown", "csv", "okf")


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="bundle",
    show_default=True,
    help="What to write; markdown and okf write a folder.",
)
@click.option(
    "--with-vectors", is_flag=True, help="Take the vectors along, so that no import has to make them."
)
@click.option("--replace", is_flag=True, help="Write over a file that is there.")
@shared
def command(desk: Desk, file: Path, format_: str, with_vectors: bool, replace: bool) -> None:
    """Write the memory of every agent, or of the one that --agent names, to FILE.

    A bundle has everything that ever happened, in order: every version with its ids and moments, what waits
    for a person and the rules that people gave. The same memory gives the same bytes. The other formats
    have the memories as they are now, and what they cannot hold is said.
    """
    import asyncio

    if file.exists() and not replace:
        raise Conflict(f"{file} exists", field="file", fix="name a new file, or say --replace")
    agents = tuple(filter(None, [desk.reach().get("agent_id")]))
    desk.show(asyncio.run(_exported(desk, file, format_, agents, with_vectors)), sentences)


async def _exported(desk: Desk, file: Path, format_: str, agents: tuple[str, ...], vectors: bool) -> Answer:
    async with opened_house(desk.settings) as house:
        with Progress("exporting", None) as progress:
            if format_ != "bundle":
                return await _readable(house.tools, file, format_, agents)
            return await _bundle(house.tools, file, agents, vectors, progress)


async def _bundle(
    tools: "Tools", file: Path, agents: tuple[str, ...], vectors: bool, progress: Progress
) -> Answer:
    from memorywire.migrate.bundle import Exporting, export

    wanted = Exporting(tenant=DEFAULT_TENANT, agents=agents, vectors=vectors)
    partial = file.with_name(f".{file.name}.partial")
    with partial.open("wb") as target:
        bundle = await export(target, tools, wanted, lambda done: progress.reached(done, f"{done} changes"))
        target.flush()
        os.fsync(target.fileno())
    partial.replace(file)
    return {"file": str(file), "format": "bundle", "counts": dict(bundle.counts), "digest": bundle.digest}


async def _readable(tools: "Tools", file: Path, format_: str, agents: tuple[str, ...]) -> Answer:
    from memorywire.migrate.readable import write_readable

    count, losses = await write_readable(file, format_, tools.store, DEFAULT_TENANT, agents)
    return {"file": str(file), "format": format_, "counts": {"put": count}, "losses": list(losses)}


def sentences(answer: Answer) -> Iterator[str]:
    counts = answer["counts"]
    if answer["format"] != "bundle":
        yield f"wrote {counts['put']} memories to {answer['file']}"
        yield from (f"  not in it: {loss}" for loss in answer["losses"])
        return
    yield f"wrote {counts.get('change', 0)} changes with {counts.get('put', 0)} versions to {answer['file']}"
    yield f"  sha256 of its lines: {answer['digest']}"
