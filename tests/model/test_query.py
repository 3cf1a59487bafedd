"""What a filter means, where a store could be tempted to mean something else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorywire.model.query import And, Compare, Not, Operator, Or, Where
from memorywire.model.record import MemoryType, Record, Scope, Standing

SCOPE = Scope(agent="ana")
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, 0.5])
    | st.sampled_from(["", "a", "1"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def _record(**fields: Any) -> Record:
    values = {
        "scope": SCOPE,
        "content": "tea",
        "type": MemoryType.SEMANTIC,
        "created_at": 100,
        "updated_at": 100,
    }
    return Record(id="m", **(values | fields))


def _holds(actual: object, operator: str, wanted: object) -> bool:
    return Compare(("metadata", "k"), Operator(operator), wanted).matches(_record(metadata={"k": actual}))


@pytest.mark.parametrize(
    ("actual", "operator", "wanted", "meant"),
    [
        (1, "eq", 1.0, True),
        (True, "eq", 1, False),
        ([True], "eq", [1], False),
        ({"a": 0}, "eq", {"a": False}, False),
        ({"a": 1}, "eq", {"a": 1.0}, True),
        (["a", "b"], "eq", "b", True),
        ([["b"]], "eq", "b", True),
        (["a", "b"], "eq", ["b", "a"], False),
        ([None], "eq", None, True),
        ([], "eq", None, False),
        (["a"], "ne", "a", False),
        ([], "exists", True, False),
        (None, "exists", False, True),
        (False, "exists", True, True),
        ("teapot", "contains", "pot", True),
        (["teapot"], "contains", "pot", False),
        ([1], "contains", True, False),
        ({"pot": 1}, "contains", "pot", False),
        ("Tea", "prefix", "te", False),
        (["tea"], "prefix", "te", False),
        ("10", "gt", 9, False),
        (True, "gte", 0, False),
        (None, "lt", 5, False),
        ("b", "gt", "a", True),
        (2**53 + 1, "gt", 2**53, True),
    ],
)
def test_a_comparison_means(actual: object, operator: str, wanted: object, meant: bool) -> None:
    assert _holds(actual, operator, wanted) is meant


@given(VALUES, VALUES)
def test_ne_is_the_opposite_of_eq(actual: object, wanted: object) -> None:
    assert _holds(actual, "ne", wanted) is not _holds(actual, "eq", wanted)


@given(VALUES, st.lists(VALUES, max_size=3))
def test_in_is_eq_to_one_of_and_nin_its_opposite(actual: object, choices: list[object]) -> None:
    one_of = any(_holds(actual, "eq", choice) for choice in choices)
    assert _holds(actual, "in", choices) is one_of
    assert _holds(actual, "nin", choices) is not one_of


@given(VALUES)
def test_every_value_equals_itself(value: object) -> None:
    assert _holds(value, "eq", value)


@given(VALUES, VALUES)
def test_order_holds_one_way_or_not_at_all(actual: object, wanted: object) -> None:
    below, equal_or_above = _holds(actual, "lt", wanted), _holds(actual, "gte", wanted)
    assert not (below and equal_or_above)
    ordered = type(actual) is type(wanted) is str or (
        all(type(value) in (int, float) for value in (actual, wanted))
    )
    assert (below or equal_or_above) is ordered


def test_a_path_reads_the_record_or_steps_into_its_metadata() -> None:
    record = _record(
        scope=Scope(agent="ana", user="u"),
        tags=("x",),
        source="chat",
        metadata={"source": "book", "a": {"b": 1}, "a.b": 2},
    )
    paths: dict[tuple[str, ...], object] = {
        ("source",): "chat",
        ("metadata", "source"): "book",
        ("metadata", "a", "b"): 1,
        ("metadata", "a.b"): 2,
        ("metadata", "a", "b", "c"): None,
        ("metadata", "gone"): None,
        ("user_id",): "u",
        ("tags",): "x",
        ("type",): "semantic",
        ("standing",): "active",
        ("expires_at",): None,
    }
    for path, value in paths.items():
        assert Compare(path, Operator.EQ, value).matches(record), path
        assert not Compare(path, Operator.EQ, "something else").matches(record), path


def test_no_parts_of_and_are_all_met_and_of_or_none() -> None:
    assert And(()).matches(_record())
    assert not Or(()).matches(_record())
    assert Not(Or(())).matches(_record())


def test_a_scope_covers_its_own() -> None:
    agent, user = Scope(agent="ana"), Scope(agent="ana", user="u")
    assert agent.covers(agent)
    assert agent.covers(user)
    assert user.covers(user)
    assert not user.covers(agent)
    assert not user.covers(Scope(agent="ana", user="v"))
    assert not agent.covers(Scope(agent="ben"))
    assert not agent.covers(Scope(agent="ana", tenant="other"))


@pytest.mark.parametrize(
    ("conditions", "met", "missed"),
    [
        ({"alive_at": 99}, {"expires_at": 100}, {"expires_at": 99}),
        ({"types": frozenset({MemoryType.EPISODIC})}, {"type": MemoryType.EPISODIC}, {}),
        ({"created_since": 100}, {"created_at": 100}, {"created_at": 99}),
        ({"created_until": 100}, {"created_at": 100}, {"created_at": 101}),
        ({"idle_since": 150}, {"recalled_at": 150}, {"recalled_at": 151}),
        ({"idle_since": 99}, {"created_at": 99}, {"created_at": 100, "recalled_at": 5}),
        ({"confidence_below": 0.5}, {"confidence": 0.49}, {"confidence": 0.5}),
        ({}, {"standing": Standing.DEMOTED}, {"standing": Standing.ARCHIVED}),
        ({"standings": frozenset({Standing.ARCHIVED})}, {"standing": Standing.ARCHIVED}, {}),
    ],
)
def test_a_condition_is_met_or_missed(
    conditions: dict[str, Any], met: dict[str, Any], missed: dict[str, Any]
) -> None:
    where = Where(**({"scope": SCOPE, "alive_at": 0} | conditions))
    assert where.matches(_record(**met))
    assert not where.matches(_record(**missed))


def test_liveness_is_not_optional() -> None:
    with pytest.raises(TypeError, match="alive_at"):
        Where(scope=SCOPE)
