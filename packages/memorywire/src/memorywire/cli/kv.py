"""`memorywire kv`: a key-value store."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.inputs import TextCommand, limit_option, option, top_k_option
from memorywire.cli.terminal import clean, format_table, format_time
from memorywire.model.errors import InvalidJson, InvalidRequest, NotFound
from memorywire.model.kv import SHARED, OwnerKind
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.blocking_contracts import BlockingKeyValue
    from memorywire.client.sync import Memory

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

    memory = cli.readable_memory()
    entry = _open_keys(cli, memory, of).get(key)
    if entry is None:
        raise NotFound("this key has no value", field="key")
    cli.show(entry_document(entry), lambda answer: [_format_value(answer["value"])])


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
def set_(
    cli: CliContext,
    key: str,
    value: str,
    as_text: bool,
    ttl: float | None,
    embed: bool,
    embed_text: str | None,
    if_version: int | None,
    of: str,
) -> None:
    """Set KEY to VALUE: JSON if it is valid JSON, else text.

    A VALUE that begins with a brace or a bracket must be valid JSON.
    """
    from memorywire.wire.codec import encode

    memory = cli.memory()
    receipt = _open_keys(cli, memory, of).set(
        key,
        value if as_text else _parse_value(value),
        ttl=ttl,
        embed=embed,
        embed_text=embed_text,
        if_version=if_version,
    )
    _owner_context(cli, of).show(_receipt(encode(receipt)), _render_set)


@kv_command.command("incr")
@click.argument("key")
@click.argument("by", type=float, default=1)
@of
@shared
def incr(cli: CliContext, key: str, by: float, of: str) -> None:
    """Add BY (default: 1) to the number of KEY."""
    from memorywire.wire.codec import encode

    whole = int(by) if by.is_integer() else by
    memory = cli.memory()
    receipt = _open_keys(cli, memory, of).incr(key, whole)
    _owner_context(cli, of).show(_receipt(encode(receipt)), _render_sum)


@kv_command.command("delete")
@click.argument("key")
@of
@shared
def delete(cli: CliContext, key: str, of: str) -> None:
    """Delete KEY."""
    from memorywire.wire.codec import encode

    memory = cli.memory()
    receipt = _open_keys(cli, memory, of).delete(key)
    _owner_context(cli, of).show(_receipt(encode(receipt)), _render_deleted)


@kv_command.command("list")
@click.argument("prefix", default="")
@limit_option(default=100, most=1000)
@option("--after KEY", "Start after this key.")
@of
@shared
def list_(cli: CliContext, prefix: str, limit: int, after: str | None, of: str) -> None:
    """List the keys that begin with PREFIX."""
    from memorywire.client.kv import entry_document

    memory = cli.readable_memory()
    page = _open_keys(cli, memory, of).list(prefix, limit=limit, after=after)
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
    memory = cli.readable_memory()
    matches = _open_keys(cli, memory, of).search(query, prefix=prefix, top_k=top_k, dedup=repetitions)
    entries = [{**entry_document(match.entry), "score": round(match.score, 6)} for match in matches]
    degraded = list(matches.degraded)
    cli.show({"entries": entries, "repeats": matches.repeats, "degraded": degraded}, _render_entries)


@kv_command.command("stats")
@of
@shared
def stats(cli: CliContext, of: str) -> None:
    """Show the number and size of the entries, and the model of their vectors."""
    from memorywire.wire.codec import encode

    memory = cli.readable_memory()
    cli.show(encode(_open_keys(cli, memory, of).stats()), _render_stats)


@kv_command.command("reembed")
@of
@shared
def reembed(cli: CliContext, of: str) -> None:
    """Create missing vectors."""
    from memorywire.wire.codec import encode

    memory = cli.memory()
    cli.show(encode(_open_keys(cli, memory, of).reembed()), _render_reembedded)


def _open_keys(cli: CliContext, memory: "Memory", kind: str) -> "BlockingKeyValue":
    """Return the keys of the owner; those of a user need --user, and others must not have it."""
    if kind != OwnerKind.USER and "--user" in cli.options:
        raise InvalidRequest(
            f"keys of the {kind} belong to no user: they would not be separate, nor erased with the user",
            field="user",
            fix="give --of user for the keys of that user, or leave out --user",
        )
    if kind != OwnerKind.AGENT:
        cli.refuse_scope(f"keys of a {kind} belong to no agent", names=("agent",))
    if kind == "agent":
        return memory.kv.of(kind, cli.settings.agent)
    if kind == "tenant":
        return memory.kv.of(kind, cli.tenant)
    if cli.settings.user is None:
        raise click.UsageError("name the user with --user")
    return memory.kv.of(kind, cli.settings.user)


def _owner_context(cli: CliContext, kind: str) -> CliContext:
    """Return the context whose undo hint finds changes of these keys."""
    return cli if kind == "agent" else cli.for_agent(SHARED[OwnerKind(kind)])


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


def _receipt(answer: Answer) -> Answer:
    return {**answer, "pending_approval": True} if "proposal_id" in answer else answer


def _format_value(value: Json) -> str:
    import json

    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _render_sum(answer: Answer) -> Iterator[str]:
    pending = " once a person approves" if "proposal_id" in answer else ""
    yield f"{_format_value(answer['value'])}{pending}"


def _render_deleted(answer: Answer) -> Iterator[str]:
    if "proposal_id" in answer:
        yield "would be deleted, once a person approves"
    else:
        yield "deleted" if answer["existed"] else "the key does not exist"


def _render_set(answer: Answer) -> Iterator[str]:
    verb = "would be" if "proposal_id" in answer else "is"
    yield f"{clean(answer['key'])} {verb} at version {answer['version']}"
    if "expires_at" in answer:
        yield f"  until {format_time(answer['expires_at'])}"
    if "embed_warning" in answer:
        yield f"  stored without a vector: {answer['embed_warning']}"


def _render_entries(answer: Answer) -> Iterator[str]:
    if not answer["entries"]:
        yield "no keys"
        return
    headers = ["KEY", "VERSION", "UPDATED", "VALUE"]
    rows = [
        [
            clean(entry["key"]),
            str(entry["version"]),
            format_time(entry["updated_at"]),
            _format_value(entry["value"]),
        ]
        for entry in answer["entries"]
    ]
    yield from format_table(headers, rows, elastic="VALUE")
    if "next" in answer:
        yield f"more with: --after {clean(answer['next'])}"


def _render_reembedded(answer: Answer) -> Iterator[str]:
    yield f"{counted(answer['entries'], 'entry has', 'entries have')} a vector now"


def _render_stats(answer: Answer) -> Iterator[str]:
    yield f"{counted(answer['entries'], 'entry')}, {answer['value_bytes']} of {answer['quota_bytes']} bytes"
    for model in answer["models"]:
        yield f"{model['entries']} with vectors of {model['model']}, {model['dimension']} dimensions"
