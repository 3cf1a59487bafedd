"""The wire's schemas as tools show them: whole in themselves, without the fields that say whose memory."""

from collections.abc import Mapping
from functools import cache

from memorywire import spec
from memorywire.model.record import Json

SCOPE = frozenset({"agent_id", "user_id"})
"""Fields that the connection decides, and that the model cannot choose."""

_KNOWN = frozenset({"agent_id"})
"""What an answer need not say. Which user a memory belongs to is news to an agent of several."""

_WORDS = frozenset({"title", "description", "default"})
_NAMES = frozenset({"$id", "$schema", "$defs"})


@cache
def input_schema(operation: str) -> dict[str, Json]:
    """What a tool of this name takes; shared between callers, so read only."""
    return _Whole(f"{operation}.request", SCOPE).schema()


@cache
def output_schema(operation: str) -> dict[str, Json]:
    """What a tool of this name gives back; shared between callers, so read only."""
    return _Whole(f"{operation}.response", _KNOWN).schema()


def unscoped(answer: Mapping[str, Json]) -> dict[str, Json]:
    """An answer of the wire without the agent, who knows who it is."""
    return {name: value for name, value in answer.items() if name not in _KNOWN}


class _Whole:
    """One schema with its references resolved and some fields left out.

    A reference that leads into itself stays, under `$defs`.
    """

    def __init__(self, name: str, without: frozenset[str]) -> None:
        self._name = name
        self._without = without
        self._open: list[str] = []
        self._circular: set[str] = set()

    def schema(self) -> dict[str, Json]:
        self._written(spec.schema(self._name), self._name)  # shows the circles
        whole: dict[str, Json] = self._written(spec.schema(self._name), self._name)
        shared = {_short(target): self._written(*_found(target)) for target in sorted(self._circular)}
        return {**whole, "$defs": shared} if shared else whole

    def _written(self, value: Json, home: str) -> Json:
        if isinstance(value, list):
            return [self._written(inner, home) for inner in value]
        if not isinstance(value, dict):
            return value
        own = {
            name: self._properties(inner, home) if name == "properties" else self._written(inner, home)
            for name, inner in value.items()
            if name not in _NAMES and name != "$ref"
        }
        if "required" in own:
            own["required"] = [name for name in own["required"] if name not in self._without]
        return own if "$ref" not in value else _joined(self._meant(value["$ref"], home), own)

    def _properties(self, fields: Mapping[str, Json], home: str) -> dict[str, Json]:
        kept = {name: inner for name, inner in fields.items() if name not in self._without}
        return {name: self._written(inner, home) for name, inner in kept.items()}

    def _meant(self, reference: str, home: str) -> Json:
        file, _, path = reference.partition("#")
        target = f"{file.removesuffix('.json') or home}#{path}"
        if target in self._open:
            self._circular.add(target)
        if target in self._circular:
            return {"$ref": f"#/$defs/{_short(target)}"}
        self._open.append(target)
        try:
            return self._written(*_found(target))
        finally:
            self._open.remove(target)


def _found(target: str) -> tuple[Json, str]:
    """What a reference names, and the file it stands in."""
    home, _, path = target.partition("#")
    value: Json = spec.schema(home)
    for step in path.strip("/").split("/") if path else ():
        value = value[step]
    return value, home


def _joined(meant: Mapping[str, Json], own: Mapping[str, Json]) -> dict[str, Json]:
    """Both schemas in one: the words and conditions of `own` beside those it refers to."""
    if any(name in meant for name in set(own) - _WORDS):
        return {**own, "allOf": [dict(meant), *own.get("allOf", ())]}
    return {**meant, **own}


def _short(target: str) -> str:
    return target.rpartition("/")[2]
