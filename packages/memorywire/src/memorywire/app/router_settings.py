"""The `[router]` table of a settings file: how several stores work together."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from memorywire.app.replicas import Several
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json
from memorywire.pipeline.routing import Routing, WritePolicy
from memorywire.stores.router import DEADLINE, WRITING, Route, by_rules

KEYS = ("write", "read", "deadline", "writing", "hedge", "register", "rerank", "trim", "weights", "seals")

READS: Mapping[str, Route | None] = {"fusion": None, "rules": by_rules}

_LONGEST = 600.0

T = TypeVar("T")


def several_from(table: Mapping[str, Json], env: Mapping[str, str]) -> Several:
    """What the table says. `seals` names, for each store, the variable that holds its key."""
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise InvalidRequest(
            f"router has an unknown key {unknown[0]!r}", field="router", fix=f"known keys: {', '.join(KEYS)}"
        )
    return Several(
        routing=Routing(
            write=write_policy(env.get("MEMORYWIRE_WRITE") or table.get("write", WritePolicy.ALL)),
            register=_read(table, "register", True, _flag),
            rerank=_read(table, "rerank", True, _flag),
            trim=_read(table, "trim", 0, _count),
            weights=_read(table, "weights", {}, _weights),
        ),
        deadline=_read(table, "deadline", DEADLINE, _seconds),
        writing=_read(table, "writing", WRITING, _seconds),
        hedge=_read(table, "hedge", None, _seconds),
        seals=_keys(_read(table, "seals", {}, _texts), env),
        route=READS[_read(table, "read", "fusion", _way_to_read)],
    )


def write_policy(named: Json) -> WritePolicy:
    try:
        return WritePolicy(named)
    except ValueError:
        raise InvalidRequest(
            f"no write policy is called {named!r}", field="write", fix=f"one of: {', '.join(WritePolicy)}"
        ) from None


def _read(table: Mapping[str, Json], key: str, default: T, read: Callable[[Json], T | None]) -> T:
    if key not in table:
        return default
    value = read(table[key])
    if value is None:
        raise InvalidRequest(f"router.{key} is {table[key]!r}", field="router", fix=_WANTED[key])
    return value


def _way_to_read(value: Json) -> str | None:
    return value if isinstance(value, str) and value in READS else None


def _flag(value: Json) -> bool | None:
    return value if isinstance(value, bool) else None


def _count(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(value: Json) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and 0 < value <= _LONGEST else None


def _weights(value: Json) -> dict[str, float] | None:
    if not isinstance(value, Mapping) or not all(_is_weight(weight) for weight in value.values()):
        return None
    return {name: float(weight) for name, weight in value.items()}


def _is_weight(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST


def _texts(value: Json) -> dict[str, str] | None:
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        return None
    return dict(value)


def _keys(variables: Mapping[str, str], env: Mapping[str, str]) -> dict[str, str]:
    for store, variable in variables.items():
        if not env.get(variable):
            raise InvalidRequest(
                f"the seal of store {store} is to be in {variable}, which is not set", field="router"
            )
    return {store: env[variable] for store, variable in variables.items()}


_WANTED = {
    "read": f"one of: {', '.join(READS)}",
    "deadline": "seconds, more than 0",
    "writing": "seconds, more than 0",
    "hedge": "seconds, more than 0",
    "register": "true or false",
    "rerank": "true or false",
    "trim": "a number of stores, 0 or more",
    "weights": "a table of numbers by store name",
    "seals": "a table of variable names by store name",
}
