"""Opens the store of a definition: reads its key, checks its address and separates its tenants."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app.backends.registry import Resolve, Rules
from memorywire.model.change import Change, End, EndReason
from memorywire.model.clock import Clock
from memorywire.model.definition import Definition, Edition, TenancyKind
from memorywire.model.errors import (
    CapabilityUnsupported,
    Forbidden,
    InvalidRequest,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import DEFAULT_TENANT, Record, Scope
from memorywire.model.space import Space
from memorywire.policy.patterns import names
from memorywire.stores.contract import Found, RecallCounter, Store, Tracker
from memorywire.stores.registry import known_schemes, open_store
from memorywire.stores.remote.client import Link, locate
from memorywire.stores.remote.store import open_remote
from memorywire.stores.wrappers import with_breaker, with_timeout
from memorywire.stores.wrappers.wrapper import Call, with_name, wrap

MOST_BYTES = 16 * 1024 * 1024
"""The maximum size of a response; reading stops at the limit."""


POSTGRES = frozenset({"pgvector", "postgres", "postgresql"})
_NEAR = frozenset(
    {"schema", "pool", "prepare", "notify", "stale", "sslmode", "channel_binding", "require_auth"}
    | {"connect_timeout", "application_name", "target_session_attrs"}
)
"""Options of a Postgres URL that cannot redirect it to another host, file or service."""

_UNICAST = ipaddress.IPv6Network("2000::/3")  # allocated addresses; `is_global` accepts others too
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class Hosts(Struct, frozen=True, kw_only=True):
    """The hosts that a backend may use: those with public addresses, and those in `named`.

    `resolve` returns the addresses of a host.
    """

    named: frozenset[str]
    resolve: Resolve

    def check(self, url: str) -> None:
        """Raise for a URL that a backend may not use; its addresses are checked again on each use."""
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            raise InvalidRequest("this is not a URL", field="url") from None
        if host is not None:
            self.resolve_public(host, port or 443)
        elif parts.scheme in POSTGRES | {"http", "https"}:
            raise InvalidRequest("the URL does not name a host", field="url")
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        far = sorted(options.keys() - _NEAR) if parts.scheme in POSTGRES else []
        if far:
            fix = f"there are: {', '.join(sorted(_NEAR))}"
            raise InvalidRequest(f"a backend cannot have the option {far[0]}", field="url", fix=fix)

    def pin_address(self, url: str) -> str:
        """Add the checked address to a Postgres URL, so that the driver does not resolve the host again."""
        parts = urlsplit(url)
        if parts.hostname is None or parts.hostname in self.named:
            return url
        address = self.resolve_public(parts.hostname, parts.port or 5432)
        options = [*parse_qsl(parts.query), ("hostaddr", address)]
        return parts._replace(query=urlencode(options, quote_via=quote)).geturl()

    def resolve_public(self, host: str, port: int) -> str:
        """Return an address of the host; raises Forbidden if any of its addresses is not public."""
        addresses = self.resolve(host, port)
        if not addresses:
            raise StoreUnavailable(f"{host} has no address")
        if host not in self.named and not all(_is_public(address) for address in addresses):
            fix = "name the host in MEMORYWIRE_BACKEND_HOSTS if it is meant"
            raise Forbidden(f"{host} is not a public address", field="url", fix=fix)
        return addresses[0]


def addresses(host: str, port: int) -> list[str]:
    """Return the addresses of a host from the system's resolver; raises StoreUnavailable."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StoreUnavailable(f"{host} cannot be resolved") from error
    return [str(place[0]) for *_, place in infos]


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        # The IPv4 address that it embeds, if a gateway would translate it.
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if ip in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        if inner is None:
            return ip in _UNICAST and ip.is_global
        ip = inner
    return ip.is_global and not ip.is_multicast


T = TypeVar("T")


Owed: TypeAlias = Callable[[], Awaitable[Sequence[Change]]]
"""Returns the changes that the store has not received yet."""


def with_fallback(store: Store, here: Store, pending: Owed) -> Store:
    """Return the store with a fallback: when a read of it fails, `here` answers.

    It satisfies FallsBack, so that a recall can report which store answered. A change first ends in `here`
    the memories that it deletes or replaces, even while it is pending for the store. So a fallback never
    returns a deleted memory: `here` may have fewer memories than the backend, never more.
    """
    kind = type("WithFallback", (_WithFallback,), {})
    return cast("Store", kind(store, here, pending))


