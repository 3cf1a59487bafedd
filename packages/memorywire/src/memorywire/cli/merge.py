"""`memorywire merge`: make several memories one."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, names, shared
from memorywire.model.record import Json
from memorywire.model.requests import Strategy

_STRATEGIES = click.Choice([strategy.value for strategy in Strategy])


@click.command("merge")
@click.argument("canonical")
@click.argument("duplicates", nargs=-1, required=True, metavar="DUPLICATE...")
@click.option("--strategy", type=_STRATEGIES, help="What survives; keep_canonical when not given.")
@click.option("--if-version", type=int, metavar="N", help="Only while CANONICAL is at version N.")
@shared
def command(cli: CliContext, canonical: str, duplicates: tuple[str, ...], **fields: Json) -> None:
    """Merge every DUPLICATE into CANONICAL."""
    answer = cli.call("merge", canonical=canonical, duplicates=list(duplicates), **fields)
    cli.show(answer, sentences)


def sentences(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        waiting = len(answer["would_merge_ids"])
        yield f"would merge {waiting} into {answer['canonical']}, once a person approves"
    else:
        yield f"merged {answer['merged_count']} into {answer['canonical']}"
    yield f"  version {answer['version']}, {answer['status']} in {names(answer['stores'])}"
    yield f"  strategy {answer['strategy_used']}"
