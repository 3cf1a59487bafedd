"""Commands that end memories: `forget`, `erase`, `expire` and `merge`."""

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from memorywire.cli.context import Answer, CliContext, scoped, shared, store_names
from memorywire.cli.hints import note_filter_doubts
from memorywire.cli.ids import resolve_memory_ids
from memorywire.cli.inputs import TYPES, option, parse_json_object, review_options
from memorywire.cli.problems import REFUSED
from memorywire.cli.recall import load_contents
from memorywire.cli.terminal import clean, shorten
from memorywire.model.errors import InvalidRequest
from memorywire.model.proposal import ERASE
from memorywire.model.record import Json
from memorywire.model.requests import Action, Strategy
from memorywire.model.text import counted

_SAMPLE = 5
"""The number of affected memories that are shown with their content."""
_WIDTH = 60


@click.command("forget")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@option(
    "--filter JSON",
    "All memories that match; with IDs, only those of them that match.",
    name="filter_",
    type=parse_json_object,
)
@option("--hard", "Erase the content everywhere; cannot be undone.", name="hard_delete")
@option("--reason TEXT", "The reason, which the change records.")
@option("--dry-run", "Show what would be forgotten and change nothing.")
@option("--max-affected N", "Refuse to forget more than N.", type=int)
@option("--yes", "Do not ask before applying a filter or erasing.")
@review_options
@shared
def forget_command(
    cli: CliContext,
    ids: tuple[str, ...],
    filter_: Json,
    dry_run: bool,
    max_affected: int | None,
    yes: bool,
    **fields: Json,
) -> None:
    """Forget memories by ID or by filter.

    A forgotten memory is not recalled any more; its history stays, and an undo restores it. With --hard
    its content is erased everywhere, for good. The beginning of an ID is enough.
    """
    if not ids and filter_ is None:
        raise InvalidRequest("name IDs, or give --filter, or both", field="ids")
    memory_ids = resolve_memory_ids(cli, ids)
    request = {"ids": memory_ids, "filter": filter_, **fields}
    note_filter_doubts(cli, filter_)
    if filter_ is not None and not dry_run and not yes and max_affected is None:
        if not sys.stdin.isatty():
            raise click.UsageError("without a terminal, a filter needs --yes or --max-affected N")
        affected_ids = receipt_ids(cli.call("forget", **request, dry_run=True))
        max_affected = confirm_ids(cli, ERASE if request["hard_delete"] else "forget", affected_ids)
    elif fields["hard_delete"] and not (dry_run or yes) and sys.stdin.isatty():
        confirm_ids(cli, ERASE, memory_ids)
    answer = cli.call("forget", **request, dry_run=dry_run, max_affected=max_affected)
    affected_ids = receipt_ids(answer)
    contents = load_contents(cli, affected_ids[:_SAMPLE]) if dry_run and not cli.as_json else {}
    cli.show(answer, lambda answer: _render_forgotten(answer, contents))
    if not affected_ids:
        raise click.exceptions.Exit(REFUSED)


def ask_erase_word() -> str:
    """Ask the person at the terminal for the word `erase`; any other word aborts."""
    word: str = click.prompt("type the word erase to erase it for good", err=True, prompt_suffix=": ")
    if word.strip() != ERASE:
        raise click.Abort
    return ERASE


def confirm_ids(cli: CliContext, action: str, ids: Sequence[str]) -> int:
    """Show some of the memories, ask for confirmation, and return their number."""
    for id, content in load_contents(cli, ids[:_SAMPLE]).items():
        click.echo(_content_line(id, content), err=True)
    if len(ids) > _SAMPLE:
        click.echo(f"  and {len(ids) - _SAMPLE} more", err=True)
    if action == ERASE:
        click.echo(f"{action} {counted(len(ids), 'memory')}: this cannot be undone", err=True)
        ask_erase_word()
    else:
        click.confirm(f"{action} {counted(len(ids), 'memory')}?", abort=True, err=True)
    return len(ids)


def receipt_ids(answer: Answer) -> list[str]:
    """Return the ids of a receipt: those that were forgotten, or that would be."""
    ids: list[str] = answer.get("would_forget_ids") or answer["forgotten_ids"]
    return ids


def _render_forgotten(answer: Answer, contents: Mapping[str, str]) -> Iterator[str]:
    ids = receipt_ids(answer)
    if not ids:
        yield "nothing was found to forget"
    elif answer["pending_approval"]:
        yield f"would {'erase' if answer['hard_delete'] else 'forget'} {len(ids)}, once a person approves:"
    elif answer.get("dry_run"):
        yield f"would have {'erased' if answer['hard_delete'] else 'forgotten'} {len(ids)}:"
    else:
        yield f"{'erased' if answer['hard_delete'] else 'forgot'} {len(ids)}:"
    yield from (_content_line(id, contents.get(id, "")) for id in ids)
    yield from (f"  not found: {id}" for id in answer["missing_ids"])
    yield from (f"  {one['store']}: {one['error']}" for one in answer["stores"] if one.get("error"))


def _content_line(id: str, content: str) -> str:
    return f"  {id}  {shorten(clean(content), _WIDTH)}".rstrip()


