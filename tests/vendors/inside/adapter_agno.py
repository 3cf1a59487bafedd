"""Memory of Agno's agents."""

from pathlib import Path
from typing import Any

from memorywire import Memory, sync
from tests.vendors.inside.played import ALLERGY, SNACKS, TOKEN, example, parts_of


def _agent(memory: Any) -> Any:
    from agno.agent import Agent
    from agno.db.in_memory import InMemoryDb

    from memorywire_frameworks.agno import memory_machine

    model = parts_of("agno_memory")["ShowingModel"](id="showing")
    return Agent(model=model, db=InMemoryDb(), learning=memory_machine(memory), telemetry=False)


async def the_model_is_shown_the_memories_of_its_user(folder: Path) -> None:
    async with Memory("chat", ["memory://"]) as memory:
        await memory.remember(ALLERGY, user_id="ana")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        assert (await _agent(memory).arun(SNACKS, user_id="ana")).content == f"- {ALLERGY}"
        assert "Ana" not in (await _agent(memory).arun(SNACKS, user_id="ben")).content


async def a_blocking_memory_works_without_an_event_loop(folder: Path) -> None:
    with sync.Memory("chat", ["memory://"], user_id="ana") as memory:
        memory.remember(ALLERGY)
        assert _agent(memory).run(SNACKS).content == f"- {ALLERGY}"


async def the_tools_keep_what_belongs_to_the_user_and_no_token(folder: Path) -> None:
    from agno.learn.stores.protocol import LearningStore

    from memorywire_frameworks.agno import MemorywireLearning

    async with Memory("chat", ["memory://"]) as memory:
        learning = MemorywireLearning(memory)
        assert isinstance(learning, LearningStore)
        remember, recall, _forget = await learning.aget_tools(user_id="ana")
        await remember(ALLERGY)
        await remember(f"The token is {TOKEN}")
        assert ALLERGY in await recall("What is Ana allergic to?")
        assert not any(TOKEN in record.words for record in await memory.list(user_id="ana"))
        *_, theirs, _forget = await learning.aget_tools(user_id="ben")
        assert ALLERGY not in await theirs("What is Ana allergic to?")
    with sync.Memory("chat", ["memory://"]) as blocking:
        remember, recall, _forget = MemorywireLearning(blocking).get_tools(user_id="ana")
        assert (remember.__name__, "id" in remember(ALLERGY)) == ("remember", True)
        assert ALLERGY in recall("What is Ana allergic to?")


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("agno_memory")
