"""`memorywire debts`: the outbox, changes that a store has still to write."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import option
from memorywire.cli.ledger_file import open_ledger
from memorywire.cli.problems import STORE_FAILURE
from memorywire.cli.terminal import format_table, format_time
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.model.proposal import OutboxEntry

_LIST, _PAY, _WRITE_OFF = "list", "pay", "write-off"


@click.command("debts")
@click.argument("action", type=click.Choice([_LIST, _PAY, _WRITE_OFF]), default=_LIST)
@click.argument("change_id", metavar="[CHANGE]", required=False)
@click.argument("name", metavar="[NAME]", required=False)
@option("--why TEXT", "The reason for a write-off, which the ledger records.")
@without_scope
def debts_command(
    cli: CliContext, action: str, change_id: str | None, name: str | None, why: str | None
) -> None:
    """Show, deliver or drop pending writes of a store.

    A change that a store missed stays in the outbox and is delivered in order as soon as the store accepts
    it. `list` shows pending changes of all agents. `pay` delivers now, and exits with 4 if some remain.
    `write-off CHANGE --why TEXT` drops one for good; if several stores miss it, NAME selects one. A server
    (MEMORYWIRE_URL) can only list; it delivers by itself.
    """
    if (action == _WRITE_OFF) != (change_id is not None):
        raise click.UsageError("write-off needs a CHANGE, and the other actions take none")
    if action == _PAY:
        before = _list_pending(cli)  # an open memory delivers by itself: count first
        cli.memory().pay_debts()
        remaining = _summarize(cli.memory().debts())
        answer: Answer = {"paid": len(before) - len(remaining), "debts": remaining}
    elif change_id is None:
        answer = {"debts": _list_pending(cli)}
    elif not why:
        raise InvalidRequest("a write-off needs a reason", field="why", fix="give it with --why TEXT")
    else:
        entry = cli.memory().write_off(change_id, why=why, store=name)
        answer = {"written_off": entry.summary(), "debts": _summarize(cli.memory().debts())}
    cli.show(answer, lambda answer: _render(answer, cli))
    if action == _PAY and answer["debts"]:
        raise click.exceptions.Exit(STORE_FAILURE)


def _list_pending(cli: CliContext) -> list[dict[str, Json]]:
    """Return pending changes from the journal, since the store may be away, or from the server."""
    from memorywire.journal.acts import list_outbox

    if cli.server is not None:
        with cli.client(cli.server) as client:
            return client.owed()
    try:
        with open_ledger(cli) as ledger:
            return _summarize(ledger.read(list_outbox))
    except NotFound:
        return []


def _summarize(debts: "Sequence[OutboxEntry]") -> list[dict[str, Json]]:
    return [debt.summary() for debt in debts]


def _render(answer: Answer, cli: CliContext) -> Iterator[str]:
    if "paid" in answer:
        yield f"delivered {answer['paid']}, {len(answer['debts'])} pending"
    if "written_off" in answer:
        entry = answer["written_off"]
        yield f"dropped {entry['change_id']}; {entry['store']} will not get it"
    if not answer["debts"]:
        yield "nothing is pending"
        return
    names = ("store", "operation", "agent_id", "change_id", "tries")
    rows = []
    for debt in answer["debts"]:
        due_at = format_time(debt["due_at"] or None)
        rows.append([format_time(debt["at"]), *(debt[name] for name in names), due_at, debt["error"]])
    headers = ["SINCE", "STORE", "OPERATION", "AGENT", "CHANGE", "TRIES", "NEXT TRY", "ERROR"]
    yield from format_table(headers, rows)
    yield f"  deliver now with: {cli.suggest('debts', 'pay')}"
