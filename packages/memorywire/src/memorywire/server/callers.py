"""Who comes in through a door: a credential becomes a caller with rights, a tenant and agents."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from memorywire.app import LOCAL
from memorywire.journal.operators import (
    EVERYBODY,
    Operator,
    Right,
    Role,
    Token,
    any_operator,
    note_use,
    recognise,
)
from memorywire.journal.sqlite import SqliteJournal
from memorywire.model.actors import AGENT
from memorywire.model.clock import Clock
from memorywire.model.errors import Forbidden, InvalidRequest, Unauthenticated
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire.policy.patterns import names

if TYPE_CHECKING:  # only servers that know a provider read its tokens
    from memorywire.server.oidc import Passports, Provider

TENANT_HEADER = "Memorywire-Tenant"

_FRESH_MS = 300  # how long a revoked token may still be accepted
_USED_EVERY_MS = 60_000
_MOST_KNOWN = 1_024


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, as the ledger names them, and what they may do; `everywhere` is of every tenant.

    `tenants` are the names and patterns that `tenant` was chosen among. `principal` is the name of the
    credential, where the caller goes by another name.
    """

    name: str
    rights: frozenset[Right]
    tenant: str
    agents: tuple[str, ...] = EVERYBODY
    everywhere: bool = False
    tenants: tuple[str, ...] = ()
    principal: str | None = None

    def require(self, right: Right, *, everywhere: bool = False) -> None:
        if right not in self.rights:
            raise Forbidden(f"this needs the right to {right}", fix="ask with a token of another role")
        if everywhere and not self.everywhere:
            raise Forbidden(
                "this concerns every tenant", fix="ask with a token of an operator of all tenants"
            )

    def hears_of(self, operation: str) -> bool:
        """Whether the caller may hear of this: operators concern only those who may see every tenant."""
        return self.everywhere or operation != "operator"

    def require_every_agent(self) -> None:
        """Raise Forbidden for a caller limited to some agents: this holds for all agents of a tenant."""
        if self.agents != EVERYBODY:
            raise Forbidden("this concerns every agent", fix="ask with a token that is for all agents")

    def require_agent(self, payload: Mapping[str, Json], *, optional: bool) -> None:
        """Raise unless a limited caller names an agent of theirs; which others exist does not show."""
        if self.agents == EVERYBODY:
            return
        agent = payload.get("agent_id")
        if (agent is None and optional) or (isinstance(agent, str) and not names(self.agents, agent)):
            raise Forbidden("this agent is not yours", field="agent_id", fix="name an agent that is")

    def require_own_id(self, payload: Mapping[str, Json]) -> None:
        """Raise Forbidden when a limited caller chooses the id of a new memory.

        Ids are unique in a tenant, so a conflict would tell that another agent has the id. Changing a memory
        (with `if_version`) is allowed: one of another agent is answered like one that does not exist.
        """
        if self.agents != EVERYBODY and payload.get("id") is not None and payload.get("if_version") is None:
            raise Forbidden(
                "a token for some agents cannot choose the id of a new memory",
                field="id",
                fix="leave out id; send idempotency_key to make a retry safe",
            )


ANYBODY = Caller(
    name=LOCAL, rights=frozenset(Right), tenant=DEFAULT_TENANT, everywhere=True, tenants=EVERYBODY
)
"""The one user of this machine, while nobody was named operator."""


