"""`memorywire undo`: take one change back."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, names, shared


@click.command("undo")
@click.argument("change_id", metavar="CHANGE")
@shared
def command(cli: CliContext, change_id: str) -> None:
    """Take CHANGE back.

    An undo is a change too, so it can be undone. `memorywire changes` lists what can be taken back.
    """
    cli.show(cli.call("undo", change_id=change_id), sentences)


def sentences(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        yield f"would undo {answer['undone']}, once a person approves"
        yield from (f"  would restore {id}" for id in answer["would_restore_ids"])
        yield from (f"  would end {id}" for id in answer["would_end_ids"])
        return
    yield f"undid {answer['undone']}"
    yield from (f"  restored {id}" for id in answer["restored_ids"])
    yield from (f"  ended {id}" for id in answer["ended_ids"])
    yield f"  {answer['status']} in {names(answer['stores'])}"
