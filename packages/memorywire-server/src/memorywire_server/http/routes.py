"""The table of routes: the operation of each path, and the right that it needs."""

from collections.abc import Mapping

from msgspec import Struct

from memorywire.journal.operators import Right
from memorywire.model.record import Json
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS

ALL = tuple(OPERATIONS)

NEEDS: Mapping[str, Right] = {
    **dict.fromkeys(("recall", "context", "profile", "get", "list", "history", "changes"), Right.READ),
    **dict.fromkeys(("capabilities", "why", "agents", "facets", "recalls", "shares"), Right.READ),
    **dict.fromkeys(("remember", "forget", "merge", "expire", "undo", "feedback"), Right.WRITE),
    **dict.fromkeys(("share", "unshare"), Right.WRITE),
    **dict.fromkeys(("proposals", "proposal", "decide", "test_rule"), Right.REVIEW),
}
"""The right that each operation needs; operations not listed need the right to manage."""

EVERYWHERE = frozenset({"rules", "set_rules", "activate_rule", "revert_rule"})
"""Operations that, in the default tenant, affect the rules of every tenant."""


class Wire(Struct, frozen=True):
    """A route of a wire operation. `field` is the path parameter that becomes a field of the payload."""

    method: str
    path: str
    operation: str
    field: str | None = None

    @property
    def by_query(self) -> bool:
        return self.method == "GET"

    @property
    def name(self) -> str:
        """The operation id in the OpenAPI document."""
        return self.operation if self.method == "POST" and self.field is None else f"{self.operation}_by_path"


_FRIENDLY = (
    Wire("GET", "/v0/memories", "list"),
    Wire("GET", "/v0/memories/{id}", "get", "id"),
    Wire("GET", "/v0/memories/{id}/history", "history", "id"),
    Wire("POST", "/v0/undo/{change_id}", "undo", "change_id"),
    Wire("GET", "/v0/profile", "profile"),
    Wire("GET", "/v0/changes", "changes"),
    Wire("GET", "/v0/shares", "shares"),
    Wire("GET", "/v0/capabilities", "capabilities"),
    Wire("GET", "/v0/proposals", "proposals"),
    Wire("GET", "/v0/proposals/{proposal_id}", "proposal", "proposal_id"),
    Wire("POST", "/v0/proposals/{proposal_ids}/decision", "decide", "proposal_ids"),
    Wire("GET", "/v0/recalls", "recalls"),
    Wire("GET", "/v0/recalls/{recall_id}", "why", "recall_id"),
    Wire("GET", "/v0/rules", "rules"),
    Wire("PUT", "/v0/rules", "set_rules"),
)


def wire_routes() -> tuple[Wire, ...]:
    """Return a POST route for every operation, and the REST routes."""
    return (*(Wire("POST", f"/v0/{name}", name) for name in ALL), *_FRIENDLY)


def names_agent(operation: str) -> bool:
    """Return whether the operation's request has an `agent_id`."""
    return "agent_id" in spec.schema(f"{operation}.request")["properties"]


def agent_is_optional(operation: str) -> bool:
    required = spec.schema(f"{operation}.request").get("required", ())
    return names_agent(operation) and "agent_id" not in required


def properties(operation: str) -> Mapping[str, Json]:
    """Return the fields of an operation's request."""
    fields: Mapping[str, Json] = spec.schema(f"{operation}.request")["properties"]
    return fields


def resolve_schema(operation: str, schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """Resolve a schema's references, to find out its type."""
    while "$ref" in schema:
        document, _, place = schema["$ref"].partition("#/")
        home = spec.schema(document.removesuffix(".json") or f"{operation}.request")
        value: Json = home
        for step in place.split("/") if place else ():
            value = value[step]
        schema = {**value, **{name: inner for name, inner in schema.items() if name != "$ref"}}
    return schema


def is_text(schema: Mapping[str, Json]) -> bool:
    """Return whether a query has its values as plain text rather than as JSON."""
    options = schema.get("enum", ())
    return schema.get("type") == "string" or (bool(options) and all(isinstance(one, str) for one in options))
