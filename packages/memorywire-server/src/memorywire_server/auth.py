"""Authentication: a token becomes a caller with rights, a tenant and agents."""

import asyncio
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.journal import Journal
from memorywire.journal.operators import EVERYBODY, Operator, Operators, Right, Role, Token
from memorywire.model.clock import Clock
from memorywire.model.errors import Forbidden, InvalidRequest, Unauthenticated
from memorywire.model.proposal import AGENT
from memorywire.model.record import DEFAULT_TENANT, LOCAL, Json
from memorywire.policy.patterns import names
from memorywire.runtime.http import HttpClient, HttpError

TENANT_HEADER = "Memorywire-Tenant"

_FRESH_MS = 300  # how long a revoked token may still be accepted
_USED_EVERY_MS = 60_000
_MOST_KNOWN = 1_024


class Caller(Struct, frozen=True, kw_only=True):
    """The authenticated caller: rights, tenant and agents; `everywhere` means access to every tenant.

    `tenants` are the names and patterns that the token covers. `principal` is the name of the
    credential if it differs from `name`. `owns_machine` marks a program that the user of this
    machine started, which can read the store's file anyway.
    """

    name: str
    rights: frozenset[Right]
    tenant: str
    agents: tuple[str, ...] = EVERYBODY
    everywhere: bool = False
    tenants: tuple[str, ...] = ()
    principal: str | None = None
    owns_machine: bool = False

    def require(self, right: Right, *, everywhere: bool = False) -> None:
        if right not in self.rights:
            raise Forbidden(f"this needs the right to {right}", fix="use a token with that right")
        if everywhere and not self.everywhere:
            raise Forbidden("this affects every tenant", fix="use a token that covers all tenants")

    def hears_of(self, operation: str) -> bool:
        """Return whether to show events of this operation: those of operators need access to all tenants."""
        return self.everywhere or operation != "operator"

    def require_every_agent(self) -> None:
        """Raise Forbidden if the caller is limited to some agents: the operation affects all of them."""
        if self.agents != EVERYBODY:
            raise Forbidden("this affects every agent", fix="use a token that covers all agents")

    def require_agent(self, payload: Mapping[str, Json], *, optional: bool) -> None:
        """Raise Forbidden unless a limited caller names one of its agents; reveals no other agents."""
        if self.agents == EVERYBODY:
            return
        agent = payload.get("agent_id")
        if (agent is None and optional) or (isinstance(agent, str) and not names(self.agents, agent)):
            raise Forbidden(
                "your token does not cover this agent",
                field="agent_id",
                fix="name an agent that your token covers",
            )
        team = payload.get("team")
        if isinstance(team, str) and not names(self.agents, f"team:{team}"):
            raise Forbidden(
                "your token does not cover this team", field="team", fix="ask for a token for agent team:NAME"
            )

    def require_own_id(self, payload: Mapping[str, Json]) -> None:
        """Raise Forbidden if a limited caller chooses the id of a new memory.

        Ids are unique in a tenant, so a conflict would reveal that another agent has the id. Changes
        (with `if_version`) are allowed: another agent's memory is reported as missing.
        """
        is_limited = self.agents != EVERYBODY and not self.owns_machine
        if is_limited and payload.get("id") is not None and payload.get("if_version") is None:
            raise Forbidden(
                "a token that covers only some agents cannot choose the id of a new memory",
                field="id",
                fix="leave out id; send idempotency_key to make a retry safe",
            )


ANYBODY = Caller(
    name=LOCAL, rights=frozenset(Right), tenant=DEFAULT_TENANT, everywhere=True, tenants=EVERYBODY
)
"""The local user of this machine, while there are no operators."""


