"""The published description: valid, readable by generators, with examples that a default server accepts."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from memorywire.wire import spec
from memorywire_server.http.docs_page import published_openapi
from memorywire_server.http.openapi import openapi
from tests.http.server import Client, serving

MEMORIES = (
    "01936f5e-0c00-7000-8a11-5b1d5e0c0001",
    "01936f5e-0c00-7001-9b22-5b1d5e0c0002",
    "01936f5e-0c00-7002-ac33-5b1d5e0c0003",
    "pref-ana",
)
MADE_BY_THE_SERVER = {
    "undo",
    "share",
    "unshare",
    "proposal",
    "decide",
    "why",
    "feedback",
    "activate_rule",
    "revert_rule",
}
"""Operations about what a server gives an id to, or must have met: it does not know that of the example."""


def references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from references(inner)
    elif isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in published_openapi()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_the_description_is_valid():
    assert [str(error) for error in OpenAPIV31SpecValidator(published_openapi()).iter_errors()] == []


def test_the_server_publishes_it(client: Client):
    assert client.get("/openapi.json").json == published_openapi()


def test_every_reference_leads_to_a_whole_component():
    document = published_openapi()
    for reference in references(document):
        assert re.fullmatch(r"#/components/(schemas|responses)/[\w.]+", reference), reference
        _, _, kind, name = reference.split("/")
        assert name in document["components"][kind], reference
    assert "$defs" not in json.dumps(document)


def test_every_operation_has_a_name_of_its_own():
    names = Counter(operation.get("operationId") for _, _, operation in operations())
    assert None not in names
    assert set(names.values()) == {1}


def judge(document: dict[str, Any], reference: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"$ref": reference, "components": document["components"]})


def spoilt(value: Any) -> Iterator[Any]:
    """The value, and the value with each of its fields gone or of a strange kind."""
    yield value
    if isinstance(value, dict):
        for name in value:
            yield {key: inner for key, inner in value.items() if key != name}
            for odd in (None, True, -1, "", [], {}, "x" * 300, {"a": {"b": 1}}):
                yield {**value, name: odd}


@pytest.mark.parametrize(
    "name", [name for name in published_openapi()["components"]["schemas"] if "." in name]
)
def test_what_is_published_means_the_same_as_what_is_checked(name: str):
    """The two arrangements of a schema judge every document alike."""
    operation, _, side = name.partition(".")
    known = [*spec.examples(operation, "valid").values()] if _has_examples(operation) else []
    ours, theirs = (
        judge(document, f"#/components/schemas/{name}") for document in (openapi(), published_openapi())
    )
    values = [{}, *(one[side] for one in known if side in one)]
    for value in (odd for example in values for odd in spoilt(example)):
        assert ours.is_valid(value) == theirs.is_valid(value), value


def _has_examples(operation: str) -> bool:
    try:
        return bool(spec.examples(operation, "valid"))
    except (FileNotFoundError, KeyError):
        return False


def test_a_default_server_accepts_every_example(tmp_path):
    refused: set[tuple[str, str]] = set()
    count = 0
    with serving(f"sqlite://{tmp_path}/memory.db", policy="balanced") as server:
        for method, path, operation in operations():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                for example in content.get("examples", {}).values():
                    count += 1
                    tenant = "default" if "rule" in path else f"tenant{count}"
                    client = Client(server.client.url, headers={"Memorywire-Tenant": tenant})
                    code = post(client, method, path, example["value"])
                    if code is not None:
                        refused.add((operation["operationId"], code))
    assert count > 80
    refused.discard(("set_rules", "conflict"))  # PUT /v0/rules took the same example before
    assert {code for _, code in refused} <= {"not_found"}, refused
    assert {operation for operation, _ in refused} <= MADE_BY_THE_SERVER


def post(client: Client, method: str, path: str, payload: Any) -> str | None:
    """The code of the problem, if a server that has the memories refuses the request."""
    text = json.dumps(payload)
    owner = {"user_id": payload["user_id"]} if "user_id" in payload else {}
    for id in MEMORIES:
        for version in range(payload.get("if_version", 1) if id in text else 0):
            condition = {"if_version": version} if version else {}
            client.remember(f"{id} says {version}", payload["agent_id"], id=id, **owner, **condition)
    reply = client.send(method, path, text.encode(), {"Content-Type": "application/json"})
    return reply.json["code"] if reply.status >= 400 else None
