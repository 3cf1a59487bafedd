"""Our session for the OpenAI Agents SDK beside its own: the same calls, the same history."""

import asyncio
import random
import sys
import threading
from pathlib import Path
from typing import Any

from memorywire import Memory, sync
from memorywire.model.errors import ApprovalPending, InvalidRequest, MemorywireError, QuotaExceeded
from memorywire.model.kv import Limits
from tests.vendors.inside.played import example, holding_forgets

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

ADDING = """
import asyncio, sys
from memorywire import Memory
from memorywire_frameworks.openai_agents import MemorywireSession

async def main(url, name):
    async with Memory("sessions", [url]) as memory:
        for number in range(5):
            items = [{"role": "user", "content": f"{name}-{number}-{part}"} for part in range(2)]
            await MemorywireSession(memory, "one").add_items(items)

asyncio.run(main(*sys.argv[1:]))
"""


def _item(words: str) -> Any:
    return {"role": "user", "content": words}


def _agent() -> Any:
    """An agent whose model answers with the number of items it was shown."""
    from agents import Agent, Model, ModelResponse, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    class Counting(Model):
        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **named: Any) -> Any:
            text = ResponseOutputText(text=str(len(input)), type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **named: Any) -> Any:
            raise NotImplementedError

    return Agent(name="assistant", model=Counting())


def _quiet() -> Any:
    from agents import RunConfig

    return RunConfig(tracing_disabled=True)


async def a_long_random_life_is_the_same_as_in_their_session(folder: Path) -> None:
    from agents import SQLiteSession

    from memorywire_frameworks.openai_agents import MemorywireSession

    dice, theirs = random.Random(7), SQLiteSession("one")
    async with Memory("sessions", ["memory://"]) as memory:
        ours = MemorywireSession(memory, "one")
        for step in range(60):
            act = dice.choice(["add", "add", "add", "pop", "read"] + ["clear"] * (step % 20 == 19))
            if act == "add":
                items = [_item(f"{step}-{number}") for number in range(dice.randrange(1, 4))]
                await ours.add_items(items)
                await theirs.add_items(items)
            elif act == "pop":
                assert await ours.pop_item() == await theirs.pop_item()
            elif act == "clear":
                await ours.clear_session()
                await theirs.clear_session()
            for limit in (None, 1, 3):
                assert await ours.get_items(limit) == await theirs.get_items(limit)
    theirs.close()


