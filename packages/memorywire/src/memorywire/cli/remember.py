"""`memorywire remember`: keep one memory."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, names, shared
from memorywire.cli.inputs import FUTURE, PAST, TYPES, ago, ahead, json_object, text_from
from memorywire.cli.terminal import safe
from memorywire.model.record import Json, Trust

_TRUSTS = click.Choice([level.value for level in Trust])


@click.command("remember")
@click.argument("content", required=False)
@click.option("--type", "type_", type=TYPES, default="semantic", show_default=True, help="Kind of memory.")
@click.option("--structured", is_flag=True, help="CONTENT is a JSON object (procedural memories only).")
@click.option("--source", metavar="TEXT", help="Who or what said so.")
@click.option("--confidence", type=float, metavar="0..1", help="How sure it is; 1 when not given.")
@click.option(
    "--metadata", type=json_object, metavar="JSON", help="A JSON object kept with it and open to filters."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A label; repeatable.")
@click.option("--session", "session_id", metavar="ID", help="The session it comes from.")
@click.option("--occurred-at", type=ago, metavar="WHEN", help=f"When it happened: {PAST}.")
@click.option("--expires-at", type=ahead, metavar="WHEN", help=f"When it ends: {FUTURE}.")
@click.option("--id", "id_", metavar="ID", help="The id to give it, or of the memory to change.")
@click.option(
    "--if-version",
    type=int,
    metavar="N",
    help="Replace memory --id, only while it is at version N; what is not given again is gone.",
)
@click.option("--supersedes", multiple=True, metavar="ID", help="A memory this one replaces; repeatable.")
@click.option("--idempotency-key", metavar="KEY", help="Makes a retry give the first receipt again.")
@click.option("--derived-from", multiple=True, metavar="ID", help="A memory this was made from; repeatable.")
@click.option("--trust", type=_TRUSTS, help="How far it is believed, if less than its source is.")
@click.option("--approval-required", is_flag=True, help="Hold it until a person approves.")
@click.option(
    "--privacy-intent",
    type=json_object,
    metavar="JSON",
    help='A rule it brings along, e.g. {"verdict": "refuse", "contains_secret": true}.',
)
@shared
def remember_command(
    cli: CliContext,
    content: str | None,
    type_: str,
    structured: bool,
    id_: str | None,
    tags: tuple[str, ...],
    supersedes: tuple[str, ...],
    derived_from: tuple[str, ...],
    **fields: Json,
) -> None:
    """Keep one memory: CONTENT, or standard input for `-`."""
    text = text_from(content, field="content")
    said = json_object(text) if structured else text
    answer = cli.call(
        "remember",
        content=said,
        type=type_,
        id=id_,
        tags=list(tags),
        supersedes=list(supersedes),
        derived_from=list(derived_from),
        **fields,
    )
    cli.show(answer, lambda said: sentences(said, supersedes))


def sentences(answer: Answer, supersedes: tuple[str, ...]) -> Iterator[str]:
    if answer["status"] == "duplicate":
        known = f"already known as {answer['id']} (version {answer['version']})"
        if answer.get("change_id") and supersedes:
            yield f"{known}; superseded by it: {', '.join(supersedes)}"
        else:
            yield f"{known}; nothing was written"
        return
    if answer["pending_approval"]:
        yield f"to be remembered as {answer['id']}"
    else:
        yield f"remembered {answer['id']}"
        yield f"  version {answer['version']}, {answer['status']} in {names(answer['stores'])}"
    yield from (f"  taken out: {one['kind']} in {safe(one['place'])}" for one in answer.get("redacted", ()))
