"""The session of a connection: whose memory it uses, its rights, and who decides about held changes."""

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
"""The actor for forms answered without a token: a person, according to the client."""


LEFT_OUT = "leave it out: the connection says whose memory"
CONNECTED = (
    "the connection says whose memory: over HTTP with the headers Memorywire-Agent and Memorywire-User, on a "
    "pipe with --agent and --user"
)


def reviewing(proposal: str) -> str:
    """Return the command that shows a proposal of the default store."""
    return f"memorywire review show {proposal}"


class AgentSession(Struct, frozen=True, kw_only=True):
    """A connected agent. `reviewer` is the person who answers forms; if None, no forms are sent.

    `verified` means that a token identified the reviewer, so that no form is needed first.
    `decided_with` returns the command to decide about a proposal. `state` passes values to the HTTP
    server for its log and its metrics.
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
        """Build a request about this agent's memory; raises InvalidRequest if an argument sets the scope."""
        for name in sorted(SCOPE & set(arguments)):
            raise InvalidRequest(f"unknown field {name}", field=name, fix=LEFT_OUT)
        scope = {"agent_id": self.agent} | ({} if self.user is None else {"user_id": self.user})
        return {**arguments, **scope}

    async def is_welcome(self) -> bool:
        """Return whether the credential is still accepted, for work that outlasts a request."""
        admit: Callable[[], Awaitable[Caller]] | None = self.state.get("admit")
        try:
            return admit is None or await admit() == self.state["caller"]
        except MemorywireError:
            return False

    @property
    def principal(self) -> str:
        """A name that identifies this session."""
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
    """Build the session of an authenticated caller, from the state of the request.

    The agent is that of the header, else the credential's only agent, else the default. An empty header
    counts as sent: it is invalid for the agent, while an empty user name is a valid one.
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
