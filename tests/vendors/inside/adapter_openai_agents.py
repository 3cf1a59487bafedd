"""Our session for the OpenAI Agents SDK beside its own: the same calls, the same history."""

import random
from pathlib import Path
from typing import Any

from memorywire import Memory
from memorywire.model.errors import InvalidRequest
from tests.vendors.inside.played import example


def _item(words: str) -> Any:
    return {"role": "user", "content": words}


async def a_long_random_life_is_the_same_as_in_their_session(folder: Path) -> None:
    from agents import SQLiteSession

    from memorywire.integrations.openai_agents import MemorywireSession

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
    from memorywire.integrations.openai_agents import MemorywireSession

    url = f"sqlite://{folder}/memory.db"
    async with Memory("sessions", [url]) as memory:
        await MemorywireSession(memory, "one").add_items([_item("hello")])
    async with Memory("sessions", [url]) as memory:
        assert await MemorywireSession(memory, "one").get_items() == [_item("hello")]
        assert await MemorywireSession(memory, "on").get_items() == []


async def it_is_a_session_to_the_library(folder: Path) -> None:
    from agents.memory import Session

    from memorywire.integrations.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        assert isinstance(MemorywireSession(memory, "one"), Session)


async def a_session_inside_another_is_refused(folder: Path) -> None:
    from memorywire.integrations.openai_agents import MemorywireSession

    async with Memory("sessions", ["memory://"]) as memory:
        try:
            MemorywireSession(memory, "one/two")
        except InvalidRequest:
            return
        raise AssertionError("it was opened")


async def the_example_runs(folder: Path) -> None:
    assert "I was shown 3 items" in await example("openai_agents_session")