class Doorkeeper:
    """Lets callers in, with tokens of ours or of the `provider`.

    `trusting` lets the one local user in while there are no operators.
    """

    def __init__(
        self, journal: SqliteJournal, clock: Clock, *, trusting: bool, provider: "Provider | None" = None
    ) -> None:
        self._file = journal.file
        self._clock = clock
        self._trusting = trusting and provider is None
        self._passports = None if provider is None else _passports(provider)
        self._known: dict[bytes, tuple[int, tuple[Operator, Token] | None]] = {}
        self._used: dict[str, int] = {}
        self._guarded = False
        self._looked_at: int | None = None
        self._writing: set[asyncio.Task[None]] = set()

    async def admit(self, authorization: str | None, tenant: str | None = None) -> Caller:
        """The caller of an `Authorization` header; raises Unauthenticated, Forbidden or InvalidRequest."""
        if tenant == "":  # sent, and without a name: it is not the default one that was meant
            raise InvalidRequest(
                "the tenant has no name", field=TENANT_HEADER, fix="name it, or leave the header out"
            )
        if authorization is None:
            if self._trusting and not await self._is_guarded():
                return replace(ANYBODY, tenant=tenant or DEFAULT_TENANT)
            raise _unknown()
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise _unknown()
        found = await self._recognise(secret.strip())
        if found is not None:
            self._note_use(found[1])
            return _caller("operator", found[0], tenant)
        bearer = None if self._passports is None else await self._passports.operator(secret.strip())
        if bearer is None:
            raise _unknown()
        return _caller("oidc", bearer, tenant)

    async def close(self) -> None:
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def trusts_links(self) -> bool:
        """Whether a one-time link signs in: only while there is no other way to prove who somebody is."""
        return self._passports is None and not await self._is_guarded()

    async def _is_guarded(self) -> bool:
        """Whether there ever was an operator; once there was, it is not looked up again."""
        now = self._clock()
        if not self._guarded and (self._looked_at is None or not 0 <= now - self._looked_at < _FRESH_MS):
            self._guarded = await self._file.read(any_operator)
            self._looked_at = now
        return self._guarded

    async def _recognise(self, secret: str) -> tuple[Operator, Token] | None:
        now, key = self._clock(), hashlib.sha256(secret.encode(errors="replace")).digest()
        read_at, found = self._known.get(key, (None, None))
        if read_at is None or not 0 <= now - read_at < _FRESH_MS:
            found = await self._file.read(partial(recognise, secret=secret, now=now))
            self._known.pop(key, None)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if found is not None:  # wrong tokens without number must not push out those that are used
                self._known[key] = (now, found)
        return found if found is not None and found[1].holds(now) else None

    def _note_use(self, token: Token) -> None:
        """Note now and then, in the background, that a token was used; nobody waits for it."""
        now = self._clock()
        if not 0 <= now - self._used.get(token.id, token.used_at or 0) < _USED_EVERY_MS:
            self._used[token.id] = now
            task = asyncio.ensure_future(self._file.write(partial(note_use, id=token.id, at=now)))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)


def _caller(kind: str, operator: Operator, tenant: str | None) -> Caller:
    credential = f"{kind}:{operator.name}"
    acts_as_agent = operator.role is Role.AGENT
    return Caller(
        name=f"{AGENT}{operator.name}" if acts_as_agent else credential,
        principal=credential if acts_as_agent else None,
        rights=operator.rights,
        tenant=_tenant(operator, tenant),
        agents=operator.agents,
        everywhere="*" in operator.tenants,
        tenants=operator.tenants,
    )


def _passports(provider: "Provider") -> "Passports":
    from memorywire.server.oidc import Passports

    return Passports(provider)


def _tenant(operator: Operator, wanted: str | None) -> str:
    """The tenant of the credential; of one that has several, the one that the request chose among them."""
    known = operator.tenants
    if wanted is None and len(known) == 1 and "*" not in known[0]:
        return known[0]
    chosen = DEFAULT_TENANT if wanted is None else wanted
    if not names(known, chosen):
        unsaid = f"the token is of several tenants ({', '.join(known)}), and the request names none"
        raise Forbidden(
            unsaid if wanted is None else "this tenant is not yours",
            field=TENANT_HEADER,
            fix="name a tenant of the token: in the header, with ?tenant=NAME in the address, or --tenant",
        )
    return chosen


def _unknown() -> Unauthenticated:
    """The one answer for a token that is missing, unknown, ended or revoked."""
    return Unauthenticated(
        "no valid token came with this request: none, an unknown one, or one that has ended or was revoked",
        fix="send the header: Authorization: Bearer mw_...; the command line takes it from MEMORYWIRE_TOKEN",
    )
