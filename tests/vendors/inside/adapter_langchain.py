"""Memory before a model of LangChain, alone and in an agent of LangGraph."""

from pathlib import Path
from typing import Any

from memorywire import Memory, sync
from memorywire.model.errors import InvalidRequest
from tests.vendors.inside.played import example

SNACKS = "Which snacks can I eat?"
BLOCK = "<memory data>\n- Ana is allergic to peanuts.\n</memory>"


async def a_chain_begins_with_the_memories_that_an_answer_depends_on(folder: Path) -> None:
    from memorywire_frameworks.langchain import memory_prompt

    async with Memory("chain", ["memory://"], user_id="ana") as memory:
        await memory.remember("Ana is allergic to peanuts.")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        prompt = memory_prompt(memory, system="Be brief.")
        for talk in (SNACKS, [("user", SNACKS)], {"messages": [{"role": "user", "content": SNACKS}]}):
            first, last = await prompt.ainvoke(talk)
            assert (first.type, first.content) == ("system", f"Be brief.\n\n{BLOCK}")
            assert (last.type, last.content) == ("human", SNACKS)
        (only,) = await memory_prompt(memory).ainvoke("What is 17 times 23?")
        assert only.type == "human"
        merged = await memory_prompt(memory).ainvoke([("system", "Be kind."), ("user", SNACKS)])
        assert [one.content for one in merged] == [f"Be kind.\n\n{BLOCK}", SNACKS]


async def a_blocking_memory_works_without_an_event_loop(folder: Path) -> None:
    from memorywire_frameworks.langchain import memory_prompt

    with sync.Memory("chain", ["memory://"]) as memory:
        memory.remember("Ana is allergic to peanuts.")
        assert memory_prompt(memory).invoke(SNACKS)[0].content == BLOCK
        assert (await memory_prompt(memory).ainvoke(SNACKS))[0].content == BLOCK


async def an_agent_of_langgraph_reads_them_before_it_answers(folder: Path) -> None:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langgraph.prebuilt import create_react_agent

    from memorywire_frameworks.langchain import memory_prompt

    shown: list[Any] = []

    class Watched(GenericFakeChatModel):
        def _generate(self, messages: Any, *rest: Any, **named: Any) -> Any:
            shown.append(messages[0].content)
            return super()._generate(messages, *rest, **named)

    with sync.Memory("graph", ["memory://"]) as memory:
        memory.remember("Ana is allergic to peanuts.")
        model = Watched(messages=iter([AIMessage("nuts are out"), AIMessage("again")]))
        agent = create_react_agent(model, [], prompt=memory_prompt(memory))
        answer = agent.invoke({"messages": [("user", SNACKS)]})
        assert answer["messages"][-1].content == "nuts are out"
        await agent.ainvoke({"messages": [("user", SNACKS)]})
    assert shown == [BLOCK, BLOCK]


async def an_async_memory_cannot_wait(folder: Path) -> None:
    from memorywire_frameworks.langchain import memory_prompt

    async with Memory("chain", ["memory://"]) as memory:
        try:
            memory_prompt(memory).invoke(SNACKS)
        except (InvalidRequest, TypeError):
            return
        raise AssertionError("it should refuse to wait")


async def the_example_runs(folder: Path) -> None:
    assert "Ana prefers green tea" in await example("langchain_memory")
