"""`memorywire operator`: users of the server and their tokens."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.app import agents_option, run_in_journal
from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import FUTURE, option, parse_future
from memorywire.cli.terminal import format_table, format_time
from memorywire.model.clock import system_clock
from memorywire.model.record import DEFAULT_TENANT, PERSON

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.journal.operators import Issued, Registry

T = TypeVar("T")

_ROLES = ("reader", "writer", "agent", "reviewer", "admin")
_expires = option(
    "--expires WHEN", f"When the token expires: {FUTURE}.", name="expires_at", type=parse_future
)


def _parse_expiry(text: str) -> int:
    from memorywire.journal.operators import NEVER

    return NEVER if text == "never" else parse_future(text)


@click.group("operator")
def operator_command() -> None:
    """Manage operators of the server and their tokens."""


@operator_command.command("add")
@click.argument("name")
@option("--role", "What the operator may do.", type=click.Choice(_ROLES), required=True)
@option(
    "--tenants PATTERN",
    "Tenants by name; * is any characters; repeatable.",
    multiple=True,
    default=(DEFAULT_TENANT,),
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
    _show_token(cli, issue)


@operator_command.command("rotate")
@click.argument("name")
@option(
    "--overlap MINUTES",
    "How long the previous tokens stay valid.",
    type=click.IntRange(0, 7 * 24 * 60),
    default=0,
)
@option(
    "--expires WHEN",
    f"When it expires: {FUTURE}, or `never`; default: as the previous token.",
    name="expires_at",
    type=_parse_expiry,
)
@without_scope
def rotate(cli: CliContext, name: str, overlap: int, expires_at: int | None) -> None:
    """Print a new token, once, and end the previous ones.

    It has the same role, tenants, agents and expiry.
    """
    overlap_ms = overlap * 60_000
    issue = _run(cli, lambda registry: registry.rotate(name, overlap_ms=overlap_ms, expires_at=expires_at))
    _show_token(cli, issue)


@operator_command.command("revoke")
@click.argument("name")
@without_scope
def revoke(cli: CliContext, name: str) -> None:
    """Revoke all tokens of an operator."""
    is_new = _run(cli, lambda registry: registry.revoke(name))
    line = f"revoked {name}" if is_new else f"{name} was revoked already"
    cli.show({"operator": name, "revoked": True, "already": not is_new}, [line])


@operator_command.command("list")
@without_scope
def list_(cli: CliContext) -> None:
    """List the operators, and when their tokens were used."""
    operators = _run(cli, lambda registry: registry.known())
    # Digests of tokens are not shown.
    token_fields = ("id", "made_at", "expires_at", "used_at", "revoked_at")
    answer: Answer = {
        "operators": [
            {
                "name": operator.name,
                "role": operator.role.value,
                "tenants": list(operator.tenants),
                "agents": list(operator.agents),
                "made_at": operator.made_at,
                "revoked_at": operator.revoked_at,
                "tokens": [{name: getattr(token, name) for name in token_fields} for token in tokens],
            }
            for operator, tokens in operators
        ]
    }
    cli.show(answer, _render_operators)


def _run(cli: CliContext, act: "Callable[[Registry], Awaitable[T]]") -> T:
    from memorywire.journal.operators import Registry

    return run_in_journal(
        cli.local_settings, lambda journal: act(Registry(journal=journal, clock=system_clock, actor=PERSON))
    )


def _show_token(cli: CliContext, issue: "Issued") -> None:
    token = issue.token
    answer: Answer = {"operator": token.operator, "token_id": token.id, "token": issue.secret}
    lines = [issue.secret]
    lines.append(f"  this is the token of {token.operator}; it is shown only once, so store it safely")
    if token.expires_at is not None:
        answer["expires_at"] = token.expires_at
        lines.append(f"  it expires at {format_time(token.expires_at)}")
    cli.show(answer, lines)


def format_tokens(tokens: list[Answer], now: int) -> str:
    """Return how many tokens are valid, and until when; `ended` if all have expired."""
    ends = [token["expires_at"] for token in tokens if token["revoked_at"] is None]
    expiries = [end for end in ends if end is None or now < end]
    if not expiries:
        return "ended" if tokens else "none"
    last = None if None in expiries else max(expiries)
    return str(len(expiries)) if last is None else f"{len(expiries)} until {format_time(last)}"


def _render_operators(answer: Answer) -> list[str]:
    rows = []
    for one in answer["operators"]:
        tokens = "revoked" if one["revoked_at"] else format_tokens(one["tokens"], system_clock())
        used_at = format_time(max((token["used_at"] or 0 for token in one["tokens"]), default=0) or None)
        rows.append(
            [one["name"], one["role"], " ".join(one["tenants"]), " ".join(one["agents"]), tokens, used_at]
        )
    headers = ["name", "role", "tenants", "agents", "tokens", "last used"]
    return format_table(headers, rows, elastic="agents", empty="no operators; the local user needs no token")


EXAMPLES = {
    "operator": ("memorywire operator add ana --role reviewer",),
    "operator add": ("memorywire operator add ana --role reviewer --expires 90d",),
    "operator rotate": ("memorywire operator rotate ana --overlap 60",),
    "operator revoke": ("memorywire operator revoke ana",),
    "operator list": ("memorywire operator list",),
}
