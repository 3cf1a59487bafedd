"""Bad input at the door: every invalid example is refused with its code and its field."""

from typing import Any

import pytest

from memorywire.model.clock import SECONDS
from memorywire.model.errors import InvalidJson, InvalidRequest, UnknownOperation
from memorywire.wire import spec
from memorywire.wire.filters import decode_filter
from memorywire.wire.strict import parse
from memorywire.wire.validate import check

from .schemas import faults
from .test_schemas import examples

FACT = {"agent_id": "a", "type": "semantic", "content": "x"}


@pytest.mark.parametrize(("operation", "example"), examples("invalid"))
def test_an_invalid_example_gives_its_problem(operation: str, example: dict[str, Any]) -> None:
    """Proves G-1, G-2, G-4, G-6, G-8, FL-5, FL-6 and EX-3."""
    with pytest.raises(InvalidRequest) as caught:
        check(operation, example["request"])
    problem = caught.value.problem()
    assert {"code": problem["code"], "field": problem.get("field")} == example["problem"]
    assert faults("problem", problem) == []


@pytest.mark.parametrize(("operation", "example"), examples("valid"))
def test_a_valid_example_passes(operation: str, example: dict[str, Any]) -> None:
    check(operation, example["request"])


@pytest.mark.parametrize("payload", [None, [], "text", 7, True])
def test_a_payload_that_is_no_object_is_refused(payload: object) -> None:
    """Proves G-2."""
    with pytest.raises(InvalidRequest):
        check("remember", payload)


def test_content_is_bounded() -> None:
    """Proves RM-13."""
    check("remember", FACT | {"content": "x" * 65_536})
    with pytest.raises(InvalidRequest) as caught:
        check("remember", FACT | {"content": "x" * 65_537})
    assert caught.value.field == "content"


def test_a_long_list_of_ids_is_refused() -> None:
    check("forget", {"agent_id": "a", "ids": [f"m{n}" for n in range(1000)]})
    with pytest.raises(InvalidRequest) as caught:
        check("forget", {"agent_id": "a", "ids": [f"m{n}" for n in range(1001)]})
    assert caught.value.field == "ids"


@pytest.mark.parametrize(
    ("operation", "payload", "field"),
    [
        ("remember", FACT | {"occurred_at": 1_763_286_000}, "occurred_at"),
        ("remember", FACT | {"expires_at": 1_763_286_000}, "expires_at"),
        ("recall", {"agent_id": "a", "query": "x", "as_of": 1_763_286_000.0}, "as_of"),
    ],
)
def test_a_moment_in_seconds_is_refused_and_the_fix_says_what_to_do(
    operation: str, payload: dict[str, Any], field: str
) -> None:
    """Proves G-11."""
    with pytest.raises(InvalidRequest, match=f"{field} is a time in seconds") as caught:
        check(operation, payload)
    assert (caught.value.field, caught.value.fix) == (field, "multiply it by 1000")
    check(operation, payload | {field: payload[field] * 1000})


def test_what_is_taken_for_seconds_is_what_the_schema_says() -> None:
    said = spec.schema("common")["$defs"]["seconds"]
    assert (said["minimum"], said["maximum"]) == (SECONDS[0], SECONDS[-1])


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"created_at": 1_763_286_000}, "filter.created_at"),
        ({"or": [{"version": 1}, {"occurred_at": {"lt": 1_763_286_000}}]}, "filter.or.1.occurred_at.lt"),
        ({"not": {"expires_at": {"in": [0, 1_763_286_000]}}}, "filter.not.expires_at.in"),
    ],
)
def test_a_filter_that_compares_a_moment_with_seconds_is_refused(
    document: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        decode_filter(document)
    assert caught.value.field == field


def test_a_number_in_the_metadata_is_whatever_its_writer_means() -> None:
    decode_filter({"metadata.seen": {"gt": 1_763_286_000}, "version": {"lt": 1_763_286_000}})


def test_an_unknown_operation_has_its_own_code() -> None:
    """Proves G-9."""
    with pytest.raises(UnknownOperation) as caught:
        check("memorise", {})
    assert caught.value.problem()["code"] == "unknown_operation"


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\x00", id="a NUL character"),
        pytest.param("\ud800", id="a lone surrogate"),
        pytest.param(float("nan"), id="not a number"),
        pytest.param(float("inf"), id="infinity"),
        pytest.param(2**63, id="an integer beyond 64 bits"),
        pytest.param({"k\x00": 1}, id="a NUL character in a key"),
    ],
)
def test_what_a_store_could_not_keep_is_refused_wherever_it_hides(value: object) -> None:
    """Proves G-4 and G-5."""
    with pytest.raises(InvalidRequest) as caught:
        check("remember", FACT | {"metadata": {"deep": [value]}})
    assert (caught.value.field or "").startswith("metadata.deep.0")


def test_nesting_is_bounded() -> None:
    """Proves G-5."""
    deep: object = "bottom"
    for _ in range(40):
        deep = [deep]
    with pytest.raises(InvalidRequest) as caught:
        check("remember", FACT | {"metadata": {"deep": deep}})
    assert (caught.value.field or "").startswith("metadata.deep")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"agent_id": "a", "agent_id": "b"}', id="the same key twice"),
        pytest.param('{"k": NaN}', id="NaN"),
        pytest.param('{"k": 1e999}', id="a number without end"),
        pytest.param('{"k": 99999999999999999999}', id="an integer beyond 64 bits"),
        pytest.param('{"k": "\\ud800"}', id="a lone surrogate"),
        pytest.param('{"k": ' + "[" * 100_000, id="a depth bomb"),
        pytest.param("{", id="half a document"),
        pytest.param(b'{"k": "\xff"}', id="bytes that are not UTF-8"),
    ],
)
def test_json_that_this_wire_does_not_accept_is_refused(text: str | bytes) -> None:
    """Proves G-5."""
    with pytest.raises(InvalidRequest) as caught:
        parse(text)
    assert caught.value.code in {InvalidJson.code, InvalidRequest.code}
