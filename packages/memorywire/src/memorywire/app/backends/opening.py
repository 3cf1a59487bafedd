"""From a definition to a store: the key from the environment, the address admitted, the tenant kept apart."""

import asyncio
from urllib.parse import quote

from memorywire.app.backends.addresses import POSTGRES, GuardedLink, Hosts, addresses
from memorywire.app.backends.fallback import Owed, with_fallback
from memorywire.app.backends.rules import Rules
from memorywire.app.backends.tenancy import with_prefix
from memorywire.model.clock import Clock
from memorywire.model.definition import Definition, Edition, TenancyKind
from memorywire.model.errors import CapabilityUnsupported, Forbidden, InvalidRequest, StoreUnavailable
from memorywire.model.space import Space
from memorywire.policy.patterns import names
from memorywire.stores.contract import Store
from memorywire.stores.registry import known_schemes, open_store
from memorywire.stores.remote.link import locate
from memorywire.stores.remote.store import RemoteStore
from memorywire.stores.wrappers import with_breaker, with_patience
from memorywire.stores.wrappers.wrapper import with_name

PREVIEWS = frozenset({"mem9", "zep"})
"""Adapters whose contract with the product nobody could verify."""

_LOCAL = frozenset({"memory", "sqlite", "sqlite-vec", "markdown"})
_READING = 10.0
_WRITING = 30.0
_KEY = "{key}"
_OWN = "MEMORYWIRE_*"


def check(made: Definition, rules: Rules) -> None:
    """Raise before a definition is kept that may not be used here."""
    if made.kind not in (*known_schemes(), *PREVIEWS):
        raise InvalidRequest(
            "no store has this scheme", field="url", fix=f"one of: {', '.join(known_schemes())}"
        )
    _check_preview(made, rules)
    if _KEY not in made.url and made.key_env is not None:
        raise InvalidRequest(
            "the url has no place for the key", field="url", fix="write {key} where it belongs"
        )
    if _KEY in made.url and made.key_env is None and made.tenancy.kind is not TenancyKind.KEY_PER_TENANT:
        raise InvalidRequest("the url asks for a key", field="key_env", fix="name the variable that holds it")
    for variable in _variables(made):
        _refuse_unless_allowed(variable, rules)
    if made.kind not in _LOCAL:
        _hosts(rules).check(made.url.replace(_KEY, "key"))


def _refuse_unless_allowed(variable: str, rules: Rules) -> None:
    if not names(rules.keys, variable) or names([_OWN], variable):
        raise Forbidden(
            "this variable is not one that backends may use",
            field="key_env",
            fix="name it in MEMORYWIRE_BACKEND_KEYS",
        )


def _hosts(rules: Rules) -> Hosts:
    return Hosts(named=rules.hosts, resolve=rules.resolve or addresses)


def _check_preview(made: Definition, rules: Rules) -> None:
    if made.kind in PREVIEWS and not (made.preview and made.kind in rules.previews):
        raise CapabilityUnsupported(
            f"{made.kind} is a preview: nobody has verified how the product behaves",
            field="preview",
            fix=f"set preview in the definition, and MEMORYWIRE_BACKEND_PREVIEWS={made.kind}",
        )


def _variables(made: Definition) -> list[str]:
    """The variables a definition reads; of those of tenants, the pattern with any tenant in it."""
    own = [] if made.key_env is None else [made.key_env]
    if made.tenancy.kind is TenancyKind.KEY_PER_TENANT:
        own.append(made.tenancy.variable("ANY"))
    return own


async def opened(
    edition: Edition, rules: Rules, *, name: str, here: Store, owed: Owed, space: Space, clock: Clock
) -> Store:
    """The store that the definition describes, as its tenant may use it; `here` is what it falls back on."""
    made, tenant = edition.definition, edition.tenant
    await asyncio.to_thread(check, made, rules)
    url = _with_key(made, tenant, rules)
    if made.kind in ("http", "https"):
        store: Store = await RemoteStore.opened(GuardedLink(locate(url), _hosts(rules)), space)
    elif made.kind in POSTGRES:
        store = await open_store(await asyncio.to_thread(_hosts(rules).pinned, url), space=space)
    else:
        store = await open_store(url, space=space)
    guarded = with_breaker(with_patience(store, _READING, writes=_WRITING), clock=clock)
    if made.tenancy.kind is TenancyKind.SHARED_KEY_WITH_PREFIX:
        guarded = with_prefix(guarded, tenant, made.tenancy.prefix(tenant))
    named = with_name(guarded, name)
    return with_fallback(named, here, owed) if made.fallback else named


def _with_key(made: Definition, tenant: str, rules: Rules) -> str:
    """The URL with the key in it; no problem ever shows either."""
    if _KEY not in made.url:
        return made.url
    by_tenant = made.tenancy.kind is TenancyKind.KEY_PER_TENANT
    variable = made.tenancy.variable(tenant) if by_tenant else made.key_env or ""
    _refuse_unless_allowed(variable, rules)  # the name of a tenant may spell one of ours
    key = rules.env.get(variable)
    if not key:
        raise StoreUnavailable(
            f"the key of this backend is to be in {variable}, which is not set", field="key_env"
        )
    return made.url.replace(_KEY, quote(key, safe=""))
