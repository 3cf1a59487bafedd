"""JSON is refused, with a named place, before anything could be lost or crash."""

import json
from datetime import UTC, datetime
from traceback import format_exception_only

import pytest

from memorywire.model.errors import InvalidJson, InvalidRequest, UnknownOperation
from memorywire.wire import strict, validate

GOOD = {"agent_id": "a", "type": "semantic", "content": "x"}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": 123456789012345678901234567890}',
        '{"a": ' + "9" * 5000 + "}",
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 40 + "1" + "}" * 40,
        '{"a": "\\ud800"}',
        '{"a": 9223372036854775808}',
        '{"a": "\\u0000"}',
        '{"\\u0000": 1}',
        "",
        "{",
        '{"a": 1} x',
        "{'a': 1}",
        b"\xff\xfe",
        b'{"a": "\xff"}',
    ],
    ids=lambda text: repr(text[:24]),
)
def test_a_document_no_store_could_keep_is_refused(text):
    with pytest.raises(InvalidRequest):
        strict.parse(text)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('{"b": {"a": 1, "a": 2}}', "a"),
        ('{"m": {"x": [1, "\\ud800"]}}', "m.x.1"),
        ('{"m": "a\\u0000b"}', "m"),
    ],
)
def test_the_refusal_names_the_place(text, field):
    with pytest.raises(InvalidRequest) as caught:
        strict.parse(text)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "value", [{"a": [1, 2.5, None, True, "é🦊"]}, {"i": 2**63 - 1, "j": -(2**63)}, {"": {"": []}}]
)
def test_ordinary_documents_pass_unchanged(value):
    assert strict.parse(json.dumps(value)) == value


@pytest.mark.parametrize("leaf", ["[]", "{}", '"x"', "1"])
def test_depth_is_counted_to_the_last_allowed_level(leaf):
    def nested(levels):
        return json.loads("[" * levels + leaf + "]" * levels)

    strict.check(nested(strict.MAX_DEPTH - 1))
    with pytest.raises(InvalidRequest):
        strict.check(nested(strict.MAX_DEPTH))


@pytest.mark.parametrize("value", [{1: 2}, {"a": {1, 2}}, {"a": b"x"}, {"a": object()}, {"a": (1,)}])
def test_python_values_that_are_not_json_are_refused(value):
    with pytest.raises(InvalidRequest):
        validate.check("remember", {**GOOD, "metadata": value})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": "x" * 10_000_000}, "content"),
        ({"agent_id": "a" * 257}, "agent_id"),
        ({"id": "i" * 257}, "id"),
        ({"confidence": True}, "confidence"),
        ({"confidence": float("nan")}, "confidence"),
        ({"expires_at": 1.5}, "expires_at"),
        ({"tags": ["a", "a"]}, "tags"),
        ({"metadata": []}, "metadata"),
    ],
    ids=lambda v: str(v)[:20],
)
def test_a_bad_field_is_named_and_never_echoed_at_length(change, field):
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, **change})
    assert caught.value.field == field
    assert len(caught.value.detail) < 200


@pytest.mark.parametrize("payload", [None, [], "x", 3, True])
def test_a_payload_must_be_an_object(payload):
    with pytest.raises(InvalidRequest):
        validate.check("remember", payload)


def test_a_misspelt_field_is_refused_with_the_right_spelling():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, "aproval_required": True})
    assert caught.value.field == "aproval_required"
    assert caught.value.fix == "did you mean approval_required?"


def test_an_unknown_operation_lists_the_known_ones():
    with pytest.raises(UnknownOperation) as caught:
        validate.check("rememberr", {})
    assert "remember" in caught.value.fix


def test_the_two_kinds_of_refusal_have_their_own_codes():
    assert (InvalidJson.code, InvalidRequest.code) == ("invalid_json", "validation_error")


@pytest.mark.parametrize(
    ("given", "fix"), [("user", "did you mean user_id?"), ("tenant", "there are: agent_id")]
)
def test_only_a_near_miss_is_taken_for_a_field(given, fix):
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, given: "x"})
    assert caught.value.field == given
    assert caught.value.fix.startswith(fix)


def test_a_problem_of_the_whole_request_names_no_field():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", [])
    assert set(caught.value.problem()) == {"code", "detail"}


def test_a_forget_of_nothing_says_what_to_give():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("forget", {"agent_id": "a"})
    assert (caught.value.detail, caught.value.field) == ("give ids, filter, or both", "ids")


def test_an_unknown_operator_lists_the_known_ones():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("list", {"agent_id": "a", "filter": {"source": {"contain": "x"}}})
    assert caught.value.field == "filter.source.contain"
    assert "eq, ne," in caught.value.detail
    assert caught.value.fix == "did you mean contains?"


@pytest.mark.parametrize("word", ["AND", "Or", "NOT"])
def test_a_combination_in_capitals_is_refused_with_the_right_spelling(word):
    with pytest.raises(InvalidRequest) as caught:
        validate.check("list", {"agent_id": "a", "filter": {"not": {word: [{"x": 1}]}}})
    assert (caught.value.field, caught.value.fix) == (f"filter.not.{word}", f"use {word.lower()}")


def test_blank_content_is_called_blank():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, "content": "\u200b \n"})
    assert caught.value.detail == "content must not be blank"


@pytest.mark.parametrize(
    ("operation", "change", "fix"),
    [
        ("recall", {"rank": {"recencyy": 1}}, "did you mean recency?"),
        ("recall", {"rank": {"age": 1}}, "there are: semantic, recency, half_life_days, source, frequency"),
        ("recall", {"half_life_days": 7}, "there are: agent_id, user_id, scope, team, query"),
        ("recall", {"k": "many"}, "k: At most this many results."),
        ("recall", {"query": ""}, "query: The question or search text; not blank."),
    ],
)
def test_what_is_wrong_is_told_with_what_is_known_at_that_place(operation, change, fix):
    with pytest.raises(InvalidRequest) as caught:
        validate.check(operation, {"agent_id": "a", "query": "tea", **change})
    assert caught.value.fix.startswith(fix)


def test_a_field_inside_another_is_told_by_itself():
    asked = {"agent_id": "a", "query": "tea", "rank": {"half_life_days": 0}}
    with pytest.raises(InvalidRequest) as caught:
        validate.check("recall", asked)
    assert caught.value.detail == "rank.half_life_days must be more than 0"
    assert caught.value.fix == "rank.half_life_days: Recency halves after this many days."


def test_nothing_where_one_is_needed_is_called_empty():
    for change in ({"tags": [""]}, {"id": ""}):
        with pytest.raises(InvalidRequest, match="must not be empty"):
            validate.check("remember", {**GOOD, **change})
    with pytest.raises(InvalidRequest, match=r"is too long \(limit 65536\)"):
        validate.check("remember", {**GOOD, "content": "x" * 65_537})


def test_a_moment_of_python_is_told_how_the_wire_spells_it():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, "occurred_at": datetime.now(UTC)})
    assert (caught.value.field, "epoch milliseconds" in str(caught.value.fix)) == ("occurred_at", True)


def test_a_traceback_shows_the_field_and_the_fix():
    with pytest.raises(InvalidRequest) as caught:
        validate.check("remember", {**GOOD, "tag": ["ops"]})
    shown = "".join(format_exception_only(caught.value))
    assert shown.endswith("unknown field tag\nfield: tag\nfix: did you mean tags?\n")
