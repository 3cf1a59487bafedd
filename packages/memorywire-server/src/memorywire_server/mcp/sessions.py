"""Who speaks through a connection: whose memory it is, what they may do, and who decides what is held."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.proposal import UNVERIFIED
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire_server.mcp.schemas import SCOPE

if TYPE_CHECKING:
    from memorywire_server.auth import Caller


AGENT_HEADER = "memorywire-agent"
USER_HEADER = "memorywire-user"

ELICITED = f"{UNVERIFIED}-mcp-elicitation"
"""Who answered a form of a client without a token: a person, as far as the client says."""


LEFT_OUT = "leave it out: the connection says whose memory"
CONNECTED = (
    "the connection says whose memory: over HTTP with the headers Memorywire-Agent and Memorywire-User, on a "
    "pipe with --agent and --user"
)


def reviewing(proposal: str) -> str:
    """The command that shows a proposal of the usual store."""
    return f"memorywire review show {proposal}"


class AgentSession(Struct, frozen=True, kw_only=True):
    """A connected agent. `reviewer` is the person who answers forms; with None no forms are sent.

    `verified` says that a token proved who the reviewer is: then no form has to be answered first.
    `decided_with` is the command with which a person decides about a proposal. `state` is where the HTTP
    server finds the values for its log and its metrics.
    """

    agent: str
    user: str | None
    caller: "Caller"
    reviewer: "Caller | None" = None
    verified: bool = False
    decided_with: Callable[[str], str] = reviewing
    state: dict[str, Any] = field(default_factory=dict)

    def note(self, operation: str, fields: Mapping[str, Json]) -> None:
        self.state.update(operation=operation, **fields)

    def payload(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """The arguments as a wire request about this agent's memory; no argument can name another."""
        for name in sorted(SCOPE & set(arguments)):
            raise InvalidRequest(f"unknown field {name}", field=name, fix=LEFT_OUT)
        scope = {"agent_id": self.agent} | ({} if self.user is None else {"user_id": self.user})
        return {**arguments, **scope}

    async def is_welcome(self) -> bool:
        """Whether the credential of the request is still taken, for what lasts longer than a request."""
        admit: Callable[[], Awaitable[Caller]] | None = self.state.get("admit")
        try:
            return admit is None or await admit() == self.state["caller"]
        except MemorywireError:
            return False

    @property
    def principal(self) -> str:
        """A name that is unique to this session."""
        return repr((self.caller.tenant, self.agent, self.user, self.reviewer and self.reviewer.name))


def local_session(
    agent: str,
    user: str | None,
    *,
    asking: bool,
    tenant: str = DEFAULT_TENANT,
    decided_with: Callable[[str], str] = reviewing,
) -> AgentSession:
    """Build the session of a program that the local user started for one agent."""
    from memorywire.journal.operators import Right
    from memorywire_server.auth import Caller

    use = frozenset({Right.READ, Right.WRITE})
    caller = Caller(name=f"agent:{agent}", rights=use, tenant=tenant, agents=(agent,), owns_machine=True)
    person = Caller(name=ELICITED, rights=frozenset(Right), tenant=tenant, agents=(agent,))
    reviewer = person if asking else None
    return AgentSession(agent=agent, user=user, caller=caller, reviewer=reviewer, decided_with=decided_with)


def session_of(state: dict[str, Any], headers: Mapping[str, str]) -> AgentSession:
    """Build the session of an authenticated caller, which the state of the request names.

    The agent is the one that the header names, else the only one of the credential, else the default. A
    header without a value is sent all the same: no agent has an empty name, and a user who has is only one.
    """
    from memorywire.app import DEFAULT_AGENT, LOCAL
    from memorywire.journal.operators import Right

    caller: Caller = state["caller"]
    verified = caller.name != LOCAL
    reviewer = caller if verified else replace(caller, name=ELICITED, principal=LOCAL)
    first, *others = caller.agents
    agent = headers.get(AGENT_HEADER, DEFAULT_AGENT if others or "*" in first else first)
    return AgentSession(
        agent=agent,
        user=headers.get(USER_HEADER),
        caller=replace(
            caller,
            name=f"agent:{agent}",
            rights=caller.rights & {Right.READ, Right.WRITE},
            everywhere=False,
            principal=caller.principal or caller.name,
        ),
        reviewer=reviewer if Right.REVIEW in caller.rights else None,
        verified=verified,
        state=state,
    )
