"""`memorywire debts`: changes that were promised and that a store has still to write."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.cli.ledger_file import opened
from memorywire.cli.problems import STORE_FAILURE
from memorywire.cli.terminal import moment, table, terminal_width
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.model.proposal import Debt

_LIST, _PAY, _WRITE_OFF = "list", "pay", "write-off"


@click.command("debts")
@click.argument("deed", type=click.Choice([_LIST, _PAY, _WRITE_OFF]), default=_LIST)
@click.argument("change_id", metavar="[CHANGE]", required=False)
@click.argument("name", metavar="[NAME]", required=False)
@click.option("--why", metavar="TEXT", help="Why a debt is given up; the ledger keeps it.")
@of_everybody
def debts_command(
    cli: CliContext, deed: str, change_id: str | None, name: str | None, why: str | None
) -> None:
    """Show what a store is owed, pay it, or give it up.

    A change that a store missed is kept and written as soon as the store takes it, in order. `list` shows
    what waits, `pay` tries now and exits with 4 when something is left, `write-off CHANGE --why TEXT`
    gives one up for good; if several stores are owed it, NAME is the one, as the list calls it. Of every
    agent. A server that MEMORYWIRE_URL names can be asked what waits; it pays by itself.
    """
    if (deed == _WRITE_OFF) != (change_id is not None):
        raise click.UsageError("write-off needs a CHANGE, and nothing else has one")
    if deed == _PAY:
        answer = _paid(cli)
    elif change_id is not None:
        answer = _written_off(cli, change_id, name, why)
    else:
        answer = {"debts": _owed(cli)}
    cli.show(answer, lambda said: _sentences(said, cli))
    if deed == _PAY and answer["debts"]:
        raise click.exceptions.Exit(STORE_FAILURE)


def _owed(cli: CliContext) -> list[dict[str, Json]]:
    """Read from the journal alone, because the store may be what is missing; or what the server says."""
    from memorywire.journal.acts import list_outbox

    if cli.server is not None:
        with cli.client(cli.server) as client:
            return client.owed()
    try:
        with opened(cli) as book:
            return _told(book.read(list_outbox))
    except NotFound:
        return []


def _paid(cli: CliContext) -> Answer:
    with cli.memory() as memory:
        before = memory.debts()
        memory.pay_debts()
        left = memory.debts()
    return {"paid": len(before) - len(left), "debts": _told(left)}


def _written_off(cli: CliContext, change_id: str, name: str | None, why: str | None) -> Answer:
    if not why:
        raise InvalidRequest("a debt is given up for a reason", field="why", fix="say it with --why TEXT")
    with cli.memory() as memory:
        debt = memory.write_off(change_id, why=why, store=name)
        return {"written_off": _told([debt])[0], "debts": _told(memory.debts())}


def _told(debts: "Sequence[Debt]") -> list[dict[str, Json]]:
    return [debt.summary() for debt in debts]


def _sentences(answer: Answer, cli: CliContext) -> Iterator[str]:
    if "paid" in answer:
        yield f"paid {answer['paid']}, left {len(answer['debts'])}"
    if "written_off" in answer:
        given_up = answer["written_off"]
        yield f"gave up {given_up['change_id']}; {given_up['store']} will not have it"
    if not answer["debts"]:
        yield "nothing is owed"
        return
    names = ("store", "operation", "agent_id", "change_id")
    rows = [
        [
            moment(debt["at"]),
            *(debt[name] for name in names),
            str(debt["tries"]),
            moment(debt["due_at"] or None),
            debt["error"] or "",
        ]
        for debt in answer["debts"]
    ]
    headers = ["SINCE", "STORE", "OPERATION", "AGENT", "CHANGE", "TRIES", "NEXT TRY", "ERROR"]
    yield from table(headers, rows, elastic="ERROR", width=terminal_width())
    yield f"  try now with: {cli.again('debts', 'pay')}"
