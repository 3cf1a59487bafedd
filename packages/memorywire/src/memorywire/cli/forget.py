"""`memorywire forget`: end memories, by id or by filter."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import PERSON, Answer, CliContext, names, scoped, shared
from memorywire.cli.hints import note_filter_doubts
from memorywire.cli.inputs import TYPES, json_object
from memorywire.cli.ledger_file import opened
from memorywire.cli.problems import REFUSED
from memorywire.cli.recall import contents_of
from memorywire.cli.terminal import safe, shortened
from memorywire.model.proposal import ERASE
from memorywire.model.record import Json
from memorywire.model.requests import Action, Strategy
from memorywire.model.text import counted

if TYPE_CHECKING:
    from memorywire.journal.journal import Journal


_SAMPLE = 5
"""How many of the memories that would go are shown with their content."""
_WIDTH = 60


@click.command("forget")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--filter",
    "filter_",
    type=json_object,
    metavar="JSON",
    help="Everything that matches; beside IDs, only those of them that match.",
)
@click.option("--hard", "hard_delete", is_flag=True, help="Erase the content everywhere; cannot be undone.")
@click.option("--reason", metavar="TEXT", help="Why; kept with the change.")
@click.option("--dry-run", is_flag=True, help="Say what would be forgotten and change nothing.")
@click.option("--max-affected", type=int, metavar="N", help="Refuse when more than N would go.")
@click.option("--yes", is_flag=True, help="Do not ask before a filter is applied, or before an erase.")
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
    """End memories by ID or by filter.

    A forgotten memory is not recalled any more; its history stays and an undo brings it back. With
    --hard its content is erased everywhere, and nothing brings it back.
    """
    request = {"ids": list(ids), "filter": filter_, **fields}
    if filter_ is not None:
        note_filter_doubts(cli, filter_)
    if filter_ is not None and not dry_run and not yes and max_affected is None:
        max_affected = _confirm_filter(cli, request)
    elif fields["hard_delete"] and not (dry_run or yes) and sys.stdin.isatty():
        confirm_ids(cli, ERASE, ids)
    answer = cli.call("forget", **request, dry_run=dry_run, max_affected=max_affected)
    found = receipt_ids(answer)
    contents = contents_of(cli, found[:_SAMPLE]) if dry_run and not cli.as_json else {}
    cli.show(answer, lambda said: _render_forgotten(said, contents))
    if not found:
        raise click.exceptions.Exit(REFUSED)


def _confirm_filter(cli: CliContext, request: dict[str, Json]) -> int:
    """How many the person at the terminal agreed to; the forget is held to that number."""
    if not sys.stdin.isatty():
        raise click.UsageError("a filter without a terminal to ask needs --yes or --max-affected N")
    ids = receipt_ids(cli.call("forget", **request, dry_run=True))
    return confirm_ids(cli, ERASE if request["hard_delete"] else "forget", ids)


def ask_erase_word() -> str:
    """What the person at the terminal types to erase for good; the word is `erase`, anything else is a no."""
    word: str = click.prompt("type the word erase to erase it for good", err=True, prompt_suffix=": ")
    if word.strip() != ERASE:
        raise click.Abort
    return ERASE


def confirm_ids(cli: CliContext, deed: str, ids: Sequence[str]) -> int:
    """How many memories to touch, after the person at the terminal has seen some and said yes."""
    for id, content in contents_of(cli, ids[:_SAMPLE]).items():
        click.echo(_content_line(id, content), err=True)
    if len(ids) > _SAMPLE:
        click.echo(f"  and {len(ids) - _SAMPLE} more", err=True)
    if deed == ERASE:
        click.echo(f"{deed} {counted(len(ids), 'memory')}: nothing brings them back", err=True)
        ask_erase_word()
    else:
        click.confirm(f"{deed} {counted(len(ids), 'memory')}?", abort=True, err=True)
    return len(ids)


def receipt_ids(answer: Answer) -> list[str]:
    """The memories that a receipt is about: those that were forgotten, or that would be."""
    ids: list[str] = answer.get("would_forget_ids") or answer["forgotten_ids"]
    return ids


def _render_forgotten(answer: Answer, contents: Mapping[str, str]) -> Iterator[str]:
    deed = "erased" if answer["hard_delete"] else "forgot"
    found = receipt_ids(answer)
    if not found:
        yield "nothing was found to forget"
    elif answer["pending_approval"]:
        yield f"would {'erase' if answer['hard_delete'] else 'forget'} {len(found)}, once a person approves:"
    elif answer.get("dry_run"):
        yield f"would have {'erased' if answer['hard_delete'] else 'forgotten'} {len(found)}:"
    else:
        yield f"{deed} {len(found)}:"
    yield from (_content_line(id, contents.get(id, "")) for id in found)
    yield from (f"  not found: {id}" for id in answer["missing_ids"])
    yield from (f"  {one['store']}: {one['error']}" for one in answer["stores"] if one.get("error"))


def _content_line(id: str, content: str) -> str:
    return f"  {id}  {shortened(safe(content), _WIDTH)}".rstrip()


_AT_ONCE = 1_000


@click.command("erase")
@click.argument("person", metavar="USER")
@click.option("--reason", metavar="TEXT", help="Why; it is kept, so let it name nobody.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before.")
@scoped("agent", "tenant")
def erase_command(cli: CliContext, person: str, reason: str | None, dry_run: bool, yes: bool) -> None:
    """Erase everything that is kept of USER, for good.

    Of every agent, unless --agent names one: what is remembered, what was forgotten, replaced or merged
    before, and what waits or was rejected. The ledger knows which memories these are. Once nothing is left,
    the id of USER leaves every row as well. What memories of others say about USER is not among them.
    """
    known = _find_memories(cli, person)
    answer = _erase_all(cli, person, known, dry_run=True)
    if answer["waiting"] and not dry_run:
        if not yes:
            _confirm_erase(answer)
        answer = _erase_all(cli, person, known, dry_run=False, reason=reason)
    if not dry_run:
        answer |= {"renamed": _remove_user_id(cli, person)}
    cli.show(answer, _render_erased)
    if not answer["erased"] and not answer["waiting"]:
        raise click.exceptions.Exit(REFUSED)


def _remove_user_id(cli: CliContext, person: str) -> bool:
    """Take the id of the user out of every row that stays; False while something of them is kept."""
    from memorywire.cli.app import run_in_journal
    from memorywire.model.clock import system_clock

    async def work(journal: "Journal") -> bool:
        return await journal.forget_person((cli.tenant, person), actor=PERSON, at=system_clock())

    return run_in_journal(cli.here, work)


def _find_memories(cli: CliContext, person: str) -> dict[str, list[str]]:
    """Every memory of theirs that the ledger ever heard of, by agent."""
    from memorywire.journal import ledger

    agent = cli.reach().get("agent_id")
    wanted = ledger.Filters(tenant=cli.tenant, agent=agent, user=person)
    with opened(cli) as book:
        rows = book.read(lambda db: ledger.filter_entries(db, wanted))
    found: dict[str, dict[str, None]] = {}
    for said in (row.said for row in rows):
        ids = [one["id"] for one in said.get("commitments", ())]
        ids += said.get("details", {}).get("memories", ())
        found.setdefault(said["agent"], {}).update(dict.fromkeys(ids))
    return {agent: list(ids) for agent, ids in sorted(found.items())}


def _erase_all(
    cli: CliContext, person: str, known: Mapping[str, list[str]], *, dry_run: bool, reason: str | None = None
) -> Answer:
    request = {"user_id": person, "hard_delete": True, "dry_run": dry_run}
    request |= {} if reason is None else {"reason": reason}
    with cli.memory() as memory:
        done = [
            memory.call("forget", {"agent_id": agent, "ids": ids[start : start + _AT_ONCE], **request})
            | {"agent_id": agent}
            for agent, ids in known.items()
            for start in range(0, len(ids), _AT_ONCE)
        ]
    found = [one for one in done if receipt_ids(one)]
    erased = sum(len(one["forgotten_ids"]) for one in found)
    waiting = sum(len(one.get("would_forget_ids", ())) for one in found)
    return {"user_id": person, "dry_run": dry_run, "erased": erased, "waiting": waiting, "receipts": found}


def _confirm_erase(answer: Answer) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("an erase without a terminal to ask needs --yes")
    for line in _render_erased(answer):
        click.echo(line, err=True)
    ask_erase_word()


def _render_erased(answer: Answer) -> Iterator[str]:
    if not answer["erased"] and not answer["waiting"]:
        yield f"nothing is kept of {safe(answer['user_id'])}"
        return
    if answer["dry_run"]:
        yield f"would have erased {answer['erased']} of {safe(answer['user_id'])}:"
    else:
        waiting = f"; {answer['waiting']} wait for a person" if answer["waiting"] else ""
        yield f"erased {answer['erased']} of {safe(answer['user_id'])}{waiting}:"
    for one in answer["receipts"]:
        yield f"  {len(receipt_ids(one))} of agent {safe(one['agent_id'])}{_pending_note(one)}"
        yield from (
            f"    {store['store']}: {store['error']}" for store in one["stores"] if store.get("error")
        )


def _pending_note(receipt: Mapping[str, Json]) -> str:
    held = f", once a person approves {receipt.get('proposal_id')}"
    return held if receipt["pending_approval"] else ""


_ACTIONS = click.Choice([action.value for action in Action])
_DONE = {"forget": "forgot", "archive": "archived", "demote": "demoted"}


@click.command("expire")
@click.option("--older-than-days", type=int, metavar="N", help="Created at least N days ago.")
@click.option("--type", "type_", type=TYPES, help="Of this kind.")
@click.option("--confidence-below", type=float, metavar="0..1", help="Less sure than this.")
@click.option("--no-recall-in-days", type=int, metavar="N", help="Not recalled in the last N days.")
@click.option("--action", type=_ACTIONS, help="What happens to them; forget when not given.")
@click.option("--dry-run", is_flag=True, help="Say what would happen and change nothing.")
@click.option("--max-affected", type=int, metavar="N", help="Refuse when more than N would be touched.")
@click.option("--yes", is_flag=True, help="Do not ask on a terminal before it is done.")
@shared
def expire_command(
    cli: CliContext,
    older_than_days: int | None,
    type_: str | None,
    confidence_below: float | None,
    no_recall_in_days: int | None,
    action: str | None,
    dry_run: bool,
    max_affected: int | None,
    yes: bool,
) -> None:
    """Forget, archive or demote by policy.

    Every condition that is given must hold; at least one is needed. On a terminal, without --yes or
    --max-affected, the first of the memories are shown, and you are asked.
    """
    conditions = {
        "older_than_days": older_than_days,
        "type": type_,
        "confidence_below": confidence_below,
        "no_recall_in_days": no_recall_in_days,
    }
    policy = {name: value for name, value in conditions.items() if value is not None}
    request = {"policy": policy, "action": action}
    if not (dry_run or yes) and max_affected is None and sys.stdin.isatty():
        found = cli.call("expire", **request, dry_run=True)["matched_ids"]
        max_affected = confirm_ids(cli, action or Action.FORGET, found) if found else None
    answer = cli.call("expire", **request, dry_run=dry_run, max_affected=max_affected)
    cli.show(answer, _render_expired)


def _render_expired(answer: Answer) -> Iterator[str]:
    count, action = answer["matched_count"], answer.get("action_requested") or answer["action_taken"]
    if not count:
        yield "nothing matches that policy"
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
@click.option("--strategy", type=_STRATEGIES, help="What survives; keep_canonical when not given.")
@click.option("--if-version", type=int, metavar="N", help="Only while CANONICAL is at version N.")
@shared
def merge_command(cli: CliContext, canonical: str, duplicates: tuple[str, ...], **fields: Json) -> None:
    """Merge every DUPLICATE into CANONICAL."""
    answer = cli.call("merge", canonical=canonical, duplicates=list(duplicates), **fields)
    cli.show(answer, _render_merged)


def _render_merged(answer: Answer) -> Iterator[str]:
    if answer["pending_approval"]:
        waiting = len(answer["would_merge_ids"])
        yield f"would merge {waiting} into {answer['canonical']}, once a person approves"
    else:
        yield f"merged {answer['merged_count']} into {answer['canonical']}"
    yield f"  version {answer['version']}, {answer['status']} in {names(answer['stores'])}"
    yield f"  strategy {answer['strategy_used']}"
