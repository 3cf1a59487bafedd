"""The table of routes: which address means which operation of the wire, and what it takes to ask."""

from collections.abc import Mapping

from msgspec import Struct

from memorywire.journal.operators import Right
from memorywire.model.record import Json
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS

ALL = tuple(OPERATIONS)

NEEDS: Mapping[str, Right] = {
    **dict.fromkeys(
        (
            *("recall", "context", "profile", "get", "list", "history", "changes", "capabilities", "why"),
            *("agents", "facets", "recalls"),
        ),
        Right.READ,
    ),
    **dict.fromkeys(("remember", "forget", "merge", "expire", "undo", "feedback"), Right.WRITE),
    **dict.fromkeys(("proposals", "proposal", "decide", "test_rule"), Right.REVIEW),
}
"""The right that each operation needs; one that is not named here needs the right to manage."""

EVERYWHERE = frozenset({"rules", "set_rules", "activate_rule", "revert_rule"})
"""Operations that, for the default tenant, concern the rules of every tenant."""


class Wire(Struct, frozen=True, kw_only=True):
    """An address of a wire operation. `field` is the part of the path that belongs to the payload."""

    method: str
    path: str
    operation: str
    field: str | None = None

    @property
    def by_query(self) -> bool:
        return self.method == "GET"

    @property
    def name(self) -> str:
        """What the documents call it."""
        return self.operation if self.method == "POST" and self.field is None else f"{self.operation}_by_path"


_FRIENDLY = (
    Wire(method="GET", path="/v0/memories", operation="list"),
    Wire(method="GET", path="/v0/memories/{id}", operation="get", field="id"),
    Wire(method="GET", path="/v0/memories/{id}/history", operation="history", field="id"),
    Wire(method="POST", path="/v0/undo/{change_id}", operation="undo", field="change_id"),
    Wire(method="GET", path="/v0/profile", operation="profile"),
    Wire(method="GET", path="/v0/changes", operation="changes"),
    Wire(method="GET", path="/v0/capabilities", operation="capabilities"),
    Wire(method="GET", path="/v0/proposals", operation="proposals"),
    Wire(method="GET", path="/v0/proposals/{proposal_id}", operation="proposal", field="proposal_id"),
    Wire(
        method="POST", path="/v0/proposals/{proposal_ids}/decision", operation="decide", field="proposal_ids"
    ),
    Wire(method="GET", path="/v0/recalls/{recall_id}", operation="why", field="recall_id"),
    Wire(method="GET", path="/v0/rules", operation="rules"),
    Wire(method="PUT", path="/v0/rules", operation="set_rules"),
)


def wire_routes() -> tuple[Wire, ...]:
    """Every operation under its own name, and the friendly addresses of those that this release knows."""
    plain = [Wire(method="POST", path=f"/v0/{name}", operation=name) for name in ALL]
    return (*plain, *(route for route in _FRIENDLY if route.operation in ALL))


def names_agent(operation: str) -> bool:
    """Whether the operation is about an agent, or about some agents."""
    return "agent_id" in spec.schema(f"{operation}.request")["properties"]


def agent_is_optional(operation: str) -> bool:
    return names_agent(operation) and "agent_id" not in spec.schema(f"{operation}.request").get(
        "required", ()
    )


def properties(operation: str) -> Mapping[str, Json]:
    """The fields of an operation's request."""
    fields: Mapping[str, Json] = spec.schema(f"{operation}.request")["properties"]
    return fields


def resolve_schema(operation: str, schema: Mapping[str, Json]) -> Mapping[str, Json]:
    """A schema with what it refers to filled in, to learn which type it has."""
    while "$ref" in schema:
        document, _, place = schema["$ref"].partition("#/")
        home = spec.schema(document.removesuffix(".json") or f"{operation}.request")
        rest = {name: value for name, value in schema.items() if name != "$ref"}
        value: Json = home
        for step in place.split("/") if place else ():
            value = value[step]
        schema = {**value, **rest}
    return schema


def is_text(schema: Mapping[str, Json]) -> bool:
    """Whether its values stand in a query as they are, rather than as JSON."""
    options = schema.get("enum", ())
    return schema.get("type") == "string" or (bool(options) and all(isinstance(one, str) for one in options))
