"""Tenants under one roof: every scope is renamed on its way to a backend, and named back on its way here."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias, cast

from memorywire.model.errors import StoreCorrupt
from memorywire.model.record import DEFAULT_TENANT, Scope
from memorywire.stores.contract import Store

Rename: TypeAlias = Callable[[Scope], Scope]


def with_prefix(store: Store, tenant: str, prefix: str) -> Store:
    """The store as one tenant sees it: its agents have the prefix there, in every verb; no others show."""

    def outward(scope: Scope) -> Scope:
        if scope.tenant != tenant:
            raise StoreCorrupt("the backend of one tenant was asked for memories of another")
        return replace(scope, tenant=DEFAULT_TENANT, agent=f"{prefix}{scope.agent}")

    def homeward(scope: Scope) -> Scope:
        if not scope.agent.startswith(prefix):
            raise StoreCorrupt("the backend answered with memories of another tenant")
        return replace(scope, tenant=tenant, agent=scope.agent.removeprefix(prefix))

    # A class of its own for each: which abilities it has depends on the store inside.
    kind = type("Renamed", (_Renamed,), {})
    return cast("Store", kind(store, outward, homeward))


class _Renamed:
    """Any verb of the store inside, with scopes renamed in its arguments and in its answer."""

    def __init__(self, inner: Store, outward: Rename, homeward: Rename) -> None:
        self._inner = inner
        self._outward = outward
        self._homeward = homeward

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found) or name.startswith("_"):
            return found

        async def renamed(*arguments: Any) -> Any:
            return _mapped(await found(*_mapped(arguments, self._outward)), self._homeward)

        return renamed


def _mapped(value: Any, rename: Rename) -> Any:
    """The value with every scope in it renamed, at any depth."""
    if isinstance(value, Scope):
        return rename(value)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            field.name: mapped
            for field in fields(value)
            if (mapped := _mapped(old := getattr(value, field.name), rename)) is not old
        }
        return replace(value, **changed) if changed else value
    if isinstance(value, tuple | list):
        return _listed(value, rename)
    return value


def _listed(values: Any, rename: Rename) -> Any:
    mapped = [_mapped(value, rename) for value in values]
    if all(new is old for new, old in zip(mapped, values, strict=True)):
        return values
    return type(values)(mapped)
