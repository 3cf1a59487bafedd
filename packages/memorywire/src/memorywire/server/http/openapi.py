"""The OpenAPI 3.1 document, built from the schemas and examples of the wire format."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

from memorywire import __version__
from memorywire.model.record import Json
from memorywire.server.http.answers import ACCEPTED, JSON, MOVED, PROBLEM, STATUSES
from memorywire.server.http.routes import NEEDS, Wire, is_text, properties, resolve_schema, wire_routes
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS

Parameter = Mapping[str, Json]


class Address(Struct, frozen=True, kw_only=True):
    """What one method of one path does; a body is described by the schema `NAME.request`."""

    path: str
    method: str
    name: str
    summary: str
    body: bool = False
    more: Sequence[Parameter] = ()

    @property
    def parameters(self) -> list[Json]:
        return [*(_IN_PATH[part] for part in _IN_PATH if f"{{{part}}}" in self.path), *self.more]


def _describe_parameter(name: str, place: str, text: str, **schema: Json) -> Parameter:
    return {"name": name, "in": place, "required": place == "path", "description": text, "schema": schema}


TEXT = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f]*$"}
_IN_PATH: Mapping[str, Parameter] = {
    "scope": _describe_parameter("scope", "path", "The kind of owner.", enum=["agent", "user", "tenant"]),
    "scope_id": _describe_parameter("scope_id", "path", "The agent, the user or the tenant.", **TEXT),
    "key": _describe_parameter("key", "path", "The key.", **TEXT),
    "event_id": _describe_parameter("event_id", "path", "The event.", **TEXT),
    "definition": _describe_parameter(
        "definition", "path", "A digest, or a name: its newest edition.", **TEXT
    ),
    "agent_id": _describe_parameter("agent_id", "path", "The agent.", **TEXT),
}
IF_MATCH = _describe_parameter(
    "If-Match",
    "header",
    "The version that must be current, in quotes, as in the ETag.",
    type="string",
    pattern='^"[0-9]{1,15}"$',
)
_LIST = (
    _describe_parameter("prefix", "query", "Only keys with this prefix.", type="string", maxLength=256),
    _describe_parameter(
        "after", "query", "Only keys after this one: the `next` of the previous page.", type="string"
    ),
    _describe_parameter(
        "limit", "query", "At most this many.", type="integer", minimum=1, maximum=1000, default=100
    ),
)
ENTRY = "/v0/kv/{scope}/{scope_id}/{key}"
ENTRIES = "/v0/kv/{scope}/{scope_id}"

ADDRESSES = (
    Address(path=ENTRY, method="get", name="kv_get", summary="The value under a key."),
    Address(
        path=ENTRY,
        method="put",
        name="kv_set",
        summary="Set the value of a key.",
        body=True,
        more=(IF_MATCH,),
    ),
    Address(path=ENTRY, method="post", name="kv_incr", summary="Add to the number under a key.", body=True),
    Address(path=ENTRY, method="delete", name="kv_delete", summary="Delete a key."),
    Address(path=ENTRIES, method="get", name="kv_list", summary="List entries by key.", more=_LIST),
    Address(path=ENTRIES, method="post", name="kv_set_many", summary="Set many values.", body=True),
    Address(
        path="/v0/kv-search/{scope}/{scope_id}",
        method="post",
        name="kv_search",
        summary="Search entries by meaning.",
        body=True,
    ),
    Address(
        path="/v0/kv-stats/{scope}/{scope_id}",
        method="get",
        name="kv_stats",
        summary="Count entries and bytes, and name the models of the vectors.",
    ),
    Address(
        path="/v0/kv-reembed/{scope}/{scope_id}",
        method="post",
        name="kv_reembed",
        summary="Compute missing vectors.",
        body=True,
    ),
    Address(path="/v0/layer/add", method="post", name="layer_add", summary="Add messages.", body=True),
    Address(
        path="/v0/layer/recall",
        method="post",
        name="layer_recall",
        summary="Recall facts from conversations.",
        body=True,
    ),
    Address(
        path="/v0/layer/events/{event_id}",
        method="get",
        name="layer_event",
        summary="Get the state of added messages.",
        more=(
            _describe_parameter("agent_id", "query", "Only if it is of this agent.", **TEXT),
            _describe_parameter("user_id", "query", "Only if it is of this user.", **TEXT),
        ),
    ),
    Address(
        path="/v0/backends", method="get", name="backend_list", summary="List the definitions of backends."
    ),
    Address(
        path="/v0/backends", method="post", name="backend_create", summary="Define a backend.", body=True
    ),
    Address(path="/v0/backends/{definition}", method="get", name="backend_get", summary="Get a definition."),
    Address(
        path="/v0/backends/{definition}/fork",
        method="post",
        name="backend_fork",
        summary="Create a definition from another one.",
        body=True,
    ),
    Address(
        path="/v0/backends/{definition}/retire",
        method="post",
        name="backend_retire",
        summary="Retire a definition; no more agents can be bound to it.",
        body=True,
    ),
    Address(
        path="/v0/bindings/{agent_id}",
        method="put",
        name="backend_bind",
        summary="Bind an agent to a backend.",
        body=True,
    ),
    Address(
        path="/v0/bindings/{agent_id}",
        method="delete",
        name="backend_unbind",
        summary="Unbind an agent from its backend.",
    ),
)


_FILES = ("schemas.json", "schemas_contracts.json")


@cache
def own_schemas() -> dict[str, dict[str, Json]]:
    """Return the schemas of the HTTP server by name. The result is shared: do not change it."""
    return {name: schema for file in _FILES for name, schema in _load_schemas(file).items()}


def _load_schemas(file: str) -> dict[str, dict[str, Json]]:
    schemas: dict[str, dict[str, Json]] = json.loads((files(__package__) / file).read_text(encoding="utf-8"))
    return schemas


_COMPONENTS = "#/components/schemas/"
_IN_SECONDS = "common.json#/$defs/seconds"
_PROBLEMS = sorted({*STATUSES.values(), MOVED} - {405, 421})
_SAID = {
    400: "The body is not valid JSON.",
    401: "The request has no valid token.",
    403: "The caller may not do this, or the policy refuses it.",
    404: "It does not exist, or it belongs to another caller.",
    408: "The body did not arrive in time.",
    409: "The state has changed, the id or content exists already, or a person must approve first.",
    412: "The version is not the one that If-Match names.",
    413: "The body is too large.",
    415: "The body is not uncompressed JSON.",
    422: "The request is not valid.",
    429: "Too many requests, or the budget is used up; see Retry-After.",
    500: "An internal error of the server.",
    503: "The server is overloaded, or a store does not respond; see Retry-After.",
}
_BODY_PROBLEMS = frozenset({400, 408, 409, 412, 413, 415})


@cache
def openapi() -> dict[str, Json]:
    """The whole document; shared between callers, so read only."""
    paths: dict[str, dict[str, Json]] = {}
    for route in wire_routes():
        paths.setdefault(route.path, {})[route.method.lower()] = _describe_route(route)
    for path, methods in _OWN.items():
        paths.setdefault(path, {}).update(methods)
    for one in ADDRESSES:
        body = f"{one.name}.request" if one.body else None
        operation = _describe_own(one.name, one.summary, body=body, parameters=one.parameters)
        paths.setdefault(one.path, {})[one.method] = operation
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "memorywire",
            "version": __version__,
            "summary": "Memory for AI agents, with a receipt for every write.",
            "description": "The tenant comes from the token; a token of several tenants chooses one with the "
            "header `Memorywire-Tenant`. On loopback no token is needed while there are no operators.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {name: _rewrite(schema, name) for name, schema in _load_all_schemas().items()},
            "responses": {f"problem{status}": _describe_problem(status) for status in _PROBLEMS},
        },
    }


def _load_all_schemas() -> dict[str, Mapping[str, Json]]:
    return {**spec.schemas(), **own_schemas()}


def _rewrite(value: Json, home: str) -> Json:
    """A schema with its references pointing into this document, and without the names it has elsewhere."""
    if isinstance(value, list):
        return [_rewrite(inner, home) for inner in value]
    if not isinstance(value, dict):
        return value
    fields = {name: inner for name, inner in value.items() if name not in ("$id", "$schema")}
    return {
        name: _rewrite_reference(inner, home) if name == "$ref" else _rewrite(inner, home)
        for name, inner in fields.items()
    }


def _rewrite_reference(reference: str, home: str) -> str:
    if reference.startswith(_COMPONENTS):
        return reference
    document, _, place = reference.partition("#")
    return f"{_COMPONENTS}{document.removesuffix('.json') or home}{place}"


def _describe_route(route: Wire) -> dict[str, Json]:
    operation = route.operation
    schema = spec.schema(f"{operation}.request")
    document: dict[str, Json] = {
        "operationId": route.name,
        "summary": schema["description"],
        "tags": [str(NEEDS.get(operation, "manage"))],
        "parameters": [*_describe_path(route), *_describe_headers(route)],
        "responses": _describe_responses(
            f"{operation}.response", writes=OPERATIONS[operation].core, body=not route.by_query
        ),
    }
    for name, example in spec.examples(operation, "valid").items() if _has_examples(operation) else ():
        if "response" in example:
            examples = document["responses"]["200"]["content"][JSON].setdefault("examples", {})
            examples[name] = {"summary": example["description"], "value": example["response"]}
    if route.by_query:
        document["parameters"] += _describe_query(route)
    else:
        document["requestBody"] = _describe_body(route)
    return document


def _has_examples(operation: str) -> bool:
    return operation != "capabilities"


def _describe_path(route: Wire) -> list[Json]:
    if route.field is None:
        return []
    kind = resolve_schema(route.operation, properties(route.operation)[route.field])
    one = resolve_schema(route.operation, kind["items"]) if kind.get("type") == "array" else kind
    return [
        _build_parameter(
            route.field, "path", {**_keep_text_rules(one), "minLength": 1}, kind.get("description", ""), True
        )
    ]


def _describe_headers(route: Wire) -> list[Json]:
    fields = properties(route.operation)
    headers = []
    if "idempotency_key" in fields:
        text = "The field idempotency_key as a header."
        schema = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$"}
        headers.append(_build_parameter("Idempotency-Key", "header", schema, text, False))
    if {"if_version", "if_edition"} & set(fields):
        headers.append(dict(IF_MATCH))
    return headers


def _describe_query(route: Wire) -> list[Json]:
    required_names = spec.schema(f"{route.operation}.request").get("required", ())
    return [
        _describe_field(route.operation, name, schema, name in required_names)
        for name, schema in properties(route.operation).items()
        if name != route.field
    ]


def _describe_field(operation: str, name: str, schema: Mapping[str, Json], is_required: bool) -> Json:
    kind = resolve_schema(operation, schema)
    parameter = _build_parameter(name, "query", _rewrite(schema, f"{operation}.request"), "", is_required)
    parameter["description"] = kind.get("description", "")
    if kind.get("type") == "array":
        parameter |= {"style": "form", "explode": True}
    elif not is_text(kind) and kind.get("type") not in ("integer", "number", "boolean"):
        parameter["content"] = {JSON: {"schema": parameter.pop("schema")}}
    return parameter


def _build_parameter(name: str, place: str, schema: Json, text: str, is_required: bool) -> dict[str, Json]:
    return {"name": name, "in": place, "required": is_required, "description": text, "schema": schema}


def _keep_text_rules(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {name: schema[name] for name in ("type", "maxLength", "pattern") if name in schema}


def _describe_body(route: Wire) -> Json:
    name = f"{route.operation}.request"
    content: dict[str, Json] = {"schema": {"$ref": f"{_COMPONENTS}{name}"}}
    if route.field is None and _has_examples(route.operation):
        examples = spec.examples(route.operation, "valid")
        content["examples"] = {
            title: {"summary": example["description"], "value": example["request"]}
            for title, example in examples.items()
        }
    elif route.field is not None:
        content["schema"] = _remove_field(_rewrite(spec.schema(name), name), route.field)
    return {"required": True, "content": {JSON: content}}


def _remove_field(schema: Json, field: str) -> Json:
    fields = {name: inner for name, inner in schema["properties"].items() if name != field}
    required_names = [name for name in schema.get("required", ()) if name != field]
    return {**schema, "properties": fields, "required": required_names}


def _describe_responses(name: str, *, writes: bool, body: bool) -> dict[str, Json]:
    text = _load_all_schemas()[name].get("description", "The answer.")
    answer = {"description": text, "content": {JSON: {"schema": {"$ref": f"{_COMPONENTS}{name}"}}}}
    answers = {"200": answer, **({str(ACCEPTED): _describe_accepted(name)} if writes or body else {})}
    problems = [status for status in _PROBLEMS if body or status not in _BODY_PROBLEMS - {409}]
    return {
        **answers,
        **{str(status): {"$ref": f"#/components/responses/problem{status}"} for status in problems},
    }


def _describe_accepted(name: str) -> Json:
    content = {JSON: {"schema": {"$ref": f"{_COMPONENTS}{name}"}}}
    return {
        "description": "Accepted: it waits for a person, or for a store that does not respond.",
        "content": content,
    }


def _describe_problem(status: int) -> Json:
    content = {PROBLEM: {"schema": {"$ref": f"{_COMPONENTS}problem"}}}
    return {"description": _SAID[status], "content": content}


def _describe_own(
    name: str, summary: str, *, body: str | None = None, parameters: list[Json] | None = None
) -> Json:
    operation: dict[str, Json] = {
        "operationId": name,
        "summary": summary,
        "tags": ["server"],
        "parameters": parameters or [],
        "responses": _describe_responses(f"{name}.response", writes=False, body=body is not None),
    }
    if body is not None:
        content = {JSON: {"schema": {"$ref": f"{_COMPONENTS}{body}"}}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _build_number(name: str, text: str, least: int = 0, most: int = 2**53) -> Json:
    return _build_parameter(
        name, "query", {"type": "integer", "minimum": least, "maximum": most}, text, False
    )


def _build_moment(name: str, text: str) -> Json:
    schema = {
        "$ref": _rewrite_reference("common.json#/$defs/moment", ""),
        "not": {"$ref": _rewrite_reference(_IN_SECONDS, "")},
    }
    return _build_parameter(name, "query", schema, text, False)


def _build_word(name: str, text: str) -> Json:
    return _build_parameter(name, "query", {"type": "string"}, text, False)


def _describe_plain(summary: str, media: str, status_503: bool = False, *, public: bool = True) -> Json:
    schema: Json = {"$ref": f"{_COMPONENTS}health"} if status_503 else {"type": "string"}
    answers: dict[str, Json] = {"200": {"description": summary, "content": {media: {"schema": schema}}}}
    if status_503:
        answers["503"] = {"description": "Not available.", "content": {media: {"schema": schema}}}
    if not public:
        answers |= {
            str(status): {"$ref": f"#/components/responses/problem{status}"}
            for status in (401, 403, 429, 503)
        }
    return {
        "summary": summary,
        "tags": ["server"],
        "responses": answers,
        **({"security": []} if public else {}),
    }


_MEMORY_ID = _build_parameter("id", "path", TEXT, "The procedure.", True)

_OWN: Mapping[str, Mapping[str, Json]] = {
    "/v0/batch": {"post": _describe_own("batch", "Run many operations in order.", body="batch.request")},
    "/v0/procedures/{id}/trigger": {
        "post": _describe_own(
            "trigger", "Take one step of a procedure.", body="trigger.request", parameters=[_MEMORY_ID]
        )
    },
    "/v0/audit": {
        "get": _describe_own(
            "audit",
            "List entries of the ledger, newest first.",
            parameters=[
                _build_word("agent_id", "Only of this agent."),
                _build_word("user_id", "Only of this user."),
                _build_word("operation", "Only this operation."),
                _build_word("kind", "Only entries with this result: committed, staged, refused, ..."),
                _build_word("actor", "Only entries of this caller."),
                _build_word("memory", "Only entries that name this memory."),
                _build_moment("since", "Only entries at or after this time. Epoch milliseconds."),
                _build_moment("until", "Only entries before this time. Epoch milliseconds."),
                _build_word(
                    "subject", "All entries about this change, proposal or recall; other filters are ignored."
                ),
                _build_number("before", "Only entries before this one: the `next` of the previous page."),
                _build_number("limit", "At most this many.", 1, 1000),
            ],
        )
    },
    "/v0/audit/verify": {
        "get": _describe_own(
            "audit_verify",
            "Verify that no entry was changed, removed, added or moved.",
            parameters=[
                _build_parameter(
                    "checkpoint",
                    "query",
                    {"type": "string", "pattern": "^[^\\u000a]+\\u000a[0-9]+\\u000a"},
                    "Checkpoints that were saved elsewhere; the ledger must be consistent with them.",
                    False,
                ),
                _build_parameter(
                    "state",
                    "query",
                    {"type": "boolean"},
                    "Also replay the ledger and compare the result with the data.",
                    False,
                ),
            ],
        )
    },
    "/v0/audit/proof": {
        "get": _describe_own(
            "audit_proof",
            "Prove that one entry is in the signed ledger.",
            parameters=[{**_build_number("seq", "Its number.", 1), "required": True}],
        )
    },
    "/v0/audit/checkpoint": {
        "get": _describe_own("audit_checkpoint", "Sign the ledger and return the checkpoint.")
    },
    "/v0/debts": {
        "get": _describe_own("debts", "List changes that stores have still to write, oldest first.")
    },
    "/v0/events": {
        "get": {
            **_describe_plain(
                "Stream events as they happen, without content.", "text/event-stream", public=False
            ),
            "operationId": "events",
            "parameters": [
                _build_number("after", "Start after this event; without it, with the next one."),
                _build_parameter(
                    "Last-Event-ID",
                    "header",
                    {"type": "string", "pattern": "^[0-9]{1,16}$"},
                    "The same, as browsers send it; it takes precedence over `after`.",
                    False,
                ),
            ],
        }
    },
    "/healthz": {
        "get": {**_describe_plain("Check that the server runs.", JSON, True), "operationId": "healthz"}
    },
    "/readyz": {
        "get": {**_describe_plain("Check that the server can answer.", JSON, True), "operationId": "readyz"}
    },
    "/metrics": {
        "get": {
            **_describe_plain("Prometheus metrics.", "text/plain", public=False),
            "operationId": "metrics",
        }
    },
}
