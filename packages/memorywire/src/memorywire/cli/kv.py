"""`memorywire kv`: a key-value store."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from memorywire.cli.context import Answer, CliContext, Render, shared
from memorywire.cli.inputs import TextCommand, limit_option, option, top_k_option
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.errors import InvalidJson, InvalidRequest, NotFound
from memorywire.model.kv import SHARED, OwnerKind
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.blocking_contracts import BlockingKeyValue

of = option(
    "--of",
    "The owner of the keys: the agent, the user (for all agents), or the tenant.",
    type=click.Choice(["agent", "user", "tenant"]),
    default="agent",
)


@click.group("kv")
def kv_command() -> None:
    """Store and read values by key."""


@kv_command.command("get")
@click.argument("key")
@of
@shared
def get(cli: CliContext, key: str, of: str) -> None:
    """Print the value of KEY."""
    from memorywire.client.kv import entry_document

    entry = _open_keys(cli, of, reads=True).get(key)
    if entry is None:
        raise NotFound("this key has no value", field="key")
    cli.show(entry_document(entry), [_format_value(entry.value)])


@kv_command.command("set")
@click.argument("key")
@click.argument("value")
@option("--text", "VALUE is text, even if it is valid JSON.", name="as_text")
@option("--ttl SECONDS", "Expire after so many seconds.", type=click.FloatRange(min=0))
@option("--embed", "Index the value for search.")
@option("--embed-text TEXT", "Text to index for search as well.")
@option("--if-version N", "Only if the key is at version N; 0: if it is new.", type=click.IntRange(0))
@of
@shared
def set_(cli: CliContext, key: str, value: str, as_text: bool, of: str, **options: Any) -> None:
    """Set KEY to VALUE: JSON if it is valid JSON, else text.

    A VALUE that begins with a brace or a bracket must be valid JSON.
    """
    content = value if as_text else _parse_value(value)
    _show_receipt(cli, of, _open_keys(cli, of).set(key, content, **options), _render_set)


@kv_command.command("incr")
@click.argument("key")
@click.argument("by", type=float, default=1)
@of
@shared
def incr(cli: CliContext, key: str, by: float, of: str) -> None:
    """Add BY (default: 1) to the number of KEY."""
    whole = int(by) if by.is_integer() else by
    receipt = _open_keys(cli, of).incr(key, whole)
    pending = "" if receipt.proposal_id is None else " once a person approves"
    _show_receipt(cli, of, receipt, [f"{_format_value(receipt.value)}{pending}"])


@kv_command.command("delete")
@click.argument("key")
@of
@shared
def delete(cli: CliContext, key: str, of: str) -> None:
    """Delete KEY."""
    receipt = _open_keys(cli, of).delete(key)
    line = "deleted" if receipt.existed else "the key does not exist"
    if receipt.proposal_id is not None:
        line = "would be deleted, once a person approves"
    _show_receipt(cli, of, receipt, [line])


@kv_command.command("list")
@click.argument("prefix", default="")
@limit_option(default=100, most=1000)
@option("--after KEY", "Start after this key.")
@of
@shared
def list_(cli: CliContext, prefix: str, limit: int, after: str | None, of: str) -> None:
    """List the keys that begin with PREFIX."""
    from memorywire.client.kv import entry_document

    page = _open_keys(cli, of, reads=True).list(prefix, limit=limit, after=after)
    more = {} if page.next is None else {"next": page.next}
    cli.show({"entries": [entry_document(entry) for entry in page], **more}, _render_entries)


@kv_command.command("search", cls=TextCommand)
@click.argument("query")
@option("--prefix TEXT", "Only keys with this prefix.", default="", show_default=False)
@top_k_option
@option("--dedup", "What to do with repetitions.", type=click.Choice(["drop", "merge", "keep"]))
@of
@shared
def search(cli: CliContext, query: str, prefix: str, top_k: int, dedup: str | None, of: str) -> None:
    """Search values by meaning."""
    from memorywire.client.kv import entry_document

    repetitions = None if dedup is None else {"mode": dedup}
    keys = _open_keys(cli, of, reads=True)
    matches = keys.search(query, prefix=prefix, top_k=top_k, dedup=repetitions)
    entries = [{**entry_document(match.entry), "score": round(match.score, 6)} for match in matches]
    degraded = list(matches.degraded)
    cli.show({"entries": entries, "repeats": matches.repeats, "degraded": degraded}, _render_entries)


@kv_command.command("stats")
@of
@shared
def stats(cli: CliContext, of: str) -> None:
    """Show the number and size of the entries, and the model of their vectors."""
    answer = _encode(_open_keys(cli, of, reads=True).stats())
    sizes = f"{answer['value_bytes']} of {answer['quota_bytes']} bytes"
    models = [
        f"{model['entries']} with vectors of {model['model']}, {model['dimension']} dimensions"
        for model in answer["models"]
    ]
    cli.show(answer, [f"{counted(answer['entries'], 'entry')}, {sizes}", *models])


@kv_command.command("reembed")
@of
@shared
def reembed(cli: CliContext, of: str) -> None:
    """Create missing vectors."""
    answer = _encode(_open_keys(cli, of).reembed())
    line = f"{counted(answer['entries'], 'entry has', 'entries have')} a vector now"
    cli.show(answer, [line])


def _open_keys(cli: CliContext, kind: str, *, reads: bool = False) -> "BlockingKeyValue":
    """Return the keys of the owner; those of a user need --user, and others must not have it."""
    memory = cli.readable_memory() if reads else cli.memory()
    if kind != OwnerKind.USER and "--user" in cli.options:
        raise InvalidRequest(
            f"keys of the {kind} belong to no user: they are neither separate nor erased with the user",
            field="user",
            fix="give --of user for the keys of that user, or leave out --user",
        )
    if kind != OwnerKind.AGENT:
        cli.refuse_scope(f"keys of a {kind} belong to no agent", names=("agent",))
    owners = {"agent": cli.settings.agent, "tenant": cli.tenant, "user": cli.settings.user}
    if (owner := owners[kind]) is None:
        raise click.UsageError("name the user with --user")
    return memory.kv.of(kind, owner)


def _show_receipt(cli: CliContext, kind: str, receipt: object, lines: Render | Iterable[str]) -> None:
    """Print a receipt, with an undo hint that finds changes of these keys."""
    answer = _encode(receipt)
    context = cli if kind == "agent" else cli.for_agent(SHARED[OwnerKind(kind)])
    context.show({**answer, "pending_approval": True} if "proposal_id" in answer else answer, lines)


def _encode(value: object) -> Answer:
    from memorywire.wire.codec import encode

    document: Answer = encode(value)
    return document


def _parse_value(text: str) -> Json:
    from memorywire.wire.strict import parse

    try:
        return parse(text)
    except InvalidJson as error:
        if text.lstrip()[:1] not in ("{", "["):
            return text
        raise InvalidRequest(
            f"VALUE is not valid JSON: {error}", field="value", fix="correct it, or give --text"
        ) from error


def _format_value(value: Json) -> str:
    import json

    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _render_set(answer: Answer) -> Iterator[str]:
    verb = "would be" if "proposal_id" in answer else "is"
    yield f"{clean(answer['key'])} {verb} at version {answer['version']}"
    if "expires_at" in answer:
        yield f"  until {format_time(answer['expires_at'])}"
    if "embed_warning" in answer:
        yield f"  stored without a vector: {answer['embed_warning']}"


def _render_entries(answer: Answer) -> Iterator[str]:
    rows = [
        [one["key"], one["version"], format_time(one["updated_at"]), _format_value(one["value"])]
        for one in answer["entries"]
    ]
    yield from format_table(["KEY", "VERSION", "UPDATED", "VALUE"], rows, empty="no keys")
    if "next" in answer:
        yield f"more with: --after {clean(answer['next'])}"
