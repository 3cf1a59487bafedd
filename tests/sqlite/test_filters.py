"""A filter means the same in SQL as in `Where.matches`, and leads through the right index."""

import asyncio
import re
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorywire.model.query import EVERYTHING, And, Compare, Filter, Not, Operator, Or, Where
from memorywire.model.record import MemoryType, Record, Scope, Standing, Trust
from memorywire.stores.document import migrations
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.reads import conditions
from memorywire.stores.sqlite.sql import QUERIES
from memorywire_testing.samples import NOW, SPACE, a_record, a_scope, compare, everything, ids, keep
from tests.sqlite.desk import opened, run

# Values that meet each other: numbers that are equal or almost, strings that look like them, nested lists.
_NUMBERS = [0, 1, 2, -1, 1.0, 0.5, 0.1 + 0.2, 2**53, 2**53 + 1, 1e300, -0.0, 2**63 - 1]
_WORDS = ["", "a", "ab", "A", "1", "true", "null", "[]", 'q"uote', "b\\s", "%", "é", "e\u0301", "東京", "😀"]
_SCALARS = st.sampled_from([None, True, False, *_NUMBERS, *_WORDS])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "0"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_KEYS = st.sampled_from(["k", "a", "é", "a b", "0", 'q"', "b\\", "x.y", "$", "[0]", "", "#"])
_RECORDS = st.fixed_dictionaries(
    {
        "content": st.sampled_from(["", "a", "ab zebra", "東京", {}, {"a": "zebra"}]),
        "metadata": st.dictionaries(_KEYS, _VALUES, max_size=3),
        "tags": st.lists(st.sampled_from(["", "a", "b", "1", "東京"]), max_size=3).map(tuple),
        "source": st.sampled_from([None, "", "a", "ab"]),
        "session_id": st.sampled_from([None, "a"]),
        "type": st.sampled_from(MemoryType),
        "standing": st.sampled_from(Standing),
        "confidence": st.sampled_from([0.0, 0.5, 0.1 + 0.2, 1, 1.0]),
        "occurred_at": st.sampled_from([None, 0, 1, -5]),
        "expires_at": st.sampled_from([None, NOW + 1, NOW, NOW - 1]),
        "created_at": st.sampled_from([NOW - 1, NOW, NOW + 1]),
    }
)
_FIELDS = ["id", "type", "content", "user_id", "confidence", "source", "session_id", "tags", "created_at"]
_FIELDS += ["updated_at", "occurred_at", "expires_at", "version", "standing"]
_PATHS = st.one_of(
    st.sampled_from(_FIELDS).map(lambda name: (name,)),
    st.tuples(st.just("metadata"), _KEYS),
    st.tuples(st.just("metadata"), _KEYS, st.sampled_from(["a", "b", "0"])),
    st.just(("metadata",)),
)
_WANTED = _VALUES | st.sampled_from([2**70, "semantic", "active", "u", NOW, "m0"])


@st.composite
def _comparisons(draw: st.DrawFn) -> Filter:
    operator = draw(st.sampled_from(Operator))
    wanted: Any = draw(_WANTED)
    if operator in (Operator.IN, Operator.NIN):
        wanted = draw(st.lists(_WANTED, max_size=3))
    elif operator is Operator.EXISTS:
        wanted = draw(st.booleans())
    elif operator is Operator.PREFIX:
        wanted = draw(st.sampled_from(["", "a", "ab", "東", "%", "é", "e"]))
    return Compare(draw(_PATHS), operator, wanted)


_FILTERS = st.recursive(
    _comparisons(),
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=4,
)


