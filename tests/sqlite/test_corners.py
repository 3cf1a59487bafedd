"""What is kept of a small user's rows between two recalls never outlives a change."""

from pathlib import Path

from memorywire.facades.memory import Memory
from tests.sqlite.desk import run

CROWD = [{"content": f"Ben counted {number} red boats", "user_id": "ben"} for number in range(300)]


def test_a_small_user_sees_every_change_at_once(tmp_path: Path):
    async def story():
        async with Memory("a", [f"sqlite:///{tmp_path}/m.db"], policy=None) as memory:

            async def boats():
                hits = await memory.recall("boats", user_id="ana", min_relevance="off", k=20)
                return [hit.content for hit in hits]

            await memory.remember_many(CROWD)
            first = await memory.remember("Ana counted 3 green boats", user_id="ana")
            assert await boats() == await boats() == ["Ana counted 3 green boats"]
            await memory.remember("Ana painted a boat", user_id="ana")
            assert set(await boats()) == {"Ana counted 3 green boats", "Ana painted a boat"}
            await memory.remember("Ana sold her boats", user_id="ana", supersedes=first.id)
            assert set(await boats()) == {"Ana sold her boats", "Ana painted a boat"}
            await memory.remember("Ben sold his boats", user_id="ben")
            assert set(await boats()) == {"Ana sold her boats", "Ana painted a boat"}
            await memory.forget(filter={"content": {"contains": "painted"}}, user_id="ana")
            assert await boats() == ["Ana sold her boats"]

    run(story())
