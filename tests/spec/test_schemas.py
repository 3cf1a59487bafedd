"""The schemas are valid, closed, described, and agree with the examples."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from memorywire.wire import spec

from .schemas import faults, validator

OPERATIONS = ("remember", "recall", "forget", "merge", "expire")
READS = ("context", "profile", "get", "list", "history", "undo", "changes")
OVERSIGHT = (
    *("proposals", "proposal", "decide", "why"),
    *("rules", "set_rules", "test_rule", "activate_rule", "revert_rule"),
    *("agents", "facets", "recalls", "feedback", "erase"),
)

# Objects whose keys belong to the writer, by the place where they are described.
FREE = {
    "common/$defs/metadata",
    "common/$defs/content",
    "remember.request/properties/privacy_intent",
    "proposal.response/$defs/fields",
    "governance_request/properties/request",
}


def examples(kind: str) -> list[Any]:
    return [
        pytest.param(operation, example, id=f"{operation}/{name}")
        for operation in OPERATIONS + READS + OVERSIGHT
        for name, example in spec.examples(operation, kind).items()
    ]


def _walk(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        yield path, schema
        for key, inner in schema.items():
            yield from _walk(inner, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, inner in enumerate(schema):
            yield from _walk(inner, f"{path}/{index}")


def _describes_object(schema: dict[str, Any]) -> bool:
    kinds = schema.get("type", [])
    return "object" in ([kinds] if isinstance(kinds, str) else kinds) or "additionalProperties" in schema


@pytest.mark.parametrize("name", spec.schemas())
def test_every_schema_is_valid_and_says_where_it_lives(name: str) -> None:
    schema = spec.schema(name)
    jsonschema_rs.meta.validate(schema)
    assert validator(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"{spec.BASE}{name}.json"


def _open_objects(schema: dict[str, Any], name: str) -> set[str]:
    condition = ("/if", "/then")  # a condition narrows an object that is described, and closed, elsewhere
    return {
        path
        for path, part in _walk(schema, name)
        if _describes_object(part)
        and not path.endswith(condition)
        and part.get("additionalProperties", True) is True
    }


@pytest.mark.parametrize("name", spec.schemas())
def test_every_object_is_closed(name: str) -> None:
    """Proves G-1."""
    assert _open_objects(spec.schema(name), name) <= FREE


def test_an_open_object_would_be_noticed() -> None:
    policy = {"type": "object", "properties": {}}
    schema = {"type": "object", "additionalProperties": False, "properties": {"policy": policy}}
    assert _open_objects(schema, "expire") == {"expire/properties/policy"}


@pytest.mark.parametrize("name", spec.schemas())
def test_every_property_has_a_title_and_a_description(name: str) -> None:
    tables = [
        (path, schema["properties"])
        for path, schema in _walk(spec.schema(name), name)
        if isinstance(schema.get("properties"), dict) and not path.endswith(("/if", "/then", "/properties"))
    ]
    bare = [
        f"{path}.{key}"
        for path, table in tables
        for key, schema in table.items()
        if not {"title", "description"} <= set(schema)
    ]
    assert bare == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_enough_examples(operation: str) -> None:
    assert len(spec.examples(operation, "valid")) >= 6
    assert len(spec.examples(operation, "invalid")) >= 12


@pytest.mark.parametrize(("operation", "example"), examples("valid"))
def test_a_valid_example_is_valid(operation: str, example: dict[str, Any]) -> None:
    assert faults(f"{operation}.request", example["request"]) == []
    if "response" in example:
        assert faults(f"{operation}.response", example["response"]) == []


@pytest.mark.parametrize(("operation", "example"), examples("invalid"))
def test_the_schema_refuses_an_invalid_example_unless_only_the_door_can(
    operation: str, example: dict[str, Any]
) -> None:
    seen_by_schema = example.get("refused_by") != "door"
    assert bool(faults(f"{operation}.request", example["request"])) is seen_by_schema


@pytest.mark.parametrize(("operation", "example"), examples("invalid"))
def test_an_expected_problem_has_the_shape_of_one(operation: str, example: dict[str, Any]) -> None:
    assert faults("problem", example["problem"] | {"detail": "any"}) == []
    assert set(example) <= {"description", "request", "problem", "refused_by"}