class _WithFallback:
    def __init__(self, inner: Store, here: Store, pending: Owed) -> None:
        self._inner = inner
        self._here = here
        self._owed = pending
        self._ended: set[str] = set()

    async def write(self, change: Change) -> int:
        await self._end_here(change)
        return await self._inner.write(change)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        return await self._either(lambda store: store.get(scope, ids))

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        return await self._either(lambda store: store.find(where, after, limit))

    async def count(self, where: Where) -> int:
        return await self._either(lambda store: store.count(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        return [*(await self.search_either(query, limit)).hits]

    async def search_either(self, query: Query, limit: int) -> Found:
        name = self._inner.name
        try:
            return Found(store=name, hits=tuple(await self._inner.search(query, limit)))
        except StoreError as error:
            await self._catch_up()
            return Found(store=name, hits=tuple(await self._here.search(query, limit)), error=error)

    async def duplicate(self, record: Record, at: int) -> Record | None:
        return await self._either(lambda store: store.duplicate(record, at))

    async def _either(self, ask: Callable[[Store], Awaitable[T]]) -> T:
        try:
            return await ask(self._inner)
        except StoreError:
            await self._catch_up()
            return await ask(self._here)

    async def _catch_up(self) -> None:
        for change in await self._owed():
            await self._end_here(change)

    async def _end_here(self, change: Change) -> None:
        if change.id in self._ended:
            return
        ids = [*(end.id for end in change.end), *change.erase, *(put.record.id for put in change.put)]
        records = await self._here.get(change.scope, ids)
        if records or change.erase:  # apply its deletions only, not its puts
            reasons = {end.id: end.reason for end in change.end}
            ends = tuple(
                End(id=record.id, version=record.version, reason=reasons.get(record.id, EndReason.REPLACED))
                for record in records
                if record.id not in change.erase
            )
            part = replace(change, id=f"{change.id}-here", put=(), end=ends)
            await self._here.write(replace(part, key=None, fingerprint=None, about=None))
        self._ended.add(change.id)

    async def _touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        """Count a recall in the store that answered it."""
        try:
            await cast("Tracker", self._inner).touch(scope, ids, at)
        except StoreError:
            if isinstance(self._here, Tracker):
                await self._here.touch(scope, ids, at)

    async def _recalls(self, records: Sequence[Record]) -> Sequence[int]:
        try:
            return await cast("RecallCounter", self._inner).recalls(records)
        except StoreError:
            here = self._here
            return await here.recalls(records) if isinstance(here, RecallCounter) else [0] * len(records)

    def __getattr__(self, name: str) -> Any:
        """Delegate optional methods to the wrapped store, so that only those it has exist."""
        attribute = getattr(self._inner, name)
        return {"touch": self._touch, "recalls": self._recalls}.get(name, attribute)


Rename: TypeAlias = Callable[[Scope], Scope]


def with_prefix(store: Store, tenant: str, prefix: str) -> Store:
    """Return one tenant's view of a shared store: every method adds and removes its agents' prefix."""

    def outward(scope: Scope) -> Scope:
        if scope.tenant != tenant:
            raise StoreCorrupt("the backend of one tenant received a request for another")
        return replace(scope, tenant=DEFAULT_TENANT, agent=f"{prefix}{scope.agent}")

    def homeward(scope: Scope) -> Scope:
        if not scope.agent.startswith(prefix):
            raise StoreCorrupt("the backend answered with memories of another tenant")
        return replace(scope, tenant=tenant, agent=scope.agent.removeprefix(prefix))

    # A new class each time: protocol checks are cached by class, and depend on the wrapped store.
    kind = type("Renamed", (_Renamed,), {})
    return cast("Store", kind(store, outward, homeward))


class _Renamed:
    """Delegates every method to the wrapped store, with scopes renamed in arguments and results."""

    def __init__(self, inner: Store, outward: Rename, homeward: Rename) -> None:
        self._inner = inner
        self._outward = outward
        self._homeward = homeward

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._inner, name)
        if not callable(attribute) or name.startswith("_"):
            return attribute

        async def rename(*arguments: Any) -> Any:
            return _map_value(await attribute(*_map_value(arguments, self._outward)), self._homeward)

        return rename


def _map_value(value: Any, rename: Rename) -> Any:
    """Return the value with every scope in it renamed, at any depth."""
    if isinstance(value, Scope):
        return rename(value)
    if isinstance(value, Struct):
        new_fields = {
            name: new_value
            for name in value.__struct_fields__
            if (new_value := _map_value(old := getattr(value, name), rename)) is not old
        }
        return replace(value, **new_fields) if new_fields else value
    if isinstance(value, tuple | list):
        new_values = [_map_value(one, rename) for one in value]
        is_same = all(new is old for new, old in zip(new_values, value, strict=True))
        return value if is_same else type(value)(new_values)
    return value


PREVIEWS = frozenset({"mem9", "zep"})
"""Adapters that could not be verified against the product."""

_LOCAL = frozenset({"memory", "sqlite", "sqlite-vec", "markdown"})
_READING = 10.0
_WRITING = 30.0
_KEY = "{key}"
_OWN = "MEMORYWIRE_*"


def check(definition: Definition, rules: Rules) -> None:
    """Raise unless the rules allow this definition; called before it is stored and when it is opened."""
    if definition.kind not in (*known_schemes(), *PREVIEWS):
        raise InvalidRequest(
            "no store has this URL scheme", field="url", fix=f"one of: {', '.join(known_schemes())}"
        )
    if definition.kind in PREVIEWS and not (definition.preview and definition.kind in rules.previews):
        raise CapabilityUnsupported(
            f"{definition.kind} is a preview: it was not tested against the product",
            field="preview",
            fix=f"set preview in the definition, and MEMORYWIRE_BACKEND_PREVIEWS={definition.kind}",
        )
    # The variables that it reads; for a key by tenant, the pattern with an example tenant.
    by_tenant = definition.tenancy.kind is TenancyKind.KEY_PER_TENANT
    variables = [definition.tenancy.variable("ANY")] if by_tenant else []
    if definition.key_env is not None:
        variables.insert(0, definition.key_env)
        if _KEY not in definition.url:
            fix = "write {key} where it belongs"
            raise InvalidRequest("the URL has no placeholder for the key", field="url", fix=fix)
    if _KEY in definition.url and not variables:
        raise InvalidRequest(
            "the URL needs a key", field="key_env", fix="name the environment variable that has it"
        )
    for variable in variables:
        _refuse_unless_allowed(variable, rules)
    if definition.kind not in _LOCAL:
        _hosts(rules).check(definition.url.replace(_KEY, "key"))


def _refuse_unless_allowed(variable: str, rules: Rules) -> None:
    if not names(rules.keys, variable) or names([_OWN], variable):
        fix = "name it in MEMORYWIRE_BACKEND_KEYS"
        raise Forbidden("backends may not use this environment variable", field="key_env", fix=fix)


def _hosts(rules: Rules) -> Hosts:
    return Hosts(named=rules.hosts, resolve=rules.resolve or addresses)


async def open_backend(
    edition: Edition, rules: Rules, *, name: str, here: Store, owed: Owed, space: Space, clock: Clock
) -> Store:
    """Open the store of a definition for its tenant; `here` is the fallback, if the definition wants one."""
    definition, tenant = edition.definition, edition.tenant
    await asyncio.to_thread(check, definition, rules)
    url = definition.url
    if _KEY in url:  # no error may show the key, nor the URL with it
        by_tenant = definition.tenancy.kind is TenancyKind.KEY_PER_TENANT
        variable = definition.tenancy.variable(tenant) if by_tenant else definition.key_env or ""
        _refuse_unless_allowed(variable, rules)  # a tenant's name may form one of our variables
        key = rules.env.get(variable)
        if not key:
            detail = f"the key of this backend is to be in {variable}, which is not set"
            raise StoreUnavailable(detail, field="key_env")
        url = url.replace(_KEY, quote(key, safe=""))
    if definition.kind in ("http", "https"):
        link = Link(locate(url), most_bytes=MOST_BYTES, resolve=_hosts(rules).resolve_public)
        store = await open_remote(link, space)
    elif definition.kind in POSTGRES:
        store = await open_store(await asyncio.to_thread(_hosts(rules).pin_address, url), space=space)
    else:
        store = await open_store(url, space=space)
    safe_store = with_breaker(with_timeout(store, _READING, writes=_WRITING), clock=clock)
    if definition.tenancy.kind is TenancyKind.SHARED_KEY_WITH_PREFIX:
        safe_store = with_prefix(safe_store, tenant, definition.tenancy.prefix(tenant))
    named_store = with_name(safe_store, name)
    return with_fallback(named_store, here, owed) if definition.fallback else named_store


def answer_from(here: Store, name: str, owed: Owed, error: StoreError) -> Store:
    """Return a stand-in for a backend that cannot be opened: `here` answers reads, writes stay pending.

    It has the features and optional methods of `here`, because those of the backend are unknown. It must
    not be closed: that would close `here`.
    """

    async def refuse(verb: str, call: Call[Any]) -> Any:
        raise error

    return with_fallback(wrap(here, refuse, name=name), here, owed)
