"""Linked hits gain a little, by the nearest link, and nothing else changes."""

import pytest

from memorywire.model.query import Scored
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.rank import follow, has_links
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


def scores(hits: list[Scored], hops: int, named: tuple[str, ...] = ()) -> dict[str, float]:
    return {scored.record.id: scored.score for scored in follow(hits, hops, named)}


def test_a_direct_link_adds_a_twentieth() -> None:
    found = scores([hit("a"), hit("b", derived_from=("a",)), hit("c")], 1)
    assert found == pytest.approx({"a": 0.525, "b": 0.525, "c": 0.5})


def test_a_link_over_a_memory_that_was_not_found_is_two_hops() -> None:
    twins = [hit("a", derived_from=("gone",)), hit("b", merged_from=("gone",))]
    assert scores(twins, 1) == {"a": 0.5, "b": 0.5}
    assert scores(twins, 2) == pytest.approx({"a": 0.5 * (1 + 0.1 / 3), "b": 0.5 * (1 + 0.1 / 3)})


def test_a_name_that_both_give_and_the_query_does_not_is_a_link() -> None:
    hits = [
        hit("a", content="she met Ben in Porto"),
        hit("b", content="a flat in Porto"),
        hit("c", content="he is Ben"),
    ]
    assert scores(hits, 1, ("Ben",)) == pytest.approx({"a": 0.525, "b": 0.525, "c": 0.5})


def test_a_name_that_everybody_gives_links_nobody() -> None:
    hits = [hit(f"m{number}", content=f"visit {number} to Porto") for number in range(9)]
    assert not has_links(follow(hits, 3, ()))
    assert has_links(follow(hits[:8], 3, ()))


def test_a_linked_hit_passes_a_better_one_that_stands_alone() -> None:
    found = follow([hit("alone", 0.51), hit("a", 0.5), hit("b", 0.4, supersedes=("a",))], 1, ())
    assert [scored.record.id for scored in found] == ["a", "alone", "b"]
    assert [scored.signals.get("hops") for scored in found] == [1.0, None, 1.0]


def test_no_score_exceeds_one() -> None:
    assert scores([hit("a", 1.0), hit("b", 0.99, supersedes=("a",))], 1) == {"a": 1.0, "b": 1.0}


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
