"""The OpenAPI 3.1 document, built from the schemas and examples of the wire format."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from msgspec import Struct

from memorywire import __version__
from memorywire.model.record import Json
from memorywire.wire import spec
from memorywire.wire.codec import OPERATIONS
from memorywire_server.http.answers import ACCEPTED, JSON, MOVED, PROBLEM, STATUSES
from memorywire_server.http.routes import NEEDS, Wire, is_text, properties, resolve_schema, wire_routes

_COMPONENTS = "#/components/schemas/"
_PROBLEMS = sorted({*STATUSES.values(), MOVED} - {405, 421})
_MEANINGS = {
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
_BODY_PROBLEMS = frozenset({400, 408, 412, 413, 415})


class Address(Struct, frozen=True):
    """One method of one path; its body is described by the schema `NAME.request`."""

    path: str
    method: str
    name: str
    summary: str
    body: bool = False
    more: Sequence[Json] = ()


def _parameter(name: str, place: str, text: str, required: bool = False, **schema: Json) -> dict[str, Json]:
    return {"name": name, "in": place, "required": required, "description": text, "schema": schema}


def _moment(name: str, text: str) -> Json:
    common = f"{_COMPONENTS}common/$defs"
    schema: dict[str, Json] = {"$ref": f"{common}/moment", "not": {"$ref": f"{common}/seconds"}}
    return _parameter(name, "query", text, **schema)


_TEXT: dict[str, Json] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 256,
    "pattern": "^[^\\u0000-\\u001f\\u007f]*$",
}
_IN_PATH = (
    _parameter("id", "path", "The procedure.", True, **_TEXT),
    _parameter("scope", "path", "The kind of owner.", True, enum=["agent", "user", "tenant"]),
    _parameter("scope_id", "path", "The agent, the user or the tenant.", True, **_TEXT),
    _parameter("key", "path", "The key.", True, **_TEXT),
    _parameter("event_id", "path", "The event.", True, **_TEXT),
    _parameter("definition", "path", "A digest, or a name: its newest edition.", True, **_TEXT),
    _parameter("agent_id", "path", "The agent.", True, **_TEXT),
    _parameter("webhook_id", "path", "The webhook that was told of the request.", True, **_TEXT),
)
_IF_MATCH = _parameter(
    "If-Match",
    "header",
    "The version that must be current, in quotes, as in the ETag.",
    type="string",
    pattern='^"[0-9]{1,15}"$',
)
_NUMBER: dict[str, Json] = {"type": "integer", "minimum": 0, "maximum": 2**53}
_AUDIT = (
    _parameter("agent_id", "query", "Only of this agent.", type="string"),
    _parameter("user_id", "query", "Only of this user.", type="string"),
    _parameter("operation", "query", "Only this operation.", type="string"),
    _parameter(
        "kind", "query", "Only entries with this result: committed, staged, refused, ...", type="string"
    ),
    _parameter("actor", "query", "Only entries of this caller.", type="string"),
    _parameter("memory", "query", "Only entries that name this memory.", type="string"),
    _moment("since", "Only entries at or after this time. Epoch milliseconds."),
    _moment("until", "Only entries before this time. Epoch milliseconds."),
    _parameter(
        "subject",
        "query",
        "All entries about this change, proposal or recall; other filters are ignored.",
        type="string",
    ),
    _parameter(
        "before", "query", "Only entries before this one: the `next` of the previous page.", **_NUMBER
    ),
    _parameter("limit", "query", "At most this many.", type="integer", minimum=1, maximum=1000),
)
_VERIFY = (
    _parameter(
        "checkpoint",
        "query",
        "Checkpoints that were saved elsewhere; the ledger must be consistent with them.",
        type="string",
        pattern="^[^\\u000a]+\\u000a[0-9]+\\u000a",
    ),
    _parameter(
        "state", "query", "Also replay the ledger and compare the result with the data.", type="boolean"
    ),
)
_PERSON = (
    _parameter("user_id", "query", "The user.", True, **_TEXT),
    _parameter("agent_id", "query", "Only of this agent; without it, of all agents.", **_TEXT),
)
_SEQUENCE = _parameter("seq", "query", "Its number.", True, **{**_NUMBER, "minimum": 1})
_EVENTS = [
    _parameter("after", "query", "Start after this event; without it, with the next one.", **_NUMBER),
    _parameter(
        "Last-Event-ID",
        "header",
        "The same, as browsers send it; it takes precedence over `after`.",
        type="string",
        pattern="^[0-9]{1,16}$",
    ),
]
_LIST = (
    _parameter("prefix", "query", "Only keys with this prefix.", type="string", maxLength=256),
    _parameter("after", "query", "Only keys after this one: the `next` of the previous page.", type="string"),
    _parameter("limit", "query", "At most this many.", type="integer", minimum=1, maximum=1000, default=100),
)
_WHOSE = (
    _parameter("agent_id", "query", "Only if it is of this agent.", **_TEXT),
    _parameter("user_id", "query", "Only if it is of this user.", **_TEXT),
)
ENTRY = "/v0/kv/{scope}/{scope_id}/{key}"
ENTRIES = "/v0/kv/{scope}/{scope_id}"
_OWNER = "{scope}/{scope_id}"
_BACKEND = "/v0/backends/{definition}"
_BINDING = "/v0/bindings/{agent_id}"
_RETIRE = "Retire a definition; no more agents can be bound to it."
_STATS = "Count entries and bytes, and name the models of the vectors."
_REVIEW = "Decide a held request, as its reviewer behind a webhook; signed, without a token."

_SERVER = (
    Address("/v0/batch", "post", "batch", "Run many operations in order.", True),
    Address("/v0/procedures/{id}/trigger", "post", "trigger", "Take one step of a procedure.", True),
    Address("/v0/audit", "get", "audit", "List entries of the ledger, newest first.", more=_AUDIT),
    Address(
        "/v0/audit/verify",
        "get",
        "audit_verify",
        "Verify that no entry was changed, removed, added or moved.",
        more=_VERIFY,
    ),
    Address(
        "/v0/audit/proof",
        "get",
        "audit_proof",
        "Prove that one entry is in the signed ledger.",
        more=(_SEQUENCE,),
    ),
    Address("/v0/audit/checkpoint", "get", "audit_checkpoint", "Sign the ledger and return the checkpoint."),
    Address("/v0/audit/archive", "post", "audit_archive", "Archive what is new in the ledger."),
    Address("/v0/dream", "post", "dream", "Consolidate the memories of an agent once.", True),
    Address("/v0/reviews/{webhook_id}", "post", "review", _REVIEW, True),
    Address("/v0/promote", "post", "promote", "Look through short-term memory once.", True),
    Address("/v0/export", "get", "export", "Export everything of a user as a bundle.", more=_PERSON),
    Address("/v0/debts", "get", "debts", "List changes that stores have still to write, oldest first."),
)
_CONTRACTS = (
    Address(ENTRY, "get", "kv_get", "The value under a key."),
    Address(ENTRY, "put", "kv_set", "Set the value of a key.", True, (_IF_MATCH,)),
    Address(ENTRY, "post", "kv_incr", "Add to the number under a key.", True),
    Address(ENTRY, "delete", "kv_delete", "Delete a key."),
    Address(ENTRIES, "get", "kv_list", "List entries by key.", more=_LIST),
    Address(ENTRIES, "post", "kv_set_many", "Set many values.", True),
    Address(f"/v0/kv-search/{_OWNER}", "post", "kv_search", "Search entries by meaning.", True),
    Address(f"/v0/kv-stats/{_OWNER}", "get", "kv_stats", _STATS),
    Address(f"/v0/kv-reembed/{_OWNER}", "post", "kv_reembed", "Compute missing vectors.", True),
    Address("/v0/layer/add", "post", "layer_add", "Add messages.", True),
    Address("/v0/layer/recall", "post", "layer_recall", "Recall facts from conversations.", True),
    Address(
        "/v0/layer/events/{event_id}", "get", "layer_event", "Get the state of added messages.", more=_WHOSE
    ),
    Address("/v0/backends", "get", "backend_list", "List the definitions of backends."),
    Address("/v0/backends", "post", "backend_create", "Define a backend.", True),
    Address(_BACKEND, "get", "backend_get", "Get a definition."),
    Address(f"{_BACKEND}/fork", "post", "backend_fork", "Create a definition from another one.", True),
    Address(f"{_BACKEND}/retire", "post", "backend_retire", _RETIRE, True),
    Address(_BINDING, "put", "backend_bind", "Bind an agent to a backend.", True),
    Address(_BINDING, "delete", "backend_unbind", "Unbind an agent from its backend."),
)


@cache
def own_schemas() -> dict[str, dict[str, Json]]:
    """Return the schemas of the HTTP server by name. The result is shared: do not change it."""
    folder = files(__package__)
    schemas: dict[str, dict[str, Json]] = {}
    for file in ("schemas.json", "schemas_contracts.json"):
        schemas |= json.loads((folder / file).read_text(encoding="utf-8"))
    return schemas


@cache
def openapi() -> dict[str, Json]:
    """Return the whole document; cached and shared, so do not change it."""
    schemas = {**spec.schemas(), **own_schemas()}
    paths: dict[str, dict[str, Json]] = {}
    for route in wire_routes():
        paths.setdefault(route.path, {})[route.method.lower()] = _describe_route(route)
    for address in _SERVER:
        paths.setdefault(address.path, {})[address.method] = _describe_address(address)
    events = "Stream events as they happen, without content."
    paths |= {
        "/v0/events": {
            "get": {**_describe_plain("events", events, "text/event-stream"), "parameters": _EVENTS}
        },
        "/healthz": {"get": _describe_probe("healthz", "Check that the server runs.")},
        "/readyz": {"get": _describe_probe("readyz", "Check that the server can answer.")},
        "/metrics": {"get": _describe_plain("metrics", "Prometheus metrics.", "text/plain")},
    }
    for address in _CONTRACTS:
        paths.setdefault(address.path, {})[address.method] = _describe_address(address)
    problem = {PROBLEM: {"schema": {"$ref": f"{_COMPONENTS}problem"}}}
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
            "schemas": {name: _rewrite(schema, name) for name, schema in schemas.items()},
            "responses": {
                f"problem{status}": {"description": _MEANINGS[status], "content": problem}
                for status in _PROBLEMS
            },
        },
    }


def _rewrite(value: Json, home: str) -> Json:
    """Make references point into this document, and remove `$id` and `$schema`."""
    if isinstance(value, list):
        return [_rewrite(inner, home) for inner in value]
    if not isinstance(value, dict):
        return value
    fields = {name: _rewrite(inner, home) for name, inner in value.items() if name not in ("$id", "$schema")}
    if "$ref" in fields and not fields["$ref"].startswith(_COMPONENTS):
        document, _, place = fields["$ref"].partition("#")
        fields["$ref"] = f"{_COMPONENTS}{document.removesuffix('.json') or home}{place}"
    return fields


def _describe_route(route: Wire) -> dict[str, Json]:
    name, fields = f"{route.operation}.request", properties(route.operation)
    schema = spec.schema(name)
    parameters: list[Json] = []
    if route.field is not None:
        kind = resolve_schema(route.operation, fields[route.field])
        one = resolve_schema(route.operation, kind["items"]) if kind.get("type") == "array" else kind
        rules = {rule: one[rule] for rule in ("type", "maxLength", "pattern") if rule in one}
        text = kind.get("description", "")
        parameters.append(_parameter(route.field, "path", text, True, **rules, minLength=1))
    if "idempotency_key" in fields:
        rules = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[!-~]+$"}
        text = "The field idempotency_key as a header."
        parameters.append(_parameter("Idempotency-Key", "header", text, **rules))
    if {"if_version", "if_edition"} & set(fields):
        parameters.append(dict(_IF_MATCH))
    examples = {} if route.operation == "capabilities" else spec.examples(route.operation, "valid")
    document: dict[str, Json] = {
        "operationId": route.name,
        "summary": schema["description"],
        "tags": [str(NEEDS.get(route.operation, "manage"))],
        "parameters": parameters,
        "responses": _describe_responses(
            f"{route.operation}.response",
            _list_examples(examples, "response"),
            writes=OPERATIONS[route.operation].core,
            body=not route.by_query,
        ),
    }
    if route.by_query:
        parameters += [
            _describe_field(route.operation, field, inner, field in schema.get("required", ()))
            for field, inner in fields.items()
            if field != route.field
        ]
        return document
    content: dict[str, Json] = {"schema": {"$ref": f"{_COMPONENTS}{name}"}}
    if route.field is not None:
        content["schema"] = _remove_field(_rewrite(schema, name), route.field)
    elif examples:
        content["examples"] = _list_examples(examples, "request")
    document["requestBody"] = {"required": True, "content": {JSON: content}}
    return document


def _list_examples(examples: Mapping[str, Json], part: str) -> dict[str, Json]:
    return {
        name: {"summary": example["description"], "value": example[part]}
        for name, example in examples.items()
        if part in example
    }


def _describe_field(operation: str, name: str, schema: Mapping[str, Json], required: bool) -> Json:
    kind = resolve_schema(operation, schema)
    parameter = _parameter(name, "query", kind.get("description", ""), required)
    parameter["schema"] = _rewrite(schema, f"{operation}.request")
    if kind.get("type") == "array":
        parameter |= {"style": "form", "explode": True}
    elif not is_text(kind) and kind.get("type") not in ("integer", "number", "boolean"):
        parameter["content"] = {JSON: {"schema": parameter.pop("schema")}}
    return parameter


def _remove_field(schema: Json, field: str) -> Json:
    fields = {name: inner for name, inner in schema["properties"].items() if name != field}
    required = [name for name in schema.get("required", ()) if name != field]
    return {**schema, "properties": fields, "required": required}


def _describe_responses(
    name: str, examples: Mapping[str, Json] | None = None, *, writes: bool = False, body: bool
) -> dict[str, Json]:
    schema = {"schema": {"$ref": f"{_COMPONENTS}{name}"}}
    text = (own_schemas().get(name) or spec.schema(name)).get("description", "The answer.")
    answer = {**schema, "examples": examples} if examples else schema
    answers: dict[str, Json] = {"200": {"description": text, "content": {JSON: answer}}}
    if writes or body:
        text = "Accepted: it waits for a person, or for a store that does not respond."
        answers[str(ACCEPTED)] = {"description": text, "content": {JSON: schema}}
    problems = (status for status in _PROBLEMS if body or status not in _BODY_PROBLEMS)
    return answers | _refer_to_problems(problems)


def _refer_to_problems(statuses: Iterable[int]) -> dict[str, Json]:
    return {str(status): {"$ref": f"#/components/responses/problem{status}"} for status in statuses}


def _describe_address(address: Address) -> Json:
    in_path = [one for one in _IN_PATH if f"{{{one['name']}}}" in address.path]
    operation: dict[str, Json] = {
        "operationId": address.name,
        "summary": address.summary,
        "tags": ["server"],
        "parameters": [*in_path, *address.more],
        "responses": _describe_responses(f"{address.name}.response", body=address.body),
    }
    if address.body:
        content = {JSON: {"schema": {"$ref": f"{_COMPONENTS}{address.name}.request"}}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _describe_plain(name: str, summary: str, media: str) -> dict[str, Json]:
    answer = {"description": summary, "content": {media: {"schema": {"type": "string"}}}}
    answers = {"200": answer, **_refer_to_problems((401, 403, 429, 503))}
    return {"summary": summary, "tags": ["server"], "responses": answers, "operationId": name}


def _describe_probe(name: str, summary: str) -> dict[str, Json]:
    """Describe an endpoint that needs no token."""
    content = {JSON: {"schema": {"$ref": f"{_COMPONENTS}health"}}}
    answers = {
        "200": {"description": summary, "content": content},
        "503": {"description": "Not available.", "content": content},
    }
    document = {"summary": summary, "tags": ["server"], "responses": answers}
    return {**document, "security": [], "operationId": name}
