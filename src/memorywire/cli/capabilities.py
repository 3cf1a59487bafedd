"""`memorywire capabilities`: what is wired here."""

from collections.abc import Iterator

import click

from memorywire.cli.desk import Answer, Desk, shared


@click.command("capabilities")
@shared
def command(desk: Desk) -> None:
    """Show what the stores and the embedder wired here can do."""
    with desk.memory() as memory:
        desk.show(memory.call("capabilities", {}), sentences)


def sentences(answer: Answer) -> Iterator[str]:
    embedding = answer["embedding"]
    yield f"spec        {answer['spec']}"
    yield f"operations  {', '.join(answer['operations'])}"
    yield f"features    {', '.join(answer['features'])}"
    yield from (f"store       {store['name']}: {', '.join(store['features'])}" for store in answer["stores"])
    yield f"embedding   {embedding['model']} {embedding['revision']}, {embedding['dimension']} dimensions"
    served = [name for name, holds in answer.get("contracts", {}).items() if holds]
    yield f"contracts   {', '.join(served)}"
    yield from (f"limit       {name} {value}" for name, value in answer["limits"].items())
