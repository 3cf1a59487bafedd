"""Bad input at the door: every invalid example is refused with its code and its field."""

from typing import Any

import pytest

from memorywire.model.errors import InvalidJson, InvalidRequest, UnknownOperation
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
