"""Recalls over several stores: fused, checked, within the deadline, and honest about who answered."""

import asyncio
import json
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.answers import Recalled, Verdict
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, StoreUnavailable
from memorywire.wire.codec import encode
from memorywire_testing.faults import Fault
from tests.router.desk import FACTS, LONG, SHORT, Scene, Ward, play
from tests.spec.schemas import faults

QUERY = "what does Ana like to drink?"
SEARCH_FAULTS = [fault for fault in Fault if fault not in (Fault.NONE, Fault.LOSES_ANSWERS)]
NOT_TOLD_FROM_HEALTH = {Fault.TRUNCATES, Fault.REPEATS}
"""A short list may be all there is, and a hit that is repeated is counted once."""


@pytest.fixture(params=["anchor", "no anchor"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "memory.db" if request.param == "anchor" else None


async def _filled(scene: Scene) -> list[str]:
    return [(await scene.memory.remember(fact)).id for fact in FACTS]


def _schema_is_met(found: Recalled) -> None:
    assert faults("recall.response", json.loads(json.dumps(encode(found)))) == []


def test_votes_of_all_stores_add_up(file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        ids = await _filled(scene)
        found = await scene.memory.recall(QUERY)
        best = found.hits[0]
        assert best.id == ids[0]
        assert set(best.stores) == set(found.stores_queried) >= {"left", "right"}
        assert best.score == pytest.approx(len(best.stores) / 60)
        assert (found.verdict, found.degraded) == (Verdict.MATCH, ())
        assert {outcome.store: outcome.count for outcome in found.outcomes} == dict.fromkeys(
            found.stores_queried, len(found.hits)
        )
        _schema_is_met(found)

    play(story, file=file, rerank=False)


@pytest.mark.parametrize("fault", SEARCH_FAULTS)
def test_a_sick_store_is_named_and_costs_no_answer(fault: Fault, file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        ids = await _filled(scene)
        healthy = await scene.memory.recall(QUERY, k=3)
        scene.ward.faults["right"].now = fault
        began = asyncio.get_running_loop().time()
        found = await scene.memory.recall(QUERY, k=3)
        if fault is Fault.HANGS:
            assert asyncio.get_running_loop().time() - began >= SHORT / 2
        assert [hit.id for hit in found.hits] == [hit.id for hit in healthy.hits]
        assert [hit.content for hit in found.hits] == [hit.content for hit in healthy.hits]
        assert {hit.id for hit in found.hits} <= set(ids)
        named = {outcome.store for outcome in found.outcomes if outcome.error is not None}
        expected = set() if fault in NOT_TOLD_FROM_HEALTH else {"right"}
        assert named == expected
        assert set(found.degraded) - {"majority"} == expected
        _schema_is_met(found)

    play(story, file=file, deadline=SHORT if fault is Fault.HANGS else LONG)


def test_when_every_store_fails_the_answer_is_a_problem_and_not_empty() -> None:
    async def story(scene: Scene) -> None:
        await _filled(scene)
        for sick in scene.ward.faults.values():
            sick.now = Fault.CRASHES
        with pytest.raises(StoreUnavailable, match="left: the store failed with KeyError"):
            await scene.memory.recall(QUERY)

    play(story)


def test_a_lying_majority_is_said_to_be_one(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await _filled(scene)
        scene.ward.faults["left"].now = Fault.INVENTS
        assert "majority" not in (await scene.memory.recall(QUERY)).degraded
        scene.ward.faults["right"].now = Fault.SWAPS_CONTENT
        found = await scene.memory.recall(QUERY)
        assert "majority" in found.degraded
        assert found.hits[0].content == FACTS[0]

    play(story, file=tmp_path / "memory.db")


def test_a_quorum_is_kept_or_said_to_be_impossible(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        await _filled(scene)
        assert (await scene.memory.recall(QUERY, quorum_k=3)).hits
        scene.ward.faults["right"].now = Fault.RAISES
        assert (await scene.memory.recall(QUERY, quorum_k=2)).hits
        found = await scene.memory.recall(QUERY, quorum_k=3)
        assert not found.hits
        assert "quorum_k" in found.degraded
        with pytest.raises(CapabilityUnsupported, match="only 3 stores are wired"):
            await scene.memory.recall(QUERY, quorum_k=4)

    play(story, file=tmp_path / "memory.db")


@pytest.mark.parametrize("fusion", ["rrf", "max", "weighted"])
def test_every_fusion_finds_what_answers(fusion: str, file: Path | None) -> None:
    async def story(scene: Scene) -> None:
        ids = await _filled(scene)
        found = await scene.memory.recall(QUERY, fusion=fusion)
        assert found.hits[0].id == ids[0]
        assert found.fusion_used == fusion
        nothing = await scene.memory.recall("zxqv wvut")
        assert (nothing.verdict, nothing.hits) == (Verdict.NO_MATCH, ())

    play(story, file=file)


def test_what_a_rank_or_a_past_asks_for_is_had_from_several_stores(tmp_path: Path) -> None:
    async def story(scene: Scene) -> None:
        ids = await _filled(scene)
        then = scene.clock.now
        scene.clock.pass_days(1)
        await scene.memory.forget(ids[0])
        assert (await scene.memory.recall(QUERY, as_of=then)).hits[0].id == ids[0]
        ranked = await scene.memory.recall(
            "who is allergic to peanuts?", rank={"recency": 1.0, "frequency": 1}
        )
        assert ranked.hits[0].id == ids[3]
        assert not ranked.degraded
        linked = await scene.memory.recall("who is allergic to peanuts?", hops=2, explain=True)
        assert linked.hits[0].signals is not None
        assert linked.hits[0].score > 0.5

    play(story, file=tmp_path / "memory.db")


def test_local_order_does_not_follow_a_store_that_pushes_the_wrong_memory_up(tmp_path: Path) -> None:
    async def found(scene: Scene) -> list[str]:
        await _filled(scene)
        return [str(hit.content) for hit in (await scene.memory.recall(QUERY, min_relevance="off")).hits]

    assert play(found, file=tmp_path / "a.db")[0] == FACTS[0]
    assert play(found, ward=Ward())[0] == FACTS[0]


def test_a_fusion_that_is_asked_for_by_its_scores_decides_the_order_itself() -> None:
    async def scores(scene: Scene) -> dict[str, float]:
        await _filled(scene)
        asked = {fusion: await scene.memory.recall(QUERY, fusion=fusion) for fusion in ("rrf", "weighted")}
        return {fusion: found.hits[0].score for fusion, found in asked.items()}

    found = play(scores)
    assert found["weighted"] == pytest.approx(1.0), "each store's best is worth all of its weight"
    assert 0.5 < found["rrf"] < 1.0, "what the memory is worth by itself"


def test_memories_that_were_there_before_are_recalled_only_without_the_register() -> None:
    async def write(scene: Scene) -> None:
        await scene.memory.remember(FACTS[0])

    def alone(ward: Ward) -> Ward:
        async def fill() -> None:
            async with Memory("agent", [ward.stores["left"]]) as memory:
                await memory.remember(FACTS[0])

        asyncio.run(fill())
        return ward

    async def seen(scene: Scene) -> list[object]:
        return [hit.content for hit in (await scene.memory.recall(QUERY)).hits]

    # The first store keeps history, so its word counts for what nobody wrote down.
    assert play(seen, ward=alone(Ward())) == [FACTS[0]]
    # The second store's word alone does not.
    assert play(seen, ward=alone(Ward(names=("right", "left")))) == []
    assert play(seen, ward=alone(Ward(names=("right", "left"))), register=False) == [FACTS[0]]


def test_a_weight_or_seal_for_a_store_that_is_not_there_is_refused() -> None:
    async def story(scene: Scene) -> None:
        await scene.memory.recall(QUERY)

    with pytest.raises(InvalidRequest, match="there is no store middle"):
        play(story, weights={"middle": 2.0})
