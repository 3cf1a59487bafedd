"""Checks of listing, expiry and paging, and of every operator of the filter language."""

from collections.abc import Iterable
from typing import Any

from memorywire.model.query import And, Compare, Filter, Not, Operator, Or
from memorywire.model.record import Json, MemoryType, Record, Scope, Standing
from memorywire.stores.contract import Store
from memorywire_testing.expect import holds, same
from memorywire_testing.samples import (
    NOW,
    a_name,
    a_query,
    a_record,
    a_scope,
    a_vector,
    by_id,
    compare,
    end,
    everything,
    ids,
    keep,
    keep_new,
    records,
    user_of,
)


async def _finds(store: Store, scope: Scope, wanted: list[Record], **conditions: object) -> None:
    """Check that find, count and search return exactly `wanted` for these conditions."""
    where = everything(scope, **conditions)
    same(ids(await store.find(where)), by_id(wanted))
    same(await store.count(where), len(wanted))
    hits = await store.search(a_query(scope, "kettle", a_vector(1), **conditions), 100)
    same(sorted(ids(hits)), by_id(wanted))


async def find_is_ordered_by_id(store: Store) -> None:
    memories = records(a_scope(), 12)
    for record in memories:
        await keep(store, record)
    same(ids(await store.find(everything(memories[0].scope))), by_id(memories))


async def paging_by_id_is_complete(store: Store) -> None:
    memories = records(a_scope(), 25)
    await keep(store, *memories)
    same(await _read_pages(store, memories[0].scope, size=7), by_id(memories))


async def paging_a_filtered_list_is_complete(store: Store) -> None:
    scope = a_scope()
    memories = [a_record(scope, f"kettle {n}", metadata={"even": n % 2 == 0}) for n in range(40)]
    await keep(store, *memories)
    even = [record for record in memories if record.metadata["even"]]
    same(await _read_pages(store, scope, size=6, filter=compare("metadata.even", "eq", True)), by_id(even))


async def paging_survives_changes_between_pages(store: Store) -> None:
    memories = sorted(records(a_scope(), 12), key=lambda record: record.id)
    scope = memories[0].scope
    await keep(store, *memories)
    first = await store.find(everything(scope), limit=5)
    await end(store, memories[0], memories[4], memories[7])
    rest = await store.find(everything(scope), after=first[-1].id, limit=50)
    same(ids(rest), [record.id for record in memories[5:] if record is not memories[7]])


async def a_page_begins_behind_any_id(store: Store) -> None:
    memories = records(a_scope(), 3)
    await keep(store, *memories)
    scope = memories[0].scope
    same(ids(await store.find(everything(scope), after="")), by_id(memories))
    same(ids(await store.find(everything(scope), after=max(by_id(memories)))), [])


async def a_memory_is_dead_from_the_moment_it_expires(store: Store) -> None:
    record = await keep_new(store, expires_at=NOW + 10, vector=a_vector(1))
    await _finds(store, record.scope, [record], alive_at=NOW + 9)
    await _finds(store, record.scope, [], alive_at=NOW + 10)
    await _finds(store, record.scope, [], alive_at=NOW + 11)


async def a_memory_without_an_end_outlives_every_moment(store: Store) -> None:
    record = await keep_new(store, vector=a_vector(1))
    await _finds(store, record.scope, [record], alive_at=2**53)


async def archived_memories_answer_only_when_asked_for(store: Store) -> None:
    scope = a_scope()
    active, demoted, archived = (a_record(scope, f"kettle {s}", standing=s) for s in Standing)
    await keep(store, active, demoted, archived, vector=a_vector(1))
    await _finds(store, scope, [active, demoted])
    await _finds(store, scope, [archived], standings=frozenset({Standing.ARCHIVED}))
    await _finds(store, scope, [active, demoted, archived], standings=frozenset(Standing))


async def types_select(store: Store) -> None:
    scope = a_scope()
    memories = {kind: a_record(scope, f"kettle {kind}", type=kind) for kind in MemoryType}
    await keep(store, *memories.values(), vector=a_vector(1))
    await _finds(store, scope, list(memories.values()))
    await _finds(store, scope, [memories[MemoryType.EMOTIONAL]], types=frozenset({MemoryType.EMOTIONAL}))
    pair = frozenset({MemoryType.SEMANTIC, MemoryType.PROCEDURAL})
    await _finds(store, scope, [memories[kind] for kind in pair], types=pair)


