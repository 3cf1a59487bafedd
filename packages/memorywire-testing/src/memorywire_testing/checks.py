"""All checks of the store contract, from the modules that define them."""

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from msgspec import Struct

from memorywire.model.capabilities import Feature
from memorywire.stores.contract import Store
from memorywire_testing import filters, history, optional, scopes, search, writes
from memorywire_testing.expect import find_checks


class Check(Struct, frozen=True, kw_only=True):
    """A claim about a store; `run` raises if it does not hold."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[Store], Awaitable[None]]
    ability: type | None = None
    """An optional protocol of the contract; the check applies only to stores that implement it."""


class Lasting(Struct, frozen=True, kw_only=True):
    """A claim about a store after it is closed and opened again."""

    name: str
    requires: frozenset[Feature]
    run: Callable[[optional.Opener], Awaitable[None]]


def _build_check(run: Callable[..., Awaitable[None]]) -> Check | Lasting:
    requirements: dict[str, Any] = {"requires": frozenset(), **getattr(run, "requirements", {})}
    kind = Lasting if Feature.DURABLE in requirements["requires"] else Check
    return kind(name=run.__name__, run=run, **requirements)


_MODULES: tuple[ModuleType, ...] = (writes, scopes, filters, search, history, optional)
_ALL = [_build_check(run) for module in _MODULES for run in find_checks(module)]

CHECKS = tuple(check for check in _ALL if isinstance(check, Check) and check.ability is None)
LASTING = tuple(check for check in _ALL if isinstance(check, Lasting))
ABLE = tuple(check for check in _ALL if isinstance(check, Check) and check.ability is not None)
EVERY: tuple[Check | Lasting, ...] = (*CHECKS, *ABLE, *LASTING)