@click.command("erase")
@click.argument("person", metavar="USER")
@option("--reason TEXT", "The reason, which stays: do not name the person in it.")
@option("--dry-run", "Show what would be erased and change nothing.")
@option("--yes", "Do not ask for confirmation.")
@scoped("agent", "tenant")
def erase_command(cli: CliContext, person: str, reason: str | None, dry_run: bool, yes: bool) -> None:
    """Erase all memories of USER, for good.

    Of every agent, unless --agent names one: current memories, earlier versions, and proposals. The ledger
    knows which these are. When none is left, the id of USER is removed from every row as well. Memories of
    other users that mention USER are not erased.
    """
    request = {**cli.typed_scope(), "user_id": person, **({} if reason is None else {"reason": reason})}
    answer = cli.memory().call("erase", request | {"dry_run": True})
    if answer["erased"] and not (dry_run or yes):
        if not sys.stdin.isatty():
            raise click.UsageError("without a terminal, an erase needs --yes")
        for line in _render_erased(answer):
            click.echo(line, err=True)
        ask_erase_word()
    if not dry_run:
        answer = cli.memory().call("erase", request)
    cli.show(answer, _render_erased)
    if not answer["erased"] and not answer["waiting"]:
        raise click.exceptions.Exit(REFUSED)


def _render_erased(answer: Answer) -> Iterator[str]:
    if not answer["erased"] and not answer["waiting"]:
        yield f"no memories of {clean(answer['user_id'])}"
        return
    if answer["dry_run"]:
        yield f"would have erased {answer['erased']} of {clean(answer['user_id'])}:"
    else:
        waiting = f"; {answer['waiting']} wait for a person" if answer["waiting"] else ""
        yield f"erased {answer['erased']} of {clean(answer['user_id'])}{waiting}:"
    for one in answer["agents"]:
        pending = ", once a person approves " + ", ".join(one["proposal_ids"]) if one["proposal_ids"] else ""
        count = len(one["erased_ids"]) + len(one["waiting_ids"])
        yield f"  {count} of agent {clean(one['agent_id'])}{pending}"
        yield from (
            f"    {store['store']}: {store['error']}" for store in one["outcomes"] if store.get("error")
        )


_ACTIONS = click.Choice([action.value for action in Action])
_DONE = {"forget": "forgot", "archive": "archived", "demote": "demoted"}


@click.command("expire")
@option("--older-than-days N", "Created at least N days ago.", type=int)
@option("--type", "Of this memory type.", name="type_", type=TYPES)
@option("--confidence-below 0..1", "With a lower confidence.", type=float)
@option("--no-recall-in-days N", "Not recalled in the last N days.", type=int)
@option("--action", "What to do with them; default: forget.", type=_ACTIONS)
@option("--dry-run", "Show what would happen and change nothing.")
@option("--max-affected N", "Refuse to change more than N.", type=int)
@option("--yes", "Do not ask for confirmation on a terminal.")
@review_options
@shared
def expire_command(
    cli: CliContext,
    type_: str | None,
    action: str | None,
    dry_run: bool,
    max_affected: int | None,
    yes: bool,
    approval_required: bool,
    reasoning: str | None,
    **conditions: Json,
) -> None:
    """Forget, archive or demote old memories.

    All conditions must hold; at least one is needed. On a terminal the command shows some of the memories
    and asks for confirmation, unless --yes or --max-affected is given.
    """
    conditions["type"] = type_
    policy = {name: value for name, value in conditions.items() if value is not None}
    if not policy:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in conditions)
        raise InvalidRequest(f"give at least one condition: {options}", field="policy")
    review = {"approval_required": approval_required, "reasoning": reasoning}
    request = {"policy": policy, "action": action, **review}
    if not (dry_run or yes) and max_affected is None and sys.stdin.isatty():
        ids = cli.call("expire", **request, dry_run=True)["matched_ids"]
        max_affected = confirm_ids(cli, action or Action.FORGET, ids) if ids else None
    answer = cli.call("expire", **request, dry_run=dry_run, max_affected=max_affected)
    cli.show(answer, _render_expired)


def _render_expired(answer: Answer) -> Iterator[str]:
    count, action = answer["matched_count"], answer.get("action_requested") or answer["action_taken"]
    if not count:
        yield "no memory matches"
    elif answer["pending_approval"]:
        yield f"would {action} {count}, once a person approves:"
    elif answer.get("dry_run"):
        yield f"would {action} {count}:"
    else:
        yield f"{_DONE[action]} {count}:"
    yield from (f"  {id}" for id in answer["matched_ids"])


_STRATEGIES = click.Choice([strategy.value for strategy in Strategy])


@click.command("merge")
@click.argument("canonical")
@click.argument("duplicates", nargs=-1, required=True, metavar="DUPLICATE...")
@option("--strategy", "What the result contains; default: keep_canonical.", type=_STRATEGIES)
@option("--if-version N", "Only if CANONICAL is at version N.", type=int)
@review_options
@shared
def merge_command(cli: CliContext, canonical: str, duplicates: tuple[str, ...], **fields: Json) -> None:
    """Merge every DUPLICATE into CANONICAL.

    The beginning of an id is enough.
    """
    canonical, *others = resolve_memory_ids(cli, [canonical, *duplicates])
    answer = cli.call("merge", canonical=canonical, duplicates=others, **fields)
    cli.show(answer, _render_merged)


def _render_merged(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        waiting = len(answer["would_merge_ids"])
        yield f"would merge {waiting} into {answer['canonical']}, once a person approves"
    else:
        yield f"merged {answer['merged_count']} into {answer['canonical']}"
    yield f"  version {answer['version']}, {answer['status']} in {store_names(answer['stores'])}"
    yield f"  strategy {answer['strategy_used']}"
