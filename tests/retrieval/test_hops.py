"""Linked hits gain a little, by the nearest link, and nothing else changes."""

from collections.abc import Iterable

import pytest

from memorywire.model.edge import Edge, Kind, find_edges
from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope, Trust
from memorywire.search.links import Links, boost, has_links, link_names
from tests.engine.stage import STORES, play


def hit(id: str, score: float = 0.5, content: str = "nothing", **fields: object) -> Scored:
    record = Record(
        id=id,
        scope=Scope(agent="a"),
        type=MemoryType.SEMANTIC,
        content=content,
        created_at=0,
        updated_at=0,
        **fields,
    )
    return Scored(record=record, score=score, signals={})


def follow(
    hits: list[Scored], hops: int, named: tuple[str, ...] = (), edges: Iterable[Edge] = ()
) -> list[Scored]:
    records = [one.record for one in hits]
    told = {edge for record in records for edge in find_edges(record)}
    trust = {record.id: record.trust for record in records}
    return boost(hits, Links(frozenset({*told, *link_names(records, named), *edges}), trust), hops)


def scores(hits: list[Scored], hops: int, named: tuple[str, ...] = ()) -> dict[str, float]:
    return {scored.record.id: scored.score for scored in follow(hits, hops, named)}


def raised(score: float, share: float) -> float:
    """The score of which the odds have risen by that share."""
    odds = score / (1 - score) * (1 + share)
    return odds / (1 + odds)


def test_a_direct_link_adds_a_twentieth_to_the_odds() -> None:
    found = scores([hit("a"), hit("b", derived_from=("a",)), hit("c")], 1)
    assert found == pytest.approx({"a": raised(0.5, 0.05), "b": raised(0.5, 0.05), "c": 0.5})


def test_a_link_in_the_metadata_counts_like_any_other() -> None:
    found = scores([hit("a"), hit("b", metadata={"links": {"contradicts": ["a"]}})], 1)
    assert found == pytest.approx({"a": raised(0.5, 0.05), "b": raised(0.5, 0.05)})


def test_a_link_over_a_memory_that_was_not_found_is_two_hops() -> None:
    twins = [hit("a", derived_from=("gone",)), hit("b", merged_from=("gone",))]
    assert scores(twins, 1) == {"a": 0.5, "b": 0.5}
    assert scores(twins, 2) == pytest.approx(dict.fromkeys("ab", raised(0.5, 0.1 / 3)))


def test_a_name_that_both_give_and_the_query_does_not_is_a_link() -> None:
    hits = [
        hit("a", content="she met Ben in Porto"),
        hit("b", content="a flat in Porto"),
        hit("c", content="he is Ben"),
    ]
    up = raised(0.5, 0.05)
    assert scores(hits, 1, ("Ben",)) == pytest.approx({"a": up, "b": up, "c": 0.5})


def test_a_name_that_everybody_gives_links_nobody() -> None:
    hits = [hit(f"m{number}", content=f"visit {number} to Porto") for number in range(9)]
    assert not has_links(follow(hits, 3))
    assert has_links(follow(hits[:8], 3))


def test_a_linked_hit_passes_a_better_one_that_stands_alone() -> None:
    found = follow([hit("alone", 0.51), hit("a", 0.5), hit("b", 0.4, supersedes=("a",))], 1)
    assert [scored.record.id for scored in found] == ["a", "alone", "b"]
    assert [scored.signals.get("hops") for scored in found] == [1.0, None, 1.0]


def test_a_boost_makes_no_two_scores_equal_and_none_exceeds_one() -> None:
    """Proves RC-19."""
    chain = [hit("a", 0.999), hit("b", 0.998, supersedes=("a",)), hit("c", 0.97, supersedes=("b",))]
    found = follow(chain, 1)
    assert [scored.record.id for scored in found] == ["a", "b", "c"]
    assert 1 > found[0].score > found[1].score > found[2].score


@pytest.mark.parametrize(("lower", "stated_by"), [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")])
def test_what_is_less_trusted_gains_nothing_and_states_nothing(lower: str, stated_by: str) -> None:
    trust = {id: Trust.UNTRUSTED if id == lower else Trust.STANDARD for id in "ab"}
    other = {"a": "b", "b": "a"}[stated_by]
    links = {id: {"derived_from": (other,)} if id == stated_by else {} for id in "ab"}
    higher = {"a": "b", "b": "a"}[lower]
    expected = {lower: 0.5, higher: raised(0.5, 0.05) if stated_by == higher else 0.5}
    assert scores([hit(id, trust=trust[id], **links[id]) for id in "ab"], 1) == pytest.approx(expected)


def test_a_link_of_two_steps_does_not_count_when_a_less_trusted_memory_states_it() -> None:
    hits = [hit("a"), hit("b")]
    over = {Edge("between", Kind.RELATES_TO, "a"), Edge("between", Kind.RELATES_TO, "b")}
    trust = {"a": Trust.STANDARD, "b": Trust.STANDARD}
    for level, raises in ((Trust.UNTRUSTED, False), (Trust.STANDARD, True)):
        found = boost(hits, Links(frozenset(over), trust | {"between": level}), 2)
        assert has_links(found) is raises


@pytest.mark.parametrize("url", STORES)
def test_a_recall_follows_links_where_there_are_some(url: str) -> None:
    async def story(memory, clock):
        await memory.remember("the flat belongs to old Ruiz")
        await memory.remember("dinner with Ruiz was cancelled")
        await memory.remember("the kettle is blue")
        return await memory.recall("who owns the flat?", hops=1, min_relevance="off", explain=True)

    found = play(url, story)
    assert found.degraded == ()
    assert {hit.content.split()[1]: hit.signals.get("hops") for hit in found} == {
        "flat": 1.0,
        "with": 1.0,
        "kettle": None,
    }