async def sessions_do_not_see_each_other_and_last(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    url = f"sqlite://{folder}/memory.db"
    async with Memory("sessions", [url]) as memory:
        await MemorywireSession(memory, "one").add_items([_item("hello")])
    async with Memory("sessions", [url]) as memory:
        assert await MemorywireSession(memory, "one").get_items() == [_item("hello")]
        assert await MemorywireSession(memory, "on").get_items() == []


async def a_run_goes_on_whatever_the_user_pastes(folder: Path) -> None:
    from agents import Runner

    from memorywire_frameworks.openai_agents import MemorywireSession

    large = "word " * 40_000
    pasted = [f"my token is {TOKEN}", large, "a NUL \0 and half \ud800 of a character"]
    async with Memory("sessions", [f"sqlite://{folder}/memory.db"]) as memory:
        session = MemorywireSession(memory, "one")
        for words in pasted:
            await Runner.run(_agent(), words, session=session, run_config=_quiet())
        read = [item["content"] for item in await session.get_items() if item["role"] == "user"]
        assert read[0] == "my token is [REDACTED:github-token]"
        assert read[1] == large
        assert read[2] == "a NUL \ufffd and half \ufffd of a character"
        last = await Runner.run(_agent(), "how many?", session=session, run_config=_quiet())
        assert last.final_output == "7"


async def sessions_of_an_agent_do_not_share_a_quota(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        for name in ("one", "two", "three"):
            await MemorywireSession(memory, name).add_items([_item("x" * 500_000)])
        await memory.kv.set("mine", "x" * 60_000)
        narrow = MemorywireSession(memory, "four", limits=Limits(value_bytes=900, quota_bytes=1_000))
        await narrow.add_items([_item("x" * 400)])
        problem: MemorywireError | None = None
        try:
            await narrow.add_items([_item("kept with the next"), _item("x" * 800)])
        except QuotaExceeded as exceeded:
            problem = exceeded
        assert problem is not None
        assert "limits" in (problem.fix or "")
        assert len(await narrow.get_items()) == 1


async def what_many_add_at_once_is_all_kept(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    for url in ("memory://", f"sqlite://{folder}/memory.db"):
        async with Memory("sessions", [url]) as memory:
            shared = MemorywireSession(memory, "one")
            own = [MemorywireSession(memory, "one") for _ in range(10)]
            calls = [
                session.add_items([_item(f"{number}-{part}") for part in range(3)])
                for number, session in enumerate([shared] * 10 + own)
            ]
            await asyncio.gather(*calls)
            read = [item["content"] for item in await shared.get_items()]
            assert len(read) == 60
            for number in range(20):
                start = read.index(f"{number}-0")
                assert read[start : start + 3] == [f"{number}-{part}" for part in range(3)]
            popped = await asyncio.gather(*(session.pop_item() for session in own))
            assert sorted(item["content"] for item in popped) == sorted(read[-10:])


async def what_several_processes_add_is_all_kept(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    url = f"sqlite://{folder}/memory.db"
    started = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", ADDING, url, name) for name in "abc"
    ]
    assert [await process.wait() for process in started] == [0, 0, 0]
    async with Memory("sessions", [url]) as memory:
        read = [item["content"] for item in await MemorywireSession(memory, "one").get_items()]
    for name in "abc":
        mine = [words for words in read if words.startswith(name)]
        assert mine == [f"{name}-{number}-{part}" for number in range(5) for part in range(2)]


async def a_session_works_on_a_second_event_loop(folder: Path) -> None:
    from agents import Runner

    from memorywire_frameworks.openai_agents import MemorywireSession

    def run_in_a_loop_of_its_own(session: Any) -> str:
        return str(Runner.run_sync(_agent(), "hello", session=session, run_config=_quiet()).final_output)

    async with Memory("sessions", [f"sqlite://{folder}/one.db"]) as memory:
        session = MemorywireSession(memory, "one")
        await Runner.run(_agent(), "hello", session=session, run_config=_quiet())
        assert await asyncio.to_thread(run_in_a_loop_of_its_own, session) == "3"
    with sync.Memory("sessions", [f"sqlite://{folder}/two.db"]) as blocking:
        session = MemorywireSession(blocking, "one")
        seen = [await asyncio.to_thread(run_in_a_loop_of_its_own, session) for _ in range(3)]
        last = await Runner.run(_agent(), "hello", session=session, run_config=_quiet())
        assert [*seen, last.final_output] == ["1", "3", "5", "7"]


async def one_async_memory_serves_one_loop_after_the_other(folder: Path) -> None:
    from agents import Runner

    from memorywire_frameworks.openai_agents import MemorywireSession

    seen: list[str] = []

    def run_thrice() -> None:
        memory = Memory("sessions", [f"sqlite://{folder}/memory.db"])
        session = MemorywireSession(memory, "one")
        seen.extend(asyncio.run(_answer(session)) for _ in range(2))
        run = Runner.run_sync(_agent(), "hello", session=session, run_config=_quiet())
        seen.append(str(run.final_output))
        asyncio.run(memory.close())

    async def _answer(session: Any) -> str:
        run = await Runner.run(_agent(), "hello", session=session, run_config=_quiet())
        return str(run.final_output)

    thread = threading.Thread(target=run_thrice)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert seen == ["1", "3", "5"]


async def a_history_of_an_earlier_release_goes_on(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        for number in range(3):
            await memory.kv.set(f"sessions/one/{number:012}", _item(str(number)))
        session = MemorywireSession(memory, "one")
        await session.add_items([_item("3")])
        assert [item["content"] for item in await session.get_items()] == ["0", "1", "2", "3"]


async def a_clock_behind_that_of_another_machine_keeps_the_order(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        for number, moment in enumerate((2_000, 1_000, 1_500)):
            session = MemorywireSession(memory, "one", clock_ns=lambda moment=moment: moment)
            await session.add_items([_item(str(number))])
        assert [item["content"] for item in await session.get_items()] == ["0", "1", "2"]


async def the_session_of_a_user_goes_with_the_user(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    url = f"sqlite://{folder}/memory.db"
    for agent in ("first", "second"):
        async with Memory(agent, [url], user_id="ana") as memory:
            session = MemorywireSession(memory, "one")
            await session.add_items([_item(agent)])
            assert await session.get_items() == [_item(agent)]
            assert (await memory.kv.of("agent", agent).list()).entries == ()


async def what_waits_for_a_person_is_not_called_done(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"], policy=holding_forgets(folder)) as memory:
        session = MemorywireSession(memory, "one")
        await session.add_items([_item("hello")])
        assert await session.pop_item() is None
        held = None
        try:
            await session.clear_session()
        except ApprovalPending as problem:
            held = problem.proposal_id
        assert held is not None
        assert await session.get_items() == [_item("hello")]


async def it_is_a_session_to_the_library(folder: Path) -> None:
    from agents.memory import Session

    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        assert isinstance(MemorywireSession(memory, "one"), Session)


async def a_session_inside_another_is_refused(folder: Path) -> None:
    from memorywire_frameworks.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        try:
            MemorywireSession(memory, "one/two")
        except InvalidRequest:
            return
        raise AssertionError("it was opened")


async def the_example_runs(folder: Path) -> None:
    assert "My input has 3 items" in await example("openai_agents_session")


async def a_model_is_shown_the_memories_that_an_answer_depends_on(folder: Path) -> None:
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    from memorywire_frameworks.openai_agents import memory_filter

    class Echo(Model):
        """Answers with its instructions."""

        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **named: Any) -> Any:
            text = ResponseOutputText(text=system_instructions or "", type="output_text", annotations=[])
            message = ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *rest: Any, **named: Any) -> Any:
            raise NotImplementedError

    async with Memory("sessions", ["memory://"], user_id="ana") as memory:
        await memory.remember("Ana is allergic to peanuts.")
        await memory.remember("Ben is allergic to peanuts.", user_id="ben")
        config = RunConfig(tracing_disabled=True, call_model_input_filter=memory_filter(memory))
        agent = Agent(name="assistant", model=Echo(), instructions="Be brief.")
        said = (await Runner.run(agent, "Which snacks can I eat?", run_config=config)).final_output
        assert said == "Be brief.\n\n<memory data>\n- Ana is allergic to peanuts.\n</memory>"
        said = (await Runner.run(agent, "What is 17 times 23?", run_config=config)).final_output
        assert said == "Be brief."
        parts = [{"role": "user", "content": [{"type": "input_text", "text": "Which snacks can I eat?"}]}]
        assert "peanuts" in (await Runner.run(agent, parts, run_config=config)).final_output
