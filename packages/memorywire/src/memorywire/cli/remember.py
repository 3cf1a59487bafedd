"""`memorywire remember`: store one memory."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared_for_owner, store_names
from memorywire.cli.ids import resolve_memory_ids
from memorywire.cli.inputs import (
    FUTURE,
    PAST,
    TYPES,
    TextCommand,
    option,
    parse_future,
    parse_json_object,
    parse_past,
    read_text,
    review_options,
)
from memorywire.cli.terminal import clean
from memorywire.model.label import Kind
from memorywire.model.record import Json, Trust

_KINDS = click.Choice([kind.value for kind in Kind])
_TRUSTS = click.Choice([level.value for level in Trust])


@click.command("remember", cls=TextCommand)
@click.argument("content", required=False)
@option("--type", "The memory type.", name="type_", type=TYPES, default="semantic")
@option("--structured", "CONTENT is a JSON object (only for procedural memories).")
@option("--team NAME", "Store it for this team instead of the agent alone.")
@option("--source TEXT", "Where the memory comes from.")
@option("--confidence 0..1", "The confidence; default: 1.", type=float)
@option("--metadata JSON", "A JSON object for filters.", type=parse_json_object)
@option("--tag TAG", "A tag; repeatable.", name="tags", multiple=True)
@option("--session ID", "The session it comes from.", name="session_id")
@option("--occurred-at WHEN", f"When it happened: {PAST}.", type=parse_past)
@option("--expires-at WHEN", f"When it expires: {FUTURE}.", type=parse_future)
@option("--id ID", "The id of the new memory, or of the memory to replace.", name="id_")
@option(
    "--if-version N",
    "Replace memory --id if it is at version N; fields that are not given again are dropped.",
    type=int,
)
@option("--supersedes ID", "A memory that it replaces; repeatable.", multiple=True)
@option("--idempotency-key KEY", "A retry with the same key returns the first receipt.")
@option("--derived-from ID", "A memory it was made from; repeatable.", multiple=True)
@option("--trust", "The trust, if it is lower than that of the source.", type=_TRUSTS)
@option("--kind", "The kind of fact, if the built-in reader is not to decide.", type=_KINDS)
@option("--slot NAME", "What --kind is about, e.g. diet, home, employer.")
@option(
    "--pinned",
    "Always part of what `memorywire context` gives.",
    is_flag=True,
    default=None,
    show_default=False,
)
@review_options
@option(
    "--privacy-intent JSON",
    'A rule for this memory, e.g. {"verdict": "refuse", "contains_secret": true}.',
    type=parse_json_object,
)
@shared_for_owner
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