async def bounds_of_creation_are_inclusive(store: Store) -> None:
    scope = a_scope()
    early, middle, late = (a_record(scope, f"kettle {t}", created_at=NOW + t) for t in (-1, 0, 1))
    await keep(store, early, middle, late, vector=a_vector(1))
    await _finds(store, scope, [middle, late], created_since=NOW)
    await _finds(store, scope, [early, middle], created_until=NOW)
    await _finds(store, scope, [middle], created_since=NOW, created_until=NOW)


async def confidence_below_is_strict(store: Store) -> None:
    scope = a_scope()
    low, edge, high = (a_record(scope, f"kettle {c}", confidence=c) for c in (0.0, 0.5, 1.0))
    await keep(store, low, edge, high, vector=a_vector(1))
    await _finds(store, scope, [low], confidence_below=0.5)
    await _finds(store, scope, [low, edge], confidence_below=0.51)


async def all_conditions_must_hold(store: Store) -> None:
    scope = a_scope()
    match = {"type": MemoryType.EPISODIC, "confidence": 0.2, "created_at": NOW - 9, "metadata": {"a": 1}}
    misses = {"type": MemoryType.SEMANTIC, "confidence": 0.9, "created_at": NOW, "metadata": {}}
    expected = a_record(scope, "kettle", **match)
    others = [a_record(scope, f"not by {name}", **{**match, name: value}) for name, value in misses.items()]
    await keep(store, expected, *others, vector=a_vector(1))
    limits = {"types": frozenset({MemoryType.EPISODIC}), "confidence_below": 0.5, "created_until": NOW - 1}
    await _finds(store, scope, [expected], **limits, filter=compare("metadata.a", "eq", 1))


async def _read_pages(store: Store, scope: Scope, size: int, **conditions: object) -> list[str]:
    visible: list[str] = []
    page = await store.find(everything(scope, **conditions), limit=size)
    while page:
        # Otherwise a store whose pages overlap would be queried forever.
        is_next = not visible or page[0].id > visible[-1]
        holds(is_next, f"the page behind {visible[-1:]} begins with {page[0].id}")
        visible += ids(page)
        page = await store.find(everything(scope, **conditions), after=visible[-1], limit=size)
    return visible


async def _selects(store: Store, condition: Filter, yes: list[Record], no: list[Record]) -> None:
    """Check that find, count and search select exactly the `yes` records; all are of one agent."""
    await keep(store, *yes, *no, vector=a_vector(1))
    await _finds(store, user_of(yes[0].scope, None), yes, filter=condition)


async def _metadata(store: Store, condition: Filter, yes: Iterable[Json], no: Iterable[Json]) -> None:
    """Like `_selects`, with values of the metadata key `k`; `...` means that the key is missing."""
    scope = a_scope()
    matching, others = (
        [a_record(scope, metadata={} if v is ... else {"k": v}) for v in vs] for vs in (yes, no)
    )
    await _selects(store, condition, matching, others)


async def _fields(
    store: Store, condition: Filter, yes: Iterable[dict[str, Any]], no: Iterable[dict[str, Any]]
) -> None:
    scope = a_scope()
    matching, others = ([a_record(**{"scope": scope, **fields}) for fields in many] for many in (yes, no))
    await _selects(store, condition, matching, others)


def _k(operator: str, value: Json) -> Compare:
    return compare("metadata.k", operator, value)


async def eq_compares_text_exactly(store: Store) -> None:
    others = ["tea ", "Tea", "", "te", "teas", {"tea": "tea"}, 0, None, ...]
    await _metadata(store, _k("eq", "tea"), ["tea", ["milk", "tea"]], others)


async def eq_compares_numbers_by_value(store: Store) -> None:
    await _metadata(store, _k("eq", 1), [1, 1.0, [0, 1]], ["1", True, 2, 1.5, None, ...])
    await _metadata(store, _k("eq", 0.1), [0.1], [0, 0.10000000000000002, "0.1"])


async def large_integers_are_told_apart(store: Store) -> None:
    await _metadata(store, _k("eq", 2**53 + 1), [2**53 + 1], [2**53, 2**53 + 2])
    await _metadata(store, _k("gt", 2**53), [2**53 + 1], [2**53, 2**53 - 1])


async def true_is_not_one(store: Store) -> None:
    await _metadata(store, _k("eq", True), [True, [True]], [1, 1.0, "true", False, None, ...])
    await _metadata(store, _k("eq", False), [False], [0, "", [], True, None, ...])
    await _metadata(store, _k("in", [0, "x"]), [0, "x", 0.0], [False, True, None, ...])


async def true_is_not_one_inside_lists_and_objects(store: Store) -> None:
    await _metadata(store, _k("eq", [1, {"a": 0}]), [[1, {"a": 0}]], [[True, {"a": False}], [1]])


