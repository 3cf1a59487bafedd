"""`memorywire kv`: values under keys."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.terminal import moment, safe, table, terminal_width
from memorywire.model.errors import InvalidJson, InvalidRequest, NotFound
from memorywire.model.kv import SHARED, OwnerKind
from memorywire.model.record import Json
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.client.blocking_contracts import BlockingKeyValue
    from memorywire.client.sync import Memory

of = click.option(
    "--of",
    type=click.Choice(["agent", "user", "tenant"]),
    default="agent",
    show_default=True,
    help="Whose keys: the agent's, the user's whichever agent asks, or everybody's.",
)


@click.group("kv")
def kv_command() -> None:
    """Keep values under keys: what is set is what is got, or it is refused."""


@kv_command.command("get")
@click.argument("key")
@of
@shared
def get(cli: CliContext, key: str, of: str) -> None:
    """Print the value under KEY."""
    from memorywire.client.kv import entry_document

    with cli.reading() as memory:
        found = _shelf(cli, memory, of).get(key)
    if found is None:
        raise NotFound("there is nothing under this key", field="key")
    cli.show(entry_document(found), lambda answer: [_value(answer["value"])])


@kv_command.command("set")
@click.argument("key")
@click.argument("value")
@click.option("--text", "as_text", is_flag=True, help="VALUE is text, also when it reads like JSON.")
@click.option("--ttl", type=click.FloatRange(min=0), metavar="SECONDS", help="How long it is kept.")
@click.option("--embed", is_flag=True, help="Let it be found by meaning.")
@click.option("--embed-text", metavar="TEXT", help="Words it is also found by.")
@click.option(
    "--if-version", type=click.IntRange(0), metavar="N", help="Only over version N; 0: only if new."
)
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
    """Keep VALUE under KEY: JSON where it reads like JSON, else text.

    What begins with a brace or a bracket is JSON, or refused.
    """
    from memorywire.wire.codec import encode

    with cli.memory() as memory:
        kept = _shelf(cli, memory, of).set(
            key,
            value if as_text else _read(value),
            ttl=ttl,
            embed=embed,
            embed_text=embed_text,
            if_version=if_version,
        )
    _owner(cli, of).show(_receipt(encode(kept)), _kept)


@kv_command.command("incr")
@click.argument("key")
@click.argument("by", type=float, default=1)
@of
@shared
def incr(cli: CliContext, key: str, by: float, of: str) -> None:
    """Add BY (1 when not given) to the number under KEY."""
    from memorywire.wire.codec import encode

    whole = int(by) if by.is_integer() else by
    with cli.memory() as memory:
        kept = _shelf(cli, memory, of).incr(key, whole)
    _owner(cli, of).show(_receipt(encode(kept)), _sum)


@kv_command.command("delete")
@click.argument("key")
@of
@shared
def delete(cli: CliContext, key: str, of: str) -> None:
    """End the entry under KEY."""
    from memorywire.wire.codec import encode

    with cli.memory() as memory:
        done = _shelf(cli, memory, of).delete(key)
    _owner(cli, of).show(_receipt(encode(done)), _deleted)


@kv_command.command("list")
@click.argument("prefix", default="")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="At most so many."
)
@click.option("--after", metavar="KEY", help="Only keys behind this one.")
@of
@shared
def list_(cli: CliContext, prefix: str, limit: int, after: str | None, of: str) -> None:
    """Show the entries whose keys begin with PREFIX."""
    from memorywire.client.kv import entry_document

    with cli.reading() as memory:
        found = _shelf(cli, memory, of).list(prefix, limit=limit, after=after)
    more = {} if found.next is None else {"next": found.next}
    cli.show({"entries": [entry_document(entry) for entry in found], **more}, _entries)


@kv_command.command("search")
@click.argument("query")
@click.option("--prefix", default="", metavar="TEXT", help="Only keys that begin so.")
@click.option("--top-k", type=click.IntRange(1, 50), default=10, show_default=True, help="At most so many.")
@click.option("--dedup", type=click.Choice(["drop", "merge", "keep"]), help="What to do with repetitions.")
@of
@shared
def search(cli: CliContext, query: str, prefix: str, top_k: int, dedup: str | None, of: str) -> None:
    """Find entries by meaning."""
    from memorywire.client.kv import entry_document

    repetitions = None if dedup is None else {"mode": dedup}
    with cli.reading() as memory:
        found = _shelf(cli, memory, of).search(query, prefix=prefix, top_k=top_k, dedup=repetitions)
    entries = [{**entry_document(match.entry), "score": round(match.score, 6)} for match in found]
    cli.show({"entries": entries, "repeats": found.repeats, "degraded": list(found.degraded)}, _entries)


@kv_command.command("stats")
@of
@shared
def stats(cli: CliContext, of: str) -> None:
    """Show what the entries amount to, and of which model their vectors are."""
    from memorywire.wire.codec import encode

    with cli.reading() as memory:
        cli.show(encode(_shelf(cli, memory, of).stats()), _stats)


@kv_command.command("reembed")
@of
@shared
def reembed(cli: CliContext, of: str) -> None:
    """Make the vectors that entries are missing."""
    from memorywire.wire.codec import encode

    with cli.memory() as memory:
        done = _shelf(cli, memory, of).reembed()
    cli.show(encode(done), _with_vectors)


def _shelf(cli: CliContext, memory: "Memory", kind: str) -> "BlockingKeyValue":
    """The keys that are meant; a user's keys need a user, and others have none."""
    if kind != OwnerKind.USER and "--user" in cli.typed:
        raise InvalidRequest(
            f"the keys of the {kind} are of no user: they would not be kept apart, nor erased with the user",
            field="user",
            fix="say --of user for the keys of that user, or leave --user out",
        )
    if kind != OwnerKind.AGENT:
        cli.refuse_scope(f"the keys of a {kind} belong to no agent", names=("agent",))
    if kind == "agent":
        return memory.kv.of(kind, cli.settings.agent)
    if kind == "tenant":
        return memory.kv.of(kind, cli.tenant)
    if cli.settings.user is None:
        raise click.UsageError("whose keys? name the user with --user")
    return memory.kv.of(kind, cli.settings.user)


