"""`memorywire capabilities`: what is wired here."""

from collections.abc import Iterator, Mapping

import click

from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.model.projections import DIMENSIONS
from memorywire.model.record import Json


@click.command("capabilities")
@of_everybody
def command(cli: CliContext) -> None:
    """Show what the stores and the embedder wired here can do."""
    with cli.memory() as memory:
        cli.show(memory.call("capabilities", {}), sentences)


def sentences(answer: Answer) -> Iterator[str]:
    embedding = answer["embedding"]
    yield f"spec        {answer['spec']}"
    yield f"operations  {', '.join(answer['operations'])}"
    yield f"features    {', '.join(answer['features'])}"
    yield from (f"store       {store['name']}: {', '.join(store['features'])}" for store in answer["stores"])
    yield f"embedding   {embedding['model']} {embedding['revision']}, {embedding['dimension']} dimensions"
    served = [name for name, holds in answer.get("contracts", {}).items() if holds]
    yield f"contracts   {', '.join(served)}"
    yield from _openwop(answer["openwop"]) if "openwop" in answer else ()
    yield from (f"limit       {name} {value}" for name, value in answer["limits"].items())


def _openwop(said: Mapping[str, Json]) -> Iterator[str]:
    """What a host gives an agent, whether or not one is open, and what an agent would miss."""
    provided = said["dimensions"]
    yield f"openwop     {'served' if said['served'] else 'not served'}: {', '.join(provided) or 'nothing'}"
    missing = [name for name in DIMENSIONS if name not in provided]
    if missing:
        yield f"  degraded  {', '.join(missing)}"
