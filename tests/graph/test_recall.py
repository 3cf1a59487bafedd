"""What a recall with `hops` does with the edges of a store, and what it never does."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memorywire import Memory
from memorywire.model.answers import Recalled
from memorywire.search.relevance import weight

A = TypeVar("A")
PLAN = "We ship the release on Friday"
ASIDE = "Elephants are grey animals"


def played(story: Callable[[Memory], Awaitable[A]], stores: Sequence[str] = ("graph://",)) -> A:
    async def run() -> A:
        async with Memory("agent", list(stores), policy="open") as memory:
            return await story(memory)

    return asyncio.run(run())


def linked(*ids: str, kind: str = "relates_to") -> dict[str, object]:
    return {"links": {kind: list(ids)}}


def contents(answer: Recalled) -> list[object]:
    return [hit.content for hit in answer]


@pytest.mark.parametrize("kind", ["relates_to", "contradicts", "supersedes", "derived_from"])
@pytest.mark.parametrize("store", ["graph://", "sqlite://", "memory://"])
def test_a_link_between_two_hits_raises_both_and_nothing_is_degraded(kind: str, store: str) -> None:
    async def story(memory: Memory) -> tuple[Recalled, Recalled]:
        plan = await memory.remember(PLAN)
        await memory.remember("The release is late, say the testers", metadata=linked(plan.id, kind=kind))
        flat = await memory.recall("when is the release?")
        return flat, await memory.recall("when is the release?", hops=1, explain=True)

    flat, raised = played(story, [store])
    assert raised.degraded == ()
    assert [hit.signals["hops"] for hit in raised] == [1.0, 1.0]
    assert all(up.score > low.score for up, low in zip(raised, flat, strict=True))


@pytest.mark.parametrize("hops", [0, 1])
def test_a_neighbour_is_brought_in_only_when_hops_ask_for_it(hops: int) -> None:
    """Proves RC-20."""

    async def story(memory: Memory) -> Recalled:
        plan = await memory.remember(PLAN)
        await memory.remember(ASIDE, metadata=linked(plan.id))
        return await memory.recall("release", hops=hops)

    answer = played(story)
    assert contents(answer) == [PLAN, ASIDE][: 1 + hops]


def test_a_neighbour_gets_half_of_the_evidence_for_each_step_and_none_beyond_the_hops() -> None:
    async def story(memory: Memory) -> list[dict[object, float]]:
        first = await memory.remember(PLAN)
        second = await memory.remember(ASIDE, metadata=linked(first.id))
        third = await memory.remember("Rain is wet", metadata=linked(second.id))
        await memory.remember("Chalk is white", metadata=linked(third.id))
        answers = [await memory.recall("release", hops=n, min_relevance=0.1) for n in (1, 2)]
        return [{hit.content: hit.score for hit in answer} for answer in answers]

    one, two = played(story)
    assert list(one) == [PLAN, ASIDE]
    assert list(two) == [PLAN, ASIDE, "Rain is wet"]
    best, near, far = (weight(score) for score in two.values())
    assert best > near > far > 0


@pytest.mark.parametrize(
    ("hit", "neighbour", "comes"),
    [
        ("standard", "standard", True),
        ("standard", "untrusted", False),
        ("untrusted", "untrusted", True),
    ],
)
def test_a_neighbour_that_is_less_trusted_than_the_hit_never_comes(
    hit: str, neighbour: str, comes: bool
) -> None:
    """Proves RC-21."""

    async def story(memory: Memory) -> Recalled:
        plan = await memory.remember(PLAN, trust=hit)
        await memory.remember(ASIDE, metadata=linked(plan.id), trust=neighbour)
        return await memory.recall("release", hops=3, min_relevance=0.1)

    assert (ASIDE in contents(played(story))) is comes


def test_a_less_trusted_memory_in_between_brings_nothing_in() -> None:
    async def story(memory: Memory) -> Recalled:
        plan = await memory.remember(PLAN)
        far = await memory.remember(ASIDE)
        await memory.remember("See both", metadata=linked(plan.id, far.id), trust="untrusted")
        return await memory.recall("release", hops=2, min_relevance=0.1)

    assert contents(played(story)) == [PLAN]


def test_a_neighbour_of_another_user_or_that_is_archived_or_filtered_out_never_comes() -> None:
    async def story(memory: Memory) -> tuple[Recalled, Recalled]:
        plan = await memory.remember(PLAN, user_id="ana")
        old = await memory.remember("Chalk is white", user_id="ana", metadata=linked(plan.id), confidence=0.1)
        await memory.expire({"confidence_below": 0.5}, action="archive")
        await memory.remember(ASIDE, user_id="ben", metadata=linked(plan.id))
        await memory.remember("Rain is wet", user_id="ana", metadata=linked(plan.id), tags=["weather"])
        scoped = await memory.recall("release", user_id="ana", hops=1, include=["archived"])
        assert old.id in [hit.id for hit in scoped]
        plain = await memory.recall("release", user_id="ana", hops=1)
        without = {"tags": {"nin": ["weather"]}}
        return plain, await memory.recall("release", user_id="ana", hops=1, filter=without)

    plain, narrowed = played(story)
    assert contents(plain) == [PLAN, "Rain is wet"]
    assert contents(narrowed) == [PLAN]


@pytest.mark.parametrize(("first", "comes"), [("graph", True), ("sqlite", False)])
def test_of_several_stores_only_the_one_whose_word_is_true_brings_neighbours_in(
    tmp_path: Path, first: str, comes: bool
) -> None:
    async def story(memory: Memory) -> tuple[Recalled, Recalled]:
        plan = await memory.remember(PLAN)
        await memory.remember(ASIDE, metadata=linked(plan.id))
        by_ranks = await memory.recall("release", hops=1, fusion="max", min_relevance=0.3)
        return await memory.recall("release", hops=1), by_ranks

    second = {"graph": "sqlite", "sqlite": "graph"}[first]
    stores = [f"{first}:///{tmp_path}/one.db", f"{second}:///{tmp_path}/two.db"]
    answer, by_ranks = played(story, stores)
    assert (ASIDE in contents(answer)) is comes
    assert contents(by_ranks) == [PLAN]


def test_a_graph_declares_itself_and_the_types_it_keeps() -> None:
    async def story(memory: Memory) -> dict[str, Any]:
        return await memory.call("capabilities", {})

    (graph,), (plain,) = (played(story, [url])["stores"] for url in ("graph://", "sqlite://"))
    assert set(graph["features"]) - set(plain["features"]) == {"graph"}
    assert graph["types"] == ["semantic", "episodic", "procedural", "emotional"]