def _owner(cli: CliContext, kind: str) -> CliContext:
    """A desk whose undo hint finds what was done to these keys."""
    return cli if kind == "agent" else cli.of(SHARED[OwnerKind(kind)])


def _read(text: str) -> Json:
    from memorywire.wire.strict import parse

    try:
        return parse(text)
    except InvalidJson as error:
        if text.lstrip()[:1] not in ("{", "["):
            return text
        raise InvalidRequest(
            f"VALUE begins like JSON and is none: {error}", field="value", fix="mend it, or say --text"
        ) from error


def _receipt(answer: Answer) -> Answer:
    return {**answer, "pending_approval": True} if "proposal_id" in answer else answer


def _value(value: Json) -> str:
    import json

    return safe(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _sum(answer: Answer) -> Iterator[str]:
    waits = " once a person approves" if "proposal_id" in answer else ""
    yield f"{_value(answer['value'])}{waits}"


def _deleted(answer: Answer) -> Iterator[str]:
    if "proposal_id" in answer:
        yield "would be deleted, once a person approves"
    else:
        yield "deleted" if answer["existed"] else "there was none"


def _kept(answer: Answer) -> Iterator[str]:
    waits = "would be" if "proposal_id" in answer else "is"
    yield f"{safe(answer['key'])} {waits} at version {answer['version']}"
    if "expires_at" in answer:
        yield f"  until {moment(answer['expires_at'])}"
    if "embed_warning" in answer:
        yield f"  kept without a vector: {answer['embed_warning']}"


def _entries(answer: Answer) -> Iterator[str]:
    if not answer["entries"]:
        yield "nothing is kept under keys here"
        return
    headers = ["KEY", "VERSION", "UPDATED", "VALUE"]
    rows = [
        [safe(entry["key"]), str(entry["version"]), moment(entry["updated_at"]), _value(entry["value"])]
        for entry in answer["entries"]
    ]
    yield from table(headers, rows, elastic="VALUE", width=terminal_width())
    if "next" in answer:
        yield f"there are more: --after {safe(answer['next'])}"


def _with_vectors(answer: Answer) -> Iterator[str]:
    yield f"{counted(answer['entries'], 'entry has', 'entries have')} a vector now"


def _stats(answer: Answer) -> Iterator[str]:
    yield f"{counted(answer['entries'], 'entry')}, {answer['value_bytes']} of {answer['quota_bytes']} bytes"
    for model in answer["models"]:
        yield f"{model['entries']} with vectors of {model['model']}, {model['dimension']} dimensions"
