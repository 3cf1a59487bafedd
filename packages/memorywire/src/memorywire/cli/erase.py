"""`memorywire erase`: everything that is kept of one user, for good."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import PERSON, Answer, CliContext, scoped
from memorywire.cli.forget import named_ids, typed_word
from memorywire.cli.ledger_file import opened
from memorywire.cli.problems import REFUSED
from memorywire.cli.terminal import safe
from memorywire.model.record import Json

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.journal.sqlite import SqliteJournal

_AT_ONCE = 1_000


@click.command("erase")
@click.argument("person", metavar="USER")
@click.option("--reason", metavar="TEXT", help="Why; it is kept, so let it name nobody.")
@click.option("--dry-run", is_flag=True, help="Say what would be erased and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before.")
@scoped("agent", "tenant")
def command(cli: CliContext, person: str, reason: str | None, dry_run: bool, yes: bool) -> None:
    """Erase everything that is kept of USER, for good.

    Of every agent, unless --agent names one: what is remembered, what was forgotten, replaced or merged
    before, and what waits or was rejected. The ledger knows which memories these are. Once nothing is left,
    the id of USER leaves every row as well. What memories of others say about USER is not among them.
    """
    known = _known(cli, person)
    answer = _erased(cli, person, known, dry_run=True)
    if answer["waiting"] and not dry_run:
        if not yes:
            _confirm(answer)
        answer = _erased(cli, person, known, dry_run=False, reason=reason)
    if not dry_run:
        answer |= {"renamed": _renamed(cli, person)}
    cli.show(answer, sentences)
    if not answer["erased"] and not answer["waiting"]:
        raise click.exceptions.Exit(REFUSED)


def _renamed(cli: CliContext, person: str) -> bool:
    """Take the id of the user out of every row that stays; False while something of them is kept."""
    from memorywire.cli.app import in_journal
    from memorywire.model.clock import system_clock

    async def work(journal: "SqliteJournal") -> bool:
        return await journal.forget_person((cli.tenant, person), actor=PERSON, at=system_clock())

    return in_journal(cli.here, work)


def _known(cli: CliContext, person: str) -> dict[str, list[str]]:
    """Every memory of theirs that the ledger ever heard of, by agent."""
    from memorywire.journal import ledger

    agent = cli.reach().get("agent_id")
    wanted = ledger.Filters(tenant=cli.tenant, agent=agent, user=person)
    with opened(cli) as book:
        rows = book.read(lambda db: ledger.log(db, wanted))
    found: dict[str, dict[str, None]] = {}
    for said in (row.said for row in rows):
        ids = [one["id"] for one in said.get("commitments", ())]
        ids += said.get("details", {}).get("memories", ())
        found.setdefault(said["agent"], {}).update(dict.fromkeys(ids))
    return {agent: list(ids) for agent, ids in sorted(found.items())}


def _erased(
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
    found = [one for one in done if named_ids(one)]
    erased = sum(len(one["forgotten_ids"]) for one in found)
    waiting = sum(len(one.get("would_forget_ids", ())) for one in found)
    return {"user_id": person, "dry_run": dry_run, "erased": erased, "waiting": waiting, "receipts": found}


def _confirm(answer: Answer) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("an erase without a terminal to ask needs --yes")
    for line in sentences(answer):
        click.echo(line, err=True)
    typed_word()


def sentences(answer: Answer) -> Iterator[str]:
    if not answer["erased"] and not answer["waiting"]:
        yield f"nothing is kept of {safe(answer['user_id'])}"
        return
    if answer["dry_run"]:
        yield f"would have erased {answer['erased']} of {safe(answer['user_id'])}:"
    else:
        waiting = f"; {answer['waiting']} wait for a person" if answer["waiting"] else ""
        yield f"erased {answer['erased']} of {safe(answer['user_id'])}{waiting}:"
    for one in answer["receipts"]:
        yield f"  {len(named_ids(one))} of agent {safe(one['agent_id'])}{_standing(one)}"
        yield from (
            f"    {store['store']}: {store['error']}" for store in one["stores"] if store.get("error")
        )


def _standing(receipt: Mapping[str, Json]) -> str:
    held = f", once a person approves {receipt.get('proposal_id')}"
    return held if receipt["pending_approval"] else ""
