"""`memorywire operator`: who may come in through the doors, and with which token."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.app import run_in_journal, which_agents
from memorywire.cli.context import PERSON, Answer, CliContext, of_everybody
from memorywire.cli.inputs import FUTURE, ahead
from memorywire.cli.terminal import moment, table, terminal_width
from memorywire.model.clock import system_clock
from memorywire.model.record import DEFAULT_TENANT, Json

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.journal.operators import Issued, Operator, Registry, Token

T = TypeVar("T")

_ROLES = ("reader", "writer", "agent", "reviewer", "admin")
_expires = click.option(
    "--expires", "expires_at", type=ahead, metavar="WHEN", help=f"When it ends: {FUTURE}."
)


def _ahead_or_never(text: str) -> int:
    from memorywire.journal.operators import NEVER

    return NEVER if text == "never" else ahead(text)


@click.group("operator")
def operator_command() -> None:
    """Name who may use the doors, and give and take their tokens."""


@operator_command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What they may do.")
@click.option(
    "--tenants",
    multiple=True,
    default=(DEFAULT_TENANT,),
    show_default=True,
    metavar="PATTERN",
    help="Whose memories; * is any characters; repeatable.",
)
@which_agents
@_expires
@of_everybody
def add(
    cli: CliContext,
    name: str,
    role: str,
    tenants: tuple[str, ...],
    agents: tuple[str, ...],
    expires_at: int | None,
) -> None:
    """Name an operator and print a token, once.

    From the first operator on nobody comes in without a token, on the loopback address either. A reader
    recalls; a writer remembers and forgets, too; an agent does what a writer does, and policy treats it as
    a program: what it erases or takes back from a person is held; a reviewer reads and decides what is
    held; an admin does all of it and sets the rules.
    """
    from memorywire.journal.operators import Operator, Role

    named = Operator(name=name, role=Role(role), made_at=system_clock(), tenants=tenants, agents=agents)
    issued = _run(cli, lambda registry: registry.add(named, expires_at=expires_at))
    cli.show(_issued(issued), _token_lines)


@operator_command.command("rotate")
@click.argument("name")
@click.option(
    "--overlap",
    type=click.IntRange(0, 7 * 24 * 60),
    default=0,
    show_default=True,
    metavar="MINUTES",
    help="So long the tokens before it are still taken.",
)
@click.option(
    "--expires",
    "expires_at",
    type=_ahead_or_never,
    metavar="WHEN",
    help=f"When it ends: {FUTURE}, or `never`; else when the token before it would have ended.",
)
@of_everybody
def rotate(cli: CliContext, name: str, overlap: int, expires_at: int | None) -> None:
    """Print a new token, once, and end those before it.

    It has the same role, tenants and agents, and ends when the token before it would have ended.
    """
    overlap_ms = overlap * 60_000
    issued = _run(cli, lambda registry: registry.rotate(name, overlap_ms=overlap_ms, expires_at=expires_at))
    cli.show(_issued(issued), _token_lines)


@operator_command.command("revoke")
@click.argument("name")
@of_everybody
def revoke(cli: CliContext, name: str) -> None:
    """Take no token of this operator any more."""
    done = _run(cli, lambda registry: registry.revoke(name))
    said = f"revoked {name}" if done else f"{name} was revoked already"
    cli.show({"operator": name, "revoked": True, "already": not done}, lambda answer: [said])


@operator_command.command("list")
@of_everybody
def list_(cli: CliContext) -> None:
    """Show who was named, and when their tokens were used."""
    known = _run(cli, lambda registry: registry.known())
    answer: Answer = {"operators": [_operator(operator, tokens) for operator, tokens in known]}
    cli.show(answer, _lines)


def _run(cli: CliContext, act: "Callable[[Registry], Awaitable[T]]") -> T:
    from memorywire.journal.operators import Registry

    return run_in_journal(
        cli.here,
        lambda journal: act(Registry(journal=journal, clock=system_clock, actor=PERSON)),
    )


def _issued(issued: "Issued") -> Answer:
    token = issued.token
    said = {
        "operator": token.operator,
        "token_id": token.id,
        "token": issued.secret,
        "expires_at": token.expires_at,
    }
    return {name: value for name, value in said.items() if value is not None}


def _token_lines(answer: Answer) -> Iterator[str]:
    yield answer["token"]
    yield f"  this is the token of {answer['operator']}; it is shown only now, so keep it somewhere safe"
    if "expires_at" in answer:
        yield f"  it ends on {moment(answer['expires_at'])} UTC"


def _operator(operator: "Operator", tokens: "list[Token]") -> dict[str, Json]:
    return {
        "name": operator.name,
        "role": operator.role.value,
        "tenants": list(operator.tenants),
        "agents": list(operator.agents),
        "made_at": operator.made_at,
        "revoked_at": operator.revoked_at,
        "tokens": [
            {
                "id": token.id,
                "made_at": token.made_at,
                "expires_at": token.expires_at,
                "used_at": token.used_at,
                "revoked_at": token.revoked_at,
            }
            for token in tokens
        ],
    }


def tokens_taken(tokens: list[Answer], now: int) -> str:
    """How many are taken, and until when; of an operator whom none lets in, that they have ended."""
    ends = [token["expires_at"] for token in tokens if token["revoked_at"] is None]
    taken = [end for end in ends if end is None or now < end]
    if not taken:
        return "ended" if tokens else "none"
    last = None if None in taken else max(taken)
    return str(len(taken)) if last is None else f"{len(taken)} until {moment(last)}"


def _lines(answer: Answer) -> list[str]:
    if not answer["operators"]:
        return ["nobody; the local user needs no token"]
    rows = [
        [
            operator["name"],
            operator["role"],
            " ".join(operator["tenants"]),
            " ".join(operator["agents"]),
            "revoked" if operator["revoked_at"] else tokens_taken(operator["tokens"], system_clock()),
            moment(max((token["used_at"] or 0 for token in operator["tokens"]), default=0) or None),
        ]
        for operator in answer["operators"]
    ]
    headers = ["name", "role", "tenants", "agents", "tokens", "last used"]
    return table(headers, rows, elastic="agents", width=terminal_width())