@settings(
    max_examples=250, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(st.lists(_RECORDS, min_size=1, max_size=4), st.lists(_FILTERS, min_size=4, max_size=12))
def test_a_filter_selects_the_same_in_sql_as_in_python(
    records: list[dict[str, Any]], filters: list[Filter]
) -> None:
    agent = Scope(agent="a")
    kept = [
        a_record(replace(agent, user=[None, "u"][number % 2]), id=f"m{number}", **fields)
        for number, fields in enumerate(records)
    ]
    wheres = [everything(agent, filter=part, standings=frozenset(Standing)) for part in filters]

    async def main(store: SqliteStore) -> None:
        await keep(store, *kept)
        for where in wheres:
            wanted = [record.id for record in kept if where.matches(record)]
            assert ids(await store.find(where)) == wanted, where.filter
            assert await store.count(where) == len(wanted), where.filter
        await store.close()

    run(main(SqliteStore(Location(path=None), SPACE)))


def _pushed(part: Filter) -> bool:
    return conditions(everything(a_scope(), filter=part)).rest == EVERYTHING


@pytest.mark.parametrize(
    "part",
    [
        compare("metadata.k", "eq", "x"),
        compare("metadata.k.deep.é", "gte", 2.5),
        compare("metadata.k", "in", ["a", 1, None, True]),
        compare("tags", "eq", "x"),
        compare("tags", "contains", "x"),
        compare("content", "contains", "zebra"),
        compare("source", "prefix", "web:"),
        compare("confidence", "lt", 0.5),
        compare("metadata.k", "exists", False),
        Not(Or((compare("type", "ne", "semantic"), compare("user_id", "eq", None)))),
    ],
)
def test_what_people_ask_for_is_decided_in_the_file(part: Filter) -> None:
    assert _pushed(part)


@pytest.mark.parametrize(
    "part",
    [
        compare("metadata.k", "eq", {"a": 1}),
        compare("metadata.k", "contains", [1]),
        Compare(("metadata", 'a"b'), Operator.EQ, 1),
        compare("version", "gt", 2**70),
        compare("source", "eq", "\ud800"),
        Or(tuple(compare("metadata.k", "eq", number) for number in range(200))),
        compare("metadata.k", "nin", list(range(200))),
    ],
)
def test_what_sql_would_decide_differently_is_left_to_python(part: Filter) -> None:
    assert not _pushed(part)


def test_a_conjunction_is_pushed_as_far_as_possible() -> None:
    exact, left = compare("source", "eq", "web"), compare("metadata.k", "eq", [1])
    asked = conditions(everything(a_scope(), filter=And((exact, left))))
    assert asked.rest == And((left,))
    assert "source" in asked.sql


def test_pages_are_full_although_python_drops_rows(tmp_path: Path) -> None:
    scope = a_scope()
    kept = [a_record(scope, id=f"m{n:04}", metadata={"k": [n % 97]}) for n in range(1000)]
    where = everything(scope, filter=compare("metadata.k", "eq", [5]))

    async def main() -> None:
        async with opened(tmp_path / "m.db") as store:
            await keep(store, *kept)
            wanted = [f"m{n:04}" for n in range(5, 1000, 97)]
            first = await store.find(where, limit=4)
            second = await store.find(where, after=first[-1].id, limit=4)
            third = await store.find(where, after=second[-1].id, limit=4)
            assert [len(first), len(second), len(third)] == [4, 4, 3]
            assert ids([*first, *second, *third]) == wanted
            assert await store.count(where) == len(wanted)

    run(main())


def _plans() -> list[tuple[str, str, str]]:
    """Every query, and what the planner makes of it."""
    db = apsw.Connection(":memory:")
    for _, script in migrations("memorywire.stores.sqlite"):
        db.execute(script)
    db.execute("PRAGMA foreign_keys = OFF")
    plans = []
    for name, sql in QUERIES.read().items():
        for form in _forms(sql):
            places = len(set(re.findall(r"\?\d+", form))) or form.count("?")
            bindings = dict.fromkeys(re.findall(r":(\w+)", form), "[]") or ("",) * places
            steps = db.execute(f"EXPLAIN QUERY PLAN {form}", bindings).fetchall()
            plans.append((name, form, "\n".join(step[3] for step in steps)))
    return plans


def _forms(sql: str) -> list[str]:
    if "{conditions}" not in sql:
        return [sql]
    scopes = [Scope(agent="a"), Scope(agent="a", user="u")]
    asked = [conditions(Where(scope=scope, alive_at=0, as_of=at)) for scope in scopes for at in (None, 7)]
    pages = [f"{part.sql} AND {part.id} > :after" for part in asked]
    return [sql.format(conditions=form) for form in [*(part.sql for part in asked), *pages]]


WHOLE_FILE = {
    *("owners", "sizes", "all_meta", "reembed_total", "reembed_next", "reembed_swap", "reembed_done"),
    *("reword_total", "reword_next", "examined_versions", "examined_changes", "misplaced_versions"),
    *("damaged_recall", "unchecked_rows", "remove_user_from_versions"),
    *("without_tokens", "count_without_tokens", "examined_tokens"),
}
"""Queries whose business is the whole file: its agents, its health, new vectors or words for all of it, and
the erasure of a person."""


@pytest.mark.parametrize(("name", "sql", "plan"), [plan for plan in _plans() if plan[0] not in WHOLE_FILE])
def test_no_query_reads_more_than_its_own_agent(name: str, sql: str, plan: str) -> None:
    assert not re.search(r"SCAN (version|change|recall)", plan), f"{name}\n{sql}\n{plan}"
    for step in re.findall(r"SEARCH version .*", plan):
        narrow = ("rowid=?", "rowid>? AND rowid<?", "agent=?", "id=?")
        assert any(key in step for key in narrow), f"{name}\n{sql}\n{plan}"


def test_the_content_of_a_duplicate_is_found_by_its_digest() -> None:
    [plan] = [plan for name, _, plan in _plans() if name == "same_content"]
    assert "version_digest (tenant=? AND agent=? AND digest=?)" in plan


def test_records_come_back_as_they_were_written() -> None:
    scope = a_scope(user="u")
    kept = Record(
        id="x",
        scope=scope,
        type=MemoryType.PROCEDURAL,
        content={"steps": ["a", {"b": [1, 2.5, None, True]}], "é": "東京 😀"},
        created_at=1,
        updated_at=2,
        confidence=0.1 + 0.2,
        metadata={"k": {"deep": [[], {}, -0.0, 2**63 - 1]}, "": ""},
        tags=("b", "a", "b"),
        source="s",
        session_id="t",
        occurred_at=-1,
        expires_at=2**62,
        standing=Standing.DEMOTED,
        supersedes=("y",),
        merged_from=("z", "w"),
        derived_from=("v",),
        trust=Trust.UNTRUSTED,
    )

    async def main() -> list[Record]:
        async with opened(None) as store:
            await keep(store, kept)
            return await store.get(scope, ["x"])

    assert asyncio.run(main()) == [kept]
