"""`memorywire share`, `unshare` and `shares`: what agents lend to each other."""

from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared, store_names
from memorywire.cli.ids import resolve_memory_ids
from memorywire.cli.inputs import TYPES, option, parse_future, review_options
from memorywire.cli.terminal import format_table, format_time
from memorywire.model.record import Json


@click.command("share")
@click.argument("borrower")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@option("--type TYPE", "Only memories of this type; repeatable.", name="types", type=TYPES, multiple=True)
@option("--tag TAG", "Only memories with this tag, or another one that is given.", name="tags", multiple=True)
@option("--expires WHEN", "The end of the grant, such as 7d.", name="expires_at", type=parse_future)
@review_options
@shared
def share_command(cli: CliContext, borrower: str, ids: tuple[str, ...], **fields: Json) -> None:
    """Let the agent BORROWER recall memories of this agent, until `memorywire unshare`.

    Name memories by ID, by type or by tag; types and tags also cover later memories. Memories of a user are
    lent only with --user. The beginning of an ID is enough.
    """
    selection = {name: [*fields.pop(name)] or None for name in ("types", "tags")}
    memory_ids = resolve_memory_ids(cli, ids) or None
    cli.show(cli.call("share", borrower=borrower, ids=memory_ids, **selection, **fields), _render_shared)


@click.command("unshare")
@click.argument("share_id", metavar="SHARE")
@review_options
@shared
def unshare_command(cli: CliContext, share_id: str, **fields: Json) -> None:
    """Revoke a grant of this agent at once; `memorywire shares` lists them."""
    cli.show(cli.call("unshare", share_id=share_id, **fields), _render_revoked)


@click.command("shares")
@shared
def shares_command(cli: CliContext) -> None:
    """List the grants in force that this agent gave, and those that it was given."""
    cli.show(cli.call("shares"), _render_shares)


def _render_shared(answer: Answer) -> Iterator[str]:
    return _render(answer, "would lend" if answer["pending_approval"] else "lends")


def _render_revoked(answer: Answer) -> Iterator[str]:
    return _render(answer, "would revoke the grant" if answer["pending_approval"] else "revoked the grant")


def _render(answer: Answer, verb: str) -> Iterator[str]:
    yield f"{verb} to {answer['borrower']}: {answer['share_id']}"
    if answer["pending_approval"]:
        yield "  once a person approves"
    elif answer["status"] == "duplicate":
        yield "  it was in force already"
    else:
        yield f"  {answer['status']} in {store_names(answer['stores'])}"


def _render_shares(answer: Answer) -> Iterator[str]:
    if not answer["items"]:
        yield "nothing is lent"
        return
    rows = [
        [one["share_id"], one["agent_id"], one["borrower"], _describe(one), end and format_time(end)]
        for one in answer["items"]
        for end in [one.get("expires_at")]
    ]
    yield from format_table(["SHARE", "LENDER", "BORROWER", "WHAT", "UNTIL"], rows)


def _describe(grant: Answer) -> str:
    user = [f"user {grant['user_id']}"] if "user_id" in grant else []
    parts = [f"{name} {', '.join(grant[name])}" for name in ("types", "tags", "ids") if grant[name]]
    return "; ".join(user + parts)