class Authenticator:
    """Authenticates callers by tokens of operators or of the `provider`.

    With `trusting`, the local user needs no token while there are no operators; `home` returns the
    tenant of a request that names none.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        trusting: bool,
        provider: "Provider | None" = None,
        home: Callable[[], str] = lambda: DEFAULT_TENANT,
    ) -> None:
        self._operators = Operators(journal)
        self._clock = clock
        self._trusting = trusting and provider is None
        self._home = home
        self._oidc = None if provider is None else OidcVerifier(provider)
        self._known: dict[bytes, tuple[int, tuple[Operator, Token] | None]] = {}
        self._used: dict[str, int] = {}
        self._guarded = False
        self._looked_at: int | None = None
        self._writing: set[asyncio.Task[None]] = set()

    async def admit(self, authorization: str | None, tenant: str | None = None) -> Caller:
        """Authenticate an `Authorization` value; raises Unauthenticated, Forbidden or InvalidRequest."""
        if tenant == "":  # an empty header is an error, not a request for the default tenant
            raise InvalidRequest(
                "the tenant is empty", field=TENANT_HEADER, fix="give a name, or leave the header out"
            )
        if authorization is None:
            if self._trusting and not await self._has_operators():
                return replace(ANYBODY, tenant=tenant or self._home())
            raise _refuse_token()
        scheme, _, secret = authorization.partition(" ")
        if scheme.lower() != "bearer":
            raise _refuse_token()
        match = await self._recognise(secret.strip())
        if match is not None:
            self._note_use(match[1])
            return _caller("operator", match[0], tenant)
        bearer = None if self._oidc is None else await self._oidc.operator(secret.strip())
        if bearer is None:
            raise _refuse_token()
        return _caller("oidc", bearer, tenant)

    async def close(self) -> None:
        await asyncio.gather(*self._writing, return_exceptions=True)

    async def trusts_links(self) -> bool:
        """Return whether a one-time link signs in: only while there are no operators and no provider."""
        return self._oidc is None and not await self._has_operators()

    async def _has_operators(self) -> bool:
        """Return whether an operator was ever added; a positive result is cached for good."""
        now = self._clock()
        if not self._guarded and (self._looked_at is None or not 0 <= now - self._looked_at < _FRESH_MS):
            self._guarded = await self._operators.has_any()
            self._looked_at = now
        return self._guarded

    async def _recognise(self, secret: str) -> tuple[Operator, Token] | None:
        now, key = self._clock(), hashlib.sha256(secret.encode(errors="replace")).digest()
        read_at, match = self._known.get(key, (None, None))
        if read_at is None or not 0 <= now - read_at < _FRESH_MS:
            match = await self._operators.recognise(secret, now)
            self._known.pop(key, None)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            if match is not None:  # any number of wrong tokens must not evict valid ones
                self._known[key] = (now, match)
        return match if match is not None and match[1].holds(now) else None

    def _note_use(self, token: Token) -> None:
        """Record in the background, at most once a minute, that a token was used."""
        now = self._clock()
        if not 0 <= now - self._used.get(token.id, token.used_at or 0) < _USED_EVERY_MS:
            self._used[token.id] = now
            task = asyncio.ensure_future(self._operators.note_use(token.id, now))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)


def _caller(kind: str, operator: Operator, tenant: str | None) -> Caller:
    """Build the caller for the tenant of the token or, if it covers several, the requested one."""
    tenants, credential = operator.tenants, f"{kind}:{operator.name}"
    if tenant is None and len(tenants) == 1 and "*" not in tenants[0]:
        tenant = tenants[0]
    elif not names(tenants, tenant or DEFAULT_TENANT):
        unsaid = f"the token is of several tenants ({', '.join(tenants)}), and the request names none"
        raise Forbidden(
            unsaid if tenant is None else "your token does not cover this tenant",
            field=TENANT_HEADER,
            fix="name a tenant of the token: in the header, with ?tenant=NAME in the address, or --tenant",
        )
    acts_as_agent = operator.role is Role.AGENT
    return Caller(
        name=f"{AGENT}{operator.name}" if acts_as_agent else credential,
        principal=credential if acts_as_agent else None,
        rights=operator.rights,
        tenant=tenant or DEFAULT_TENANT,
        agents=operator.agents,
        everywhere="*" in tenants,
        tenants=tenants,
    )


def _refuse_token() -> Unauthenticated:
    """Return the same error for a missing, unknown, expired or revoked token."""
    return Unauthenticated(
        "this request has no valid token: it is missing, unknown, expired or revoked",
        fix="send the header: Authorization: Bearer mw_...; the command line takes it from MEMORYWIRE_TOKEN",
    )


# Asymmetric signatures only: whoever verifies with a shared secret could also sign.
_ALGORITHMS = ("ES256", "ES384", "EdDSA", "PS256", "RS256", "RS384", "RS512")
_FRESH_SECONDS = 300.0
_RETRY_SECONDS = 10.0  # limits the requests to the provider that tokens with invented key ids cause
_LONGEST = 8_192


class Provider(Struct, frozen=True, kw_only=True):
    """The issuer, the audience and the location of the keys: the path of a JWKS file, or its https URL.

    The claim `memorywire` grants access: `{"role": "writer", "tenants": [...], "agents":
    [...]}`. A token without tenants is rejected.
    """

    issuer: str
    audience: str
    keys: str


class OidcVerifier:
    """Verifies tokens of one provider."""

    def __init__(self, provider: Provider) -> None:
        import jwt  # installed with the extra `oidc`

        self._jwt = jwt
        self._provider = provider
        self._keys = KeySet(provider.keys, jwt)

    async def operator(self, token: str) -> Operator | None:
        """Return the operator that the token describes; None if the token is invalid for any reason."""
        if len(token) > _LONGEST or token.count(".") != 2:
            return None
        return await asyncio.to_thread(self._decode, token)

    def _decode(self, token: str) -> Operator | None:
        try:
            claims = self._jwt.decode(
                token,
                self._keys.find(token),
                algorithms=_ALGORITHMS,
                issuer=self._provider.issuer,
                audience=self._provider.audience,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (self._jwt.PyJWTError, InvalidRequest, UnicodeError, ValueError):
            return None
        grant = claims.get("memorywire")  # anything malformed is not granted
        if not isinstance(grant, dict) or grant.get("role") not in [*Role]:
            return None
        tenants: Json = grant.get("tenants")
        agents: Json = grant.get("agents", list(EVERYBODY))
        for patterns in (tenants, agents):
            if not (isinstance(patterns, list) and patterns and all(_is_name(one) for one in patterns)):
                return None
        return Operator(
            name=json.dumps(claims["sub"], ensure_ascii=True)[1:-1],
            role=Role(grant["role"]),
            made_at=0,
            tenants=tuple(tenants),
            agents=tuple(agents),
        )


def _is_name(value: Json) -> bool:
    return isinstance(value, str) and value != ""


class KeySet:
    """The public keys of a JWKS file or https URL, reloaded every five minutes.

    An unknown key id also reloads the keys of a URL, because providers rotate their keys.
    """

    def __init__(self, location: str, jwt: Any, now: Callable[[], float] = time.monotonic) -> None:
        """Raise InvalidRequest if a file cannot be read, so that a wrong path is reported at start."""
        self._location = location
        self._jwt = jwt
        self._now = now
        self._keys: dict[str | None, Any] = {}
        self._read_at = -math.inf
        self._http: HttpClient | None = None
        if location.startswith("https://"):
            self._http = HttpClient(location, timeout=10.0, max_bytes=1024 * 1024, use_proxy=True)
        else:
            self._read()

    def find(self, token: str) -> Any:
        """Return the key of the token; its key id is optional if the set has one key. Raises PyJWTError."""
        age = self._now() - self._read_at
        key_id = self._jwt.get_unverified_header(token).get("kid")
        is_new = self._http is not None and key_id not in self._keys and age >= _RETRY_SECONDS
        if age >= _FRESH_SECONDS or is_new:
            self._read()
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        if key_id not in self._keys:
            raise self._jwt.PyJWKSetError("no such key")
        return self._keys[key_id]

    def _read(self) -> None:
        try:
            keys = self._jwt.PyJWKSet.from_json(self._load()).keys
        except (OSError, ValueError, self._jwt.PyJWTError) as error:
            raise InvalidRequest(
                f"cannot read the keys in {self._location}",
                field="oidc_keys",
                fix="name a JWKS file, or an https URL",
            ) from error
        self._keys = {key.key_id: key for key in keys if key.public_key_use in ("sig", None)}
        self._read_at = self._now()

    def _load(self) -> str:
        if self._http is None:
            return Path(self._location).read_text(encoding="utf-8")
        target = urlsplit(self._location)._replace(scheme="", netloc="", fragment="").geturl()
        try:
            response = self._http.request("GET", target)
        except HttpError as error:
            raise self._jwt.PyJWKClientConnectionError(error.reason) from error
        if not response.is_ok:
            raise self._jwt.PyJWKClientConnectionError(f"HTTP {response.status}")
        return response.body.decode()