async def missing_equals_null(store: Store) -> None:
    await _metadata(store, _k("eq", None), [None, ..., [None]], ["", 0, False, [], {}, "null"])
    await _metadata(store, _k("ne", None), ["", 0, False, [], {}], [None, ...])


async def ne_is_the_opposite_of_eq(store: Store) -> None:
    await _metadata(store, _k("ne", "a"), ["b", 1, None, ..., ["b"], []], ["a", ["b", "a"]])


async def lists_equal_lists_in_order(store: Store) -> None:
    await _metadata(store, _k("eq", ["a", "b"]), [["a", "b"]], [["b", "a"], ["a"], "a", ...])
    await _metadata(store, _k("eq", []), [[]], [["a"], None, ..., "", {}])


async def objects_equal_objects(store: Store) -> None:
    expected = {"x": 1, "y": ["é"]}
    await _metadata(store, _k("eq", expected), [{"y": ["é"], "x": 1.0}], [{"x": 1}, {}, "x", ...])


async def order_holds_between_numbers(store: Store) -> None:
    strangers = ["6", True, None, ..., [6], {}]
    await _metadata(store, _k("gt", 5), [6, 5.01, 1e300], [5, 5.0, 4, *strangers])
    await _metadata(store, _k("gte", 5), [5, 5.0, 6], [4.99, *strangers])
    await _metadata(store, _k("lt", 5), [4, -1.5], [5, 5.0, 6, *strangers])
    await _metadata(store, _k("lte", 5), [5, 4], [5.01, *strangers])


async def order_holds_between_texts(store: Store) -> None:
    strangers = [7, True, None, ..., ["n"]]
    await _metadata(store, _k("gt", "m"), ["n", "ma", "é", "𝔘"], ["m", "M", "", *strangers])
    await _metadata(store, _k("lte", "m"), ["m", "M", "", "10"], ["n", "ma", *strangers])
    await _metadata(store, _k("gt", "\uffff"), ["𝔘"], ["\uffff", "z"])


async def in_means_equal_to_one_of(store: Store) -> None:
    choices = ["a", 1, None]
    await _metadata(store, _k("in", choices), ["a", 1.0, None, ..., ["z", "a"]], ["b", True, "1", []])
    await _metadata(store, _k("nin", choices), ["b", True, "1", []], ["a", 1, None, ..., ["a"]])


async def in_nothing_matches_nothing(store: Store) -> None:
    await _metadata(store, Not(_k("in", [])), ["a", None, ...], [])
    await _metadata(store, _k("nin", []), ["a", None, ...], [])


async def exists_asks_for_a_value(store: Store) -> None:
    await _metadata(store, _k("exists", True), ["", 0, False, {}, [None]], [None, [], ...])
    await _metadata(store, _k("exists", False), [None, [], ...], ["", 0, False, {}, ["a"]])


async def contains_looks_inside_texts_and_lists(store: Store) -> None:
    await _metadata(
        store, _k("contains", "ea"), ["tea", "ea", ["ea"]], ["EA", ["tea"], {"ea": 1}, 1, None, ...]
    )
    await _metadata(store, _k("contains", 2), [[1, 2], [2.0]], ["2", 2, [True], ["2"], ...])


async def prefix_is_case_sensitive(store: Store) -> None:
    await _metadata(store, _k("prefix", "Te"), ["Tea", "Te"], ["tea", "aTe", ["Tea"], 1, None, ...])
    await _metadata(store, _k("prefix", "é"), ["été"], ["e\u0301te", "ete"])
    await _metadata(store, _k("prefix", ""), ["", "a"], [1, None, ..., []])


async def wildcards_are_plain_characters(store: Store) -> None:
    await _metadata(store, _k("prefix", "50%_"), ["50%_off"], ["50 off", "50%off", "50xx"])
    await _metadata(store, _k("contains", "_"), ["a_b"], ["ab", "a b"])
    await _metadata(store, _k("contains", "*"), ["a*b", "*"], ["ab", "?", "["])
    await _metadata(store, _k("contains", "%"), ["100%"], ["100"])


async def quotes_are_plain_characters(store: Store) -> None:
    for value in ("it's", 'say "no"', "back\\slash", "'); DROP TABLE version; --", "a\nb", "{}", "$.k"):
        await _metadata(store, _k("eq", value), [value, [value]], ["x", value + "'", ...])
        await _metadata(store, _k("contains", value), [f"<{value}>"], ["x", ...])


async def filters_speak_every_script(store: Store) -> None:
    await _metadata(store, _k("eq", "東京"), ["東京"], ["京東", "东京"])
    await _metadata(store, _k("contains", "👩‍👧"), ["a👩‍👧b"], ["👩", "👧"])
    await _metadata(store, _k("eq", "\u00e9"), ["\u00e9"], ["e\u0301"])


