"""`memorywire remember`: store one memory."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared, store_names
from memorywire.cli.ids import resolve_memory_ids
from memorywire.cli.inputs import (
    FUTURE,
    PAST,
    TYPES,
    TextCommand,
    parse_future,
    parse_json_object,
    parse_past,
    read_text,
)
from memorywire.cli.terminal import clean
from memorywire.model.label import Kind
from memorywire.model.record import Json, Trust

_KINDS = click.Choice([kind.value for kind in Kind])
_TRUSTS = click.Choice([level.value for level in Trust])


@click.command("remember", cls=TextCommand)
@click.argument("content", required=False)
@click.option("--type", "type_", type=TYPES, default="semantic", show_default=True, help="The memory type.")
@click.option("--structured", is_flag=True, help="CONTENT is a JSON object (only for procedural memories).")
@click.option("--team", metavar="NAME", help="Store it for this team instead of the agent alone.")
@click.option("--source", metavar="TEXT", help="Where the memory comes from.")
@click.option("--confidence", type=float, metavar="0..1", help="The confidence; default: 1.")
@click.option("--metadata", type=parse_json_object, metavar="JSON", help="A JSON object for filters.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag; repeatable.")
@click.option("--session", "session_id", metavar="ID", help="The session it comes from.")
@click.option("--occurred-at", type=parse_past, metavar="WHEN", help=f"When it happened: {PAST}.")
@click.option("--expires-at", type=parse_future, metavar="WHEN", help=f"When it expires: {FUTURE}.")
@click.option("--id", "id_", metavar="ID", help="The id of the new memory, or of the memory to replace.")
@click.option(
    "--if-version",
    type=int,
    metavar="N",
    help="Replace memory --id if it is at version N; fields that are not given again are dropped.",
)
@click.option("--supersedes", multiple=True, metavar="ID", help="A memory that it replaces; repeatable.")
@click.option("--idempotency-key", metavar="KEY", help="A retry with the same key returns the first receipt.")
@click.option("--derived-from", multiple=True, metavar="ID", help="A memory it was made from; repeatable.")
@click.option("--trust", type=_TRUSTS, help="The trust, if it is lower than that of the source.")
@click.option("--kind", type=_KINDS, help="The kind of fact, if the built-in reader is not to decide.")
@click.option("--slot", metavar="NAME", help="What --kind is about, e.g. diet, home, employer.")
@click.option("--approval-required", is_flag=True, help="Hold it until a person approves it.")
@click.option(
    "--privacy-intent",
    type=parse_json_object,
    metavar="JSON",
    help='A rule for this memory, e.g. {"verdict": "refuse", "contains_secret": true}.',
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
    """Store one memory: CONTENT, or standard input for `-`."""
    text = read_text(content, field="content")
    replaced_ids = resolve_memory_ids(cli, supersedes)
    answer = cli.call(
        "remember",
        content=parse_json_object(text) if structured else text,
        type=type_,
        id=id_,
        tags=list(tags),
        supersedes=replaced_ids,
        derived_from=resolve_memory_ids(cli, derived_from),
        **fields,
    )
    cli.show(answer, lambda answer: _render_receipt(answer, replaced_ids))


def _render_receipt(answer: Answer, replaced_ids: list[str]) -> Iterator[str]:
    if answer["status"] == "duplicate":
        duplicate = f"already known as {answer['id']} (version {answer['version']})"
        if answer.get("change_id") and replaced_ids:
            yield f"{duplicate}; it supersedes {', '.join(replaced_ids)}"
        else:
            yield f"{duplicate}; nothing was written"
        return
    if answer["pending_approval"]:
        yield f"to be remembered as {answer['id']}"
    else:
        yield f"remembered {answer['id']}"
        yield f"  version {answer['version']}, {answer['status']} in {store_names(answer['stores'])}"
    yield from (f"  removed: {one['kind']} in {clean(one['place'])}" for one in answer.get("redacted", ()))
