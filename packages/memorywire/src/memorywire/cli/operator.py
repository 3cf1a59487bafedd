"""`memorywire operator`: users of the server and their tokens."""

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.app import agents_option, run_in_journal
from memorywire.cli.context import PERSON, Answer, CliContext, without_scope
from memorywire.cli.inputs import FUTURE, parse_future
from memorywire.cli.terminal import format_table, format_time
from memorywire.model.clock import system_clock
from memorywire.model.record import DEFAULT_TENANT, Json

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.journal.operators import Issued, Operator, Registry, Token

T = TypeVar("T")

_ROLES = ("reader", "writer", "agent", "reviewer", "admin")
_expires = click.option(
    "--expires", "expires_at", type=parse_future, metavar="WHEN", help=f"When the token expires: {FUTURE}."
)


def _parse_expiry(text: str) -> int:
    from memorywire.journal.operators import NEVER

    return NEVER if text == "never" else parse_future(text)


@click.group("operator")
def operator_command() -> None:
    """Manage operators of the server and their tokens."""


@operator_command.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), required=True, help="What the operator may do.")
@click.option(
    "--tenants",
    multiple=True,
    default=(DEFAULT_TENANT,),
    show_default=True,
    metavar="PATTERN",
    help="Tenants by name; * is any characters; repeatable.",
)
@agents_option
@_expires
@without_scope
def add(
    cli: CliContext,
    name: str,
    role: str,
    tenants: tuple[str, ...],
    agents: tuple[str, ...],
    expires_at: int | None,
) -> None:
    """Add an operator and print a token, once.

    From the first operator on, every request needs a token, on the loopback address too. A reader recalls. A
    writer also remembers and forgets. An agent may do what a writer may, and the policy treats it as a
    program: its erases, and undos of a person's changes, are held. A reviewer reads and decides on held
    changes. An admin may do all of it and sets the rules.
    """
    from memorywire.journal.operators import Operator, Role

    operator = Operator(name=name, role=Role(role), made_at=system_clock(), tenants=tenants, agents=agents)
    issue = _run(cli, lambda registry: registry.add(operator, expires_at=expires_at))
    cli.show(_token_answer(issue), _render_token)


@operator_command.command("rotate")
@click.argument("name")
@click.option(
    "--overlap",
    type=click.IntRange(0, 7 * 24 * 60),
    default=0,
    show_default=True,
    metavar="MINUTES",
    help="How long the previous tokens stay valid.",
)
@click.option(
    "--expires",
    "expires_at",
    type=_parse_expiry,
    metavar="WHEN",
    help=f"When it expires: {FUTURE}, or `never`; default: as the previous token.",
)
@without_scope
def rotate(cli: CliContext, name: str, overlap: int, expires_at: int | None) -> None:
    """Print a new token, once, and end the previous ones.

    It has the same role, tenants, agents and expiry.
    """
    overlap_ms = overlap * 60_000
    issue = _run(cli, lambda registry: registry.rotate(name, overlap_ms=overlap_ms, expires_at=expires_at))
    cli.show(_token_answer(issue), _render_token)


@operator_command.command("revoke")
@click.argument("name")
@without_scope
def revoke(cli: CliContext, name: str) -> None:
    """Revoke all tokens of an operator."""
    is_new = _run(cli, lambda registry: registry.revoke(name))
    line = f"revoked {name}" if is_new else f"{name} was revoked already"
    cli.show({"operator": name, "revoked": True, "already": not is_new}, lambda answer: [line])


@operator_command.command("list")
@without_scope
def list_(cli: CliContext) -> None:
    """List the operators, and when their tokens were used."""
    operators = _run(cli, lambda registry: registry.known())
    answer: Answer = {"operators": [_operator(operator, tokens) for operator, tokens in operators]}
    cli.show(answer, _render_operators)


def _run(cli: CliContext, act: "Callable[[Registry], Awaitable[T]]") -> T:
    from memorywire.journal.operators import Registry

    return run_in_journal(
        cli.local_settings, lambda journal: act(Registry(journal=journal, clock=system_clock, actor=PERSON))
    )


def _token_answer(issue: "Issued") -> Answer:
    token = issue.token
    fields = {
        "operator": token.operator,
        "token_id": token.id,
        "token": issue.secret,
        "expires_at": token.expires_at,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _render_token(answer: Answer) -> Iterator[str]:
    yield answer["token"]
    yield f"  this is the token of {answer['operator']}; it is shown only once, so store it safely"
    if "expires_at" in answer:
        yield f"  it expires at {format_time(answer['expires_at'])}"


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


def format_tokens(tokens: list[Answer], now: int) -> str:
    """Return how many tokens are valid, and until when; `ended` if all have expired."""
    ends = [token["expires_at"] for token in tokens if token["revoked_at"] is None]
    expiries = [end for end in ends if end is None or now < end]
    if not expiries:
        return "ended" if tokens else "none"
    last = None if None in expiries else max(expiries)
    return str(len(expiries)) if last is None else f"{len(expiries)} until {format_time(last)}"


def _render_operators(answer: Answer) -> list[str]:
    if not answer["operators"]:
        return ["no operators; the local user needs no token"]
    rows = [
        [
            operator["name"],
            operator["role"],
            " ".join(operator["tenants"]),
            " ".join(operator["agents"]),
            "revoked" if operator["revoked_at"] else format_tokens(operator["tokens"], system_clock()),
            format_time(max((token["used_at"] or 0 for token in operator["tokens"]), default=0) or None),
        ]
        for operator in answer["operators"]
    ]
    headers = ["name", "role", "tenants", "agents", "tokens", "last used"]
    return format_table(headers, rows, elastic="agents")