async def nested_metadata_is_reached_by_steps(store: Store) -> None:
    condition = compare("metadata.k.a.b", "eq", 1)
    no = [{"a": 1}, {"a": {"b": 2}}, {"a": [{"b": 1}]}, {"a.b": 1}, [{"a": {"b": 1}}], "k", None, ...]
    await _metadata(store, condition, [{"a": {"b": 1}}, {"a": {"b": [1]}}], no)
    await _metadata(store, compare("metadata.k.a", "exists", False), ["a", {}, ..., {"a": None}], [{"a": 0}])


async def a_step_of_any_spelling_is_reached(store: Store) -> None:
    for step in ('a"b', "a'b", "a.b", "$", "a b", "0", "", "ключ", "a[0]", "a\\b"):
        condition = Compare(("metadata", "k", step), Operator.EQ, "x")
        await _metadata(store, condition, [{step: "x"}], [{step: "y"}, {"other": "x"}, ["x"], "x", ...])


async def lists_have_no_numbered_steps(store: Store) -> None:
    await _metadata(store, Compare(("metadata", "k", "0"), Operator.EQ, "x"), [{"0": "x"}], [["x"], "x"])


async def and_or_not_combine(store: Store) -> None:
    small, big = _k("lt", 3), _k("gt", 7)
    await _metadata(store, Or((small, big)), [1, 9], [3, 5, 7, "1", ...])
    await _metadata(store, Not(Or((small, big))), [3, 5, "1", ...], [1, 9])
    await _metadata(store, And((Not(small), Not(big))), [5, ...], [1, 9])
    await _metadata(store, Not(And((_k("exists", True), small))), [5, ...], [1])


async def nothing_to_satisfy_is_satisfied(store: Store) -> None:
    await _metadata(store, And(()), [1, ...], [])
    await _metadata(store, Or((_k("eq", 1), Or(()))), [1], [2, ...])


async def tags_are_found_by_name(store: Store) -> None:
    yes: list[dict[str, Any]] = [{"tags": ("a", "b")}, {"tags": ("a",)}]
    no: list[dict[str, Any]] = [{"tags": ("ab",)}, {"tags": ()}, {"tags": ("A",)}]
    await _fields(store, compare("tags", "eq", "a"), yes, no)
    await _fields(store, compare("tags", "contains", "a"), yes, no)
    await _fields(store, compare("tags", "in", ["a", "z"]), yes, no)
    await _fields(store, compare("tags", "exists", False), [{"tags": ()}], yes)


async def record_fields_are_found_by_name(store: Store) -> None:
    cases: list[tuple[Filter, dict[str, Any], dict[str, Any]]] = [
        (
            compare("type", "eq", "episodic"),
            {"type": MemoryType.EPISODIC},
            {"metadata": {"type": "episodic"}},
        ),
        (compare("source", "prefix", "ch"), {"source": "chat"}, {"source": "arch"}),
        (compare("source", "exists", False), {"source": None}, {"source": ""}),
        (compare("session_id", "in", ["s1"]), {"session_id": "s1"}, {"session_id": None}),
        (compare("confidence", "gte", 0.5), {"confidence": 0.5}, {"confidence": 0.25}),
        (compare("created_at", "lt", NOW), {"created_at": NOW - 1}, {"created_at": NOW}),
        (compare("updated_at", "gt", NOW), {"updated_at": NOW + 1}, {"updated_at": NOW}),
        (compare("occurred_at", "eq", None), {"occurred_at": None}, {"occurred_at": 0}),
        (compare("expires_at", "gt", NOW), {"expires_at": NOW + 1}, {"expires_at": None}),
        (compare("version", "eq", 1), {"version": 1}, {}),
        (compare("standing", "eq", "demoted"), {"standing": Standing.DEMOTED}, {"standing": Standing.ACTIVE}),
        (compare("content", "contains", "50%"), {"content": "was 50% off"}, {"content": "was 500 off"}),
        (compare("content", "eq", {"a": 1}), {"content": {"a": 1}}, {"content": '{"a": 1}'}),
        (compare("id", "prefix", "x-"), {"id": a_name("x")}, {"id": a_name("y")}),
    ]
    for condition, yes, no in cases:
        await _fields(store, condition, [yes], [no] if no else [])


async def the_user_is_a_field(store: Store) -> None:
    agent = a_scope()
    ana, nobody = a_record(user_of(agent, "ana")), a_record(agent)
    await _selects(store, compare("user_id", "eq", "ana"), [ana], [nobody])
