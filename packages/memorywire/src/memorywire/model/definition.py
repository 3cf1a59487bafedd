"""A backend definition: where the memories of some agents are stored. Its digest identifies it."""

import re
from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import quote

from msgspec import Struct

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.model.secrets import mask_url

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,127}")
_PATTERN = re.compile(r"[A-Za-z0-9._-]*\{tenant_id\}[A-Za-z0-9._-]*")
_TENANT = "{tenant_id}"
_LONGEST_URL = 2_048
_LONGEST_HEALTH = 86_400


class TenancyKind(StrEnum):
    """How a backend separates tenants: by a key for each, or by a prefix under one shared key."""

    KEY_PER_TENANT = "key_per_tenant"
    SHARED_KEY_WITH_PREFIX = "shared_key_with_prefix"


class Tenancy(Struct, frozen=True, kw_only=True):
    """The separation of tenants: `pattern` is the variable with a tenant's key, or the prefix of its agents.

    It must contain the tenant, otherwise tenants would share their memories; so it has no default.
    """

    kind: TenancyKind
    pattern: str

    def prefix(self, tenant: str) -> str:
        """Return the prefix of an agent's name. A tenant contains no slash, so prefixes never collide."""
        return f"{self.pattern.replace(_TENANT, quote(tenant, safe=''))}/"

    def variable(self, tenant: str) -> str:
        """Return the name of the variable with this tenant's key."""
        name = re.sub(r"[^A-Z0-9]", "_", tenant.upper())
        return self.pattern.replace(_TENANT, name)


class Definition(Struct, frozen=True, kw_only=True):
    """A backend. `url` is that of its store, with `{key}` as the placeholder for the value of `key_env`.

    With `fallback`, the agent's memories in the default store answer while the backend fails. Its health is
    checked every `health_seconds`, never if that is 0. `preview` allows an adapter that was not tested
    against the product.
    """

    name: str
    url: str
    tenancy: Tenancy
    key_env: str | None = None
    fallback: bool = False
    health_seconds: int = 0
    preview: bool = False
    description: str = ""

    @property
    def kind(self) -> str:
        """The scheme of the store."""
        return self.url.partition("://")[0]

    def document(self) -> dict[str, Json]:
        """Return the definition as JSON, as it is stored and hashed."""
        document: dict[str, Json] = {
            "name": self.name,
            "url": self.url,
            "tenancy": {"kind": self.tenancy.kind.value, "pattern": self.tenancy.pattern},
            "fallback": self.fallback,
            "health_seconds": self.health_seconds,
            "preview": self.preview,
            "description": self.description,
        }
        return document if self.key_env is None else {**document, "key_env": self.key_env}

    def masked_document(self) -> dict[str, Json]:
        """Return the JSON for display; masks a key in the URL, which an older release accepted."""
        return {**self.document(), "url": mask_url(self.url)}


class Edition(Struct, frozen=True, kw_only=True):
    """An immutable definition; `digest` identifies it, `number` counts the editions with its name."""

    definition: Definition
    digest: str
    tenant: str
    number: int
    made_at: int
    made_by: str
    parent: str | None = None
    retired_at: int | None = None
    agents: tuple[str, ...] = ()


def definition_of(document: Mapping[str, Json]) -> Definition:
    """Parse the JSON of a definition; raises InvalidRequest with the name of the field."""
    rest = dict(document)
    tenancy = rest.pop("tenancy", None)
    if not isinstance(tenancy, Mapping) or set(tenancy) != {"kind", "pattern"}:
        raise InvalidRequest("tenancy must have only kind and pattern", field="tenancy")
    try:
        definition = Definition(
            tenancy=Tenancy(kind=TenancyKind(tenancy["kind"]), pattern=tenancy["pattern"]), **rest
        )
    except TypeError:
        raise InvalidRequest(
            "a definition needs name, url and tenancy",
            fix="optional: key_env, fallback, health_seconds, preview, description",
        ) from None
    except ValueError:
        kinds = ", ".join(TenancyKind)
        raise InvalidRequest(
            "unknown kind of tenancy", field="tenancy.kind", fix=f"one of: {kinds}"
        ) from None
    for place, holds in _claims(definition).items():
        if not holds:
            raise InvalidRequest(f"{place} is not valid", field=place, fix=_WANTED[place])
    return definition


def _claims(definition: Definition) -> dict[str, bool]:
    pattern, variable = definition.tenancy.pattern, definition.key_env
    return {
        "name": _is_text(definition.name) and bool(_NAME.fullmatch(definition.name)),
        "url": _is_text(definition.url) and "://" in definition.url and len(definition.url) <= _LONGEST_URL,
        "description": _is_text(definition.description),
        "tenancy.pattern": _is_text(pattern) and bool(_PATTERN.fullmatch(pattern)),
        "key_env": variable is None or (_is_text(variable) and bool(_VARIABLE.fullmatch(variable))),
        "fallback": isinstance(definition.fallback, bool),
        "health_seconds": type(definition.health_seconds) is int
        and 0 <= definition.health_seconds <= _LONGEST_HEALTH,
        "preview": isinstance(definition.preview, bool),
    }


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


_WANTED = {
    "name": "small letters, digits, dots and dashes, 64 at most",
    "url": "the URL of a store, {key} where the key belongs",
    "description": "text on one line",
    "tenancy.pattern": "letters, digits, dots and dashes around {tenant_id}",
    "key_env": "the name of an environment variable",
    "fallback": "true or false",
    "health_seconds": f"whole seconds from 0 to {_LONGEST_HEALTH}",
    "preview": "true or false",
}
