"""`memorywire expire`: end, archive or demote what a policy selects."""

import sys
from collections.abc import Iterator

import click

from memorywire.cli.context import Answer, CliContext, shared
from memorywire.cli.forget import agreed
from memorywire.cli.inputs import TYPES
from memorywire.model.requests import Action

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
def command(
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
        max_affected = agreed(cli, action or Action.FORGET, found) if found else None
    answer = cli.call("expire", **request, dry_run=dry_run, max_affected=max_affected)
    cli.show(answer, sentences)


def sentences(answer: Answer) -> Iterator[str]:
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
