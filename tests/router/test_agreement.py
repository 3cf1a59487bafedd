"""Whatever happens to stores while memories come and go: nothing is lost, and in the end all agree."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorywire.model.answers import Status
from memorywire.model.errors import Conflict, NotFound
from memorywire_testing.faults import Fault
from tests.router.desk import FACTS, Scene, kept, play

Step: TypeAlias = tuple[str, int, int]

# A store that hangs is left out: it would only be waited for, and is proven elsewhere.
SICK = [Fault.NONE, Fault.RAISES, Fault.CRASHES, Fault.LOSES_ANSWERS, Fault.GARBAGE, Fault.INVENTS]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["remember", "revise", "forget", "erase", "fault", "fault", "pay", "recall", "later"]
        ),
        st.integers(0, len(FACTS) - 1),
        st.integers(0, len(SICK) - 1),
    ),
    min_size=4,
    max_size=14,
)


async def _live_through(scene: Scene, steps: Sequence[Step]) -> dict[str, Any]:
    """What should be alive in the end, by id: every change that was acknowledged, in its order."""
    alive: dict[str, Any] = {}
    for verb, fact, fault in steps:
        named = sorted(alive)[fact % len(alive)] if alive else None
        match verb:
            case "remember":
                receipt = await scene.memory.remember(FACTS[fact])
                if receipt.status is not Status.DUPLICATE:
                    alive[receipt.id] = FACTS[fact]
            case "revise" if named is not None:
                await _revise(scene, named, f"{FACTS[fact]}, {fault}", alive)
            case "forget" | "erase" if named is not None:
                await scene.memory.forget(named, hard_delete=verb == "erase")
                del alive[named]
            case "fault":
                scene.ward.faults[("left", "right")[fact % 2]].now = SICK[fault]
            case "pay":
                await scene.memory.pay_debts()
            case "recall":
                found = await scene.memory.recall(FACTS[fact], min_relevance="off")
                assert {hit.id: hit.content for hit in found.hits}.items() <= alive.items()
            case "later":
                scene.clock.now += 20_000
    return alive


async def _revise(scene: Scene, id: str, content: str, alive: dict[str, Any]) -> None:
    try:
        current = await scene.memory.get(id)
        await scene.memory.remember(content, id=id, if_version=current.version)
    except (Conflict, NotFound):
        assert content in alive.values(), "only what is said already may be refused"
        return
    alive[id] = content


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_after_recovery_the_debts_are_paid_and_the_stores_agree(steps: list[Step]) -> None:
    async def story(scene: Scene) -> None:
        alive = await _live_through(scene, steps)
        for faults in scene.ward.faults.values():
            faults.now = Fault.NONE
        scene.clock.now += 120_000
        assert await scene.memory.pay_debts()
        page = await scene.memory.list()
        assert {record.id: record.content for record in page} == alive
        expected = [(record.id, record.version, record.content) for record in page]
        for store in scene.ward.stores.values():
            assert await kept(store) == expected
        assert not (await scene.memory.recall(FACTS[0])).degraded

    with tempfile.TemporaryDirectory() as folder:
        play(story, file=Path(folder) / "memory.db")
