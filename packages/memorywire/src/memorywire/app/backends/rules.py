"""What definitions of backends may use, as whoever runs this house allows it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from memorywire.model.values import dataclass

Resolve: TypeAlias = Callable[[str, int], Sequence[str]]
"""The addresses of a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What definitions may use: variables with keys, hosts that are not public, adapters in preview.

    Nothing is allowed unless it is named. Our own variables are never a backend's key. `env` is where keys
    are looked up, `resolve` resolves hosts where the system does not.
    """

    keys: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    previews: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    resolve: Resolve | None = None


def rules_from(env: Mapping[str, str]) -> Rules:
    """From MEMORYWIRE_BACKEND_KEYS, _HOSTS and _PREVIEWS: names with commas between."""
    return Rules(
        keys=_names(env, "KEYS"),
        hosts=frozenset(_names(env, "HOSTS")),
        previews=frozenset(_names(env, "PREVIEWS")),
        env=env,
    )


def _names(env: Mapping[str, str], what: str) -> tuple[str, ...]:
    given = env.get(f"MEMORYWIRE_BACKEND_{what}", "").split(",")
    return tuple(name.strip() for name in given if name.strip())
