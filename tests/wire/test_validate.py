"""The quick check of usual requests never accepts what their schema refuses, and changes no error."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorywire.model.errors import InvalidRequest
from memorywire.model.record import MemoryType
from memorywire.wire import spec, validate
from memorywire.wire.codec import decode

TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["", " ", "\u200b", "\x85", "\u3000\ufeff", "a", "茶", "semantic", "team", "auto", "-1"]),
    st.sampled_from([1, 251, 252, 256, 257, 1024, 1025, 8192, 8193, 65_536, 65_537]).map("x".__mul__),
)
NUMBERS = st.one_of(
    st.integers(-2, 2**63 - 1),
    st.floats(-1, 2),
    st.sampled_from([0, 1, 1.0, 2.0, 1000, 1001, 1_763_286_000, 1e300]),
)
VALUES = st.one_of(
    TEXTS,
    NUMBERS,
    st.booleans(),
    st.none(),
    st.sampled_from([*MemoryType]),
    st.lists(TEXTS, max_size=2),
    st.dictionaries(TEXTS, st.one_of(TEXTS, NUMBERS), max_size=2),
    st.just({str(n): n for n in range(257)}),
)
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "agent_id": TEXTS,
    "user_id": TEXTS,
    **dict.fromkeys(("team", "content", "query", "source", "session_id", "idempotency_key"), TEXTS),
    **dict.fromkeys(("approval_required", "pinned", "explain"), st.booleans()),
    "type": st.sampled_from(["semantic", "episodic", "emotional", "procedural"]),
    "scope": st.sampled_from(["user", "agent", "user_and_agent", "team", "all"]),
    "metadata": st.dictionaries(TEXTS, VALUES, max_size=2),
    "confidence": NUMBERS,
    "k": NUMBERS,
    "min_relevance": st.one_of(NUMBERS, st.sampled_from(["auto", "off"])),
}
BASE = {
    "remember": {"agent_id": "a", "type": "semantic", "content": "tea"},
    "recall": {"agent_id": "a", "query": "tea"},
}


@st.composite
def payloads(draw: st.DrawFn, operation: str) -> dict[str, Any]:
    """A good request with some fields added, replaced or left out."""
    names = [*spec.schema(f"{operation}.request")["properties"], "agent", "\u200b"]
    fields = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
    without = draw(st.sampled_from([None] * 9 + [*BASE[operation]]))
    payload = {name: value for name, value in BASE[operation].items() if name != without}
    for name in fields:
        is_likely = name in LIKELY and draw(st.integers(0, 4)) > 0
        payload[name] = draw(LIKELY[name] if is_likely else VALUES)
    return payload


def find_problem(check: Any, operation: str, payload: Any) -> dict[str, Any] | None:
    try:
        check(operation, payload)
    except InvalidRequest as problem:
        return problem.problem()
    return None


@pytest.mark.parametrize("operation", sorted(BASE))
@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_request_is_accepted_or_refused_as_its_schema_says(operation: str, data: st.DataObject) -> None:
    payload = data.draw(payloads(operation))
    by_schema = find_problem(validate.check, operation, payload)
    problem = find_problem(decode, operation, payload)
    if by_schema is not None or problem is None:
        assert problem == by_schema
    else:  # what no schema can say: whose memories are meant, and moments in a filter
        assert problem["field"].partition(".")[0] in {"user_id", "team", "scope", "filter"}


@pytest.mark.parametrize(
    ("operation", "field", "value"),
    [
        ("remember", "content", " \u200b"),
        ("remember", "content", "x" * 65_537),
        ("remember", "confidence", 1.5),
        ("remember", "confidence", True),
        ("remember", "user_id", None),
        ("remember", "session_id", ""),
        ("remember", "metadata", {str(n): n for n in range(257)}),
        ("remember", "agent", "a"),
        ("remember", "confidence", float("nan")),
        ("remember", "source", "\ud800"),
        ("recall", "query", "\u3000"),
        ("recall", "k", 0),
        ("recall", "k", True),
        ("recall", "min_relevance", "most"),
    ],
)
def test_what_the_schema_refuses_is_refused(operation: str, field: str, value: object) -> None:
    payload = BASE[operation] | {field: value}
    problem = find_problem(decode, operation, payload)
    assert problem is not None
    assert problem["field"] == field
    assert problem == find_problem(validate.check, operation, payload)


def test_the_mark_of_a_key_is_refused_as_metadata() -> None:
    mark = {"of": "user", "key": "k", "bytes": 1, "embedded": True}
    problem = find_problem(decode, "remember", BASE["remember"] | {"metadata": {"kv": mark}})
    assert problem is not None
    assert problem["field"] == "metadata.kv"


def test_a_usual_request_needs_no_compiled_schema() -> None:
    before = spec.shape.cache_info()
    decode("remember", BASE["remember"] | {"user_id": "u", "metadata": {"a": 1}, "source": "chat"})
    decode("recall", BASE["recall"] | {"user_id": "u", "scope": "user", "k": 3})
    assert spec.shape.cache_info() == before
