"""Every parameter the description names, sent as it may be and as it may not."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from memorywire_server.http.openapi import openapi
from tests.http.server import Client, Reply

Described = Mapping[str, Any]
OPERATIONS = [
    (method, path, operation)
    for path, methods in openapi()["paths"].items()
    for method, operation in methods.items()
    if path.startswith("/v0/")
]
PARAMETERS = [
    (method, path, parameter)
    for method, path, operation in OPERATIONS
    for parameter in operation.get("parameters", ())
]
CHECKPOINT = """memorywire/fa78d7a0c6c2968b94ca5bd4561bd390
1
+njXoMbClouUylvUVhvTkLktUVIQXc+aSPSqJJd7FZQ=

— memorywire/fa78d7a0c6c2968b94ca5bd4561bd390 \
diekQrhPuGODEltbSu8LwsJPxHFj1ijNMJtMLipxSTaKpisv9cLzTbnFY1Hy9PA8Zq7U4QJ0Zm4FuQnVbtvi1oFKMQg=
"""
SAMPLES = ("a", '"1"', "1", CHECKPOINT)
ODD = ("\x01", " ", "é", '"', "x")
ENDLESS = "/v0/events"


def resolved(schema: Described) -> Described:
    while "$ref" in schema:
        found: Any = openapi()
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = {**found, **{name: value for name, value in schema.items() if name != "$ref"}}
    return schema


def kind_of(parameter: Described) -> Described:
    content = parameter.get("content", {}).get("application/json")
    kind = resolved(parameter["schema"] if content is None else content["schema"])
    return kind if content is None else {**kind, "json": True}


def within(kind: Described) -> Iterator[Any]:
    """Values that fit, the outermost ones among them."""
    if "json" in kind:
        yield json.dumps({"metadata.x": 1})
    elif kind.get("type") == "array":
        yield [next(within(resolved(kind["items"])))]
    elif "enum" in kind:
        yield from kind["enum"]
    elif kind["type"] == "boolean":
        yield from ("true", "false")
    elif kind["type"] == "integer":
        yield from (kind["minimum"], kind["maximum"])
    else:
        fitting = [one for one in SAMPLES if re.search(kind.get("pattern", ""), one)]
        yield fitting[0]
        if "maxLength" in kind:
            yield fitting[0] * kind["maxLength"]


def beyond(kind: Described) -> Iterator[Any]:
    """One value past each limit that the schema sets."""
    if "json" in kind:
        yield from ("{", "3")
    elif kind.get("type") == "array":
        item = resolved(kind["items"])
        yield from ([value] for value in beyond(item))
        if kind.get("uniqueItems"):
            yield [next(within(item))] * 2
    elif "enum" in kind:
        yield "none-of-these"
    elif kind["type"] == "boolean":
        yield "perhaps"
    elif kind["type"] == "integer":
        yield from (kind["minimum"] - 1, kind["maximum"] + 1, "1.5", "one", "")
    else:
        yield from _texts_beyond(kind)


def _texts_beyond(kind: Described) -> Iterator[str]:
    if kind.get("minLength"):
        yield ""
    if "maxLength" in kind:
        yield next(within(kind)) * (kind["maxLength"] + 1)
    if "pattern" in kind:
        yield next(one for one in ODD if not re.search(kind["pattern"], one))


def values(operation: Described) -> dict[str, Any]:
    """A fitting value for each parameter that must be there."""
    required = [one for one in operation.get("parameters", ()) if one["required"]]
    return {one["name"]: next(within(kind_of(one))) for one in required}


def with_value(method: str, path: str, parameter: Described, value: object) -> dict[str, Any]:
    """A request that is right but for this value, perhaps."""
    return {**values(openapi()["paths"][path][method]), parameter["name"]: value}


def send(client: Client, method: str, path: str, sent: Mapping[str, Any]) -> Reply:
    operation = openapi()["paths"][path][method]
    places = {one["name"]: one["in"] for one in operation.get("parameters", ())}
    for name in (name for name, place in places.items() if place == "path"):
        path = path.replace(f"{{{name}}}", quote(str(sent[name]), safe=""))
    query = urlencode(
        {name: value for name, value in sent.items() if places.get(name, "query") == "query"}, doseq=True
    )
    headers = {name: str(value) for name, value in sent.items() if places.get(name) == "header"}
    body = b"{}" if "requestBody" in operation else None
    said = {"Content-Type": "application/json", **headers}
    return client.send(method.upper(), f"{path}?{query}" if query else path, body, said)


def refused(reply: Reply, name: str) -> bool:
    """Whether the answer is a problem with that very parameter."""
    return reply.status == 422 and str(reply.json.get("field", "")).partition(".")[0] == name


def named(method: str, path: str, parameter: Described) -> str:
    return f"{method} {path} {parameter['name']}"


def test_what_is_past_a_published_limit_is_refused(client: Client):
    passed = [
        (named(method, path, parameter), str(value)[:40])
        for method, path, parameter in PARAMETERS
        for value in beyond(kind_of(parameter))
        if (parameter["in"] == "query" or value != "")  # a path without the part is another address
        and not refused(
            send(client, method, path, with_value(method, path, parameter, value)), parameter["name"]
        )
    ]
    assert passed == []


def test_what_is_within_the_published_limits_is_not_refused(client: Client):
    turned_away = [
        (named(method, path, parameter), str(value)[:40])
        for method, path, parameter in PARAMETERS
        if path != ENDLESS
        for value in within(kind_of(parameter))
        if refused(send(client, method, path, with_value(method, path, parameter, value)), parameter["name"])
    ]
    assert turned_away == []


def test_the_walk_meets_every_kind_of_limit():
    met = {limit for _, _, parameter in PARAMETERS for limit in kind_of(parameter)}
    assert {"maxLength", "minLength", "minimum", "maximum", "enum", "pattern", "uniqueItems", "json"} <= met


def test_no_address_takes_a_parameter_that_is_not_described(client: Client):
    taken = [
        (method, path)
        for method, path, operation in OPERATIONS
        if not refused(send(client, method, path, {**values(operation), "colour": "red"}), "colour")
    ]
    assert taken == []


@pytest.mark.parametrize("name", ["If-Match", "Idempotency-Key"])
def test_no_promise_is_taken_where_it_would_not_be_kept(client: Client, name: str):
    def broken(method: str, path: str, operation: Described) -> bool:
        if any(one["name"] == name for one in operation.get("parameters", ())):
            return False
        reply = client.send(
            method.upper(),
            re.sub("{(scope)}|{[a-z_]+}", lambda part: "agent" if part[1] else "a", path),
            b"{}" if "requestBody" in operation else None,
            {"Content-Type": "application/json", name: '"1"'},
        )
        return not refused(reply, name)

    assert [operation[:2] for operation in OPERATIONS if broken(*operation)] == []


def test_a_parameter_that_must_be_there_is_asked_for(client: Client):
    for method, path, parameter in PARAMETERS:
        if parameter["required"] and parameter["in"] == "query":
            sent = values(openapi()["paths"][path][method])
            del sent[parameter["name"]]
            assert refused(send(client, method, path, sent), parameter["name"]), path


def test_a_whole_number_may_be_written_as_json_writes_it(client: Client):
    assert client.get("/v0/kv/agent/numbers", limit="2.0").status == 200
    assert client.get("/v0/kv/agent/numbers", limit="1e1").status == 200


def test_a_parameter_is_named_once(client: Client):
    assert client.get("/v0/audit", limit=[1, 2]).json["field"] == "limit"
