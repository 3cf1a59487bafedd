"""The wire's schemas for tools: self-contained, and without the fields that select whose memory it is."""

from collections.abc import Mapping
from functools import cache

from memorywire.model.record import Json
from memorywire.wire import spec

SCOPE = frozenset({"agent_id", "user_id", "scope", "team", "run_id", "trace_id"})
"""Fields that the connection sets and the model cannot choose."""

_KNOWN = frozenset({"agent_id"})
"""Fields that answers omit. `user_id` stays, since an agent may have several users."""

_OPAQUE = frozenset({"privacy_intent"})
_MOMENT = "epoch milliseconds"
_WORDING: Mapping[str, str] = {
    "type": "semantic: a fact; episodic: an event; procedural: a way of doing; emotional: a feeling",
    "remember.content": "text; an object if procedural",
    "metadata": "free-form facts, which filters can read",
    "remember.confidence": "0 to 1",
    "source": "where it comes from: a person, tool, document",
    "expires_at": f"{_MOMENT}, in the future",
    "occurred_at": f"when it happened; {_MOMENT}",
    "as_of": f"memory as it was then; {_MOMENT}",
    "approval_required": "hold it for a person",
    "remember.id": "to choose the id or replace that memory",
    "idempotency_key": "a retry with it writes nothing",
    "session_id": "the conversation",
    "supersedes": "ids that this replaces",
    "derived_from": "ids that this was made from",
    "remember.if_version": "replace only this version of id",
    "merge.if_version": "only if canonical has this version",
    "kind": "kind of fact, if known",
    "slot": "what the fact is about, as diet or home; needs kind",
    "privacy_intent": 'a rule that can only tighten, as {"verdict": "hold"}',
    "pinned": "always part of a context",
    "prompt": "what the person asks for",
    "messages": "the conversation so far, instead",
    "budget": "tokens, default 512",
    "recent": "also so many last turns",
    "query": "what to look for, in words",
    "k": "at most so many, default 5",
    "hops": "links to follow, 0 to 3",
    "filter": 'as {"tags": "work"} or {"metadata.n": {"gt": 1}}; and, or, not combine',
    "min_relevance": "auto, off, or 0 to 1",
    "explain": "show signals and near misses",
    "quorum_k": "found by so many stores",
    "max_tokens": "tokens of content",
    "rank": "weights",
    "dedup": "of results that say the same",
    "hard_delete": "erase for good; cannot be undone",
    "dry_run": "change nothing, show what would go",
    "max_affected": "refuse if more would go",
    "canonical": "the id that stays",
    "duplicates": "ids to fold into it",
    "policy": "all must hold",
}
"""Descriptions for models of fields whose names are not clear, by `operation.field` or by field."""

_WORDS = frozenset({"title", "description", "default"})
_NAMES = frozenset({"$id", "$schema", "$defs"})


@cache
def input_schema(operation: str) -> dict[str, Json]:
    """Return the full input schema of a tool; cached and shared, so do not change it."""
    return _Whole(f"{operation}.request", SCOPE).schema()


@cache
def tool_schema(operation: str) -> dict[str, Json]:
    """Return a short form of `input_schema` for models: every field with its type and values, in few tokens.

    It leaves out bounds, patterns and conditions, so it accepts everything that `input_schema` accepts. A
    request that violates one gets a problem that says so.
    """
    whole = input_schema(operation)
    fields = {name: _brief(operation, name, field) for name, field in whole["properties"].items()}
    required_fields = {"required": whole["required"]} if whole.get("required") else {}
    return {"type": "object", "properties": fields, **required_fields}


def _brief(operation: str, name: str, field: Mapping[str, Json]) -> dict[str, Json]:
    """Shorten a field to type, values and a description; an object with many parts to a description."""
    words = _WORDING.get(f"{operation}.{name}") or _WORDING.get(name)
    description: dict[str, Json] = {} if words is None else {"description": words}
    kinds = {key: field[key] for key in ("type", "enum") if key in field}
    if "$ref" in field or name in _OPAQUE:
        return {"type": "object", **description}
    parts = {key: _keep_type(part) for key, part in field.get("properties", {}).items()}
    items = {"items": _keep_type(field["items"])} if "items" in field else {}
    return {**kinds, **items, **({"properties": parts} if parts else {}), **description}


def brief(field: Mapping[str, Json]) -> dict[str, Json]:
    """Shorten a field of another contract to type, values and description."""
    items = {"items": _keep_type(field["items"])} if "items" in field else {}
    words = {"description": field["description"]} if "description" in field else {}
    return {**_keep_type(field), **items, **words}


def _keep_type(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {key: schema[key] for key in ("type", "enum") if key in schema}


@cache
def output_schema(operation: str) -> dict[str, Json]:
    """Return the output schema of a tool on the wire; cached and shared, so do not change it.

    Tools do not list it: it would cost a model more tokens than all input schemas.
    """
    return _Whole(f"{operation}.response", _KNOWN).schema()


def drop_scope(answer: Mapping[str, Json]) -> dict[str, Json]:
    """Remove the agent from an answer, since the caller is that agent."""
    return {name: value for name, value in answer.items() if name not in _KNOWN}


class _Whole:
    """A schema with its references resolved and some fields left out.

    A circular reference stays, to a definition under `$defs`.
    """

    def __init__(self, name: str, without: frozenset[str]) -> None:
        self._name = name
        self._without = without
        self._open: list[str] = []
        self._circular: set[str] = set()

    def schema(self) -> dict[str, Json]:
        self._write(spec.schema(self._name), self._name)  # a first pass finds circular references
        whole: dict[str, Json] = self._write(spec.schema(self._name), self._name)
        shared = {_short(target): self._write(*_find(target)) for target in sorted(self._circular)}
        return {**whole, "$defs": shared} if shared else whole

    def _write(self, value: Json, home: str) -> Json:
        if isinstance(value, list):
            return [self._write(inner, home) for inner in value]
        if not isinstance(value, dict):
            return value
        own = {
            name: self._properties(inner, home) if name == "properties" else self._write(inner, home)
            for name, inner in value.items()
            if name not in _NAMES and name != "$ref"
        }
        if "required" in own:
            own["required"] = [name for name in own["required"] if name not in self._without]
        return own if "$ref" not in value else _join(self._resolve(value["$ref"], home), own)

    def _properties(self, fields: Mapping[str, Json], home: str) -> dict[str, Json]:
        visible = {name: inner for name, inner in fields.items() if name not in self._without}
        return {name: self._write(inner, home) for name, inner in visible.items()}

    def _resolve(self, reference: str, home: str) -> Json:
        file, _, path = reference.partition("#")
        target = f"{file.removesuffix('.json') or home}#{path}"
        if target in self._open:
            self._circular.add(target)
        if target in self._circular:
            return {"$ref": f"#/$defs/{_short(target)}"}
        self._open.append(target)
        try:
            return self._write(*_find(target))
        finally:
            self._open.remove(target)


def _find(target: str) -> tuple[Json, str]:
    """Return the target of a reference, and the schema file that contains it."""
    home, _, path = target.partition("#")
    value: Json = spec.schema(home)
    for step in path.strip("/").split("/") if path else ():
        value = value[step]
    return value, home


def _join(target: Mapping[str, Json], own: Mapping[str, Json]) -> dict[str, Json]:
    """Merge two schemas: the keywords of `own` with those of the schema it refers to."""
    if any(name in target for name in set(own) - _WORDS):
        return {**own, "allOf": [dict(target), *own.get("allOf", ())]}
    return {**target, **own}


def _short(target: str) -> str:
    return target.rpartition("/")[2]
