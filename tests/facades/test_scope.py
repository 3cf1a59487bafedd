"""What a client is narrowed to, it is narrowed to in every verb."""

import asyncio
from pathlib import Path

import pytest

from memorywire import Memory
from memorywire.model.errors import InvalidRequest, NotFound
from tests.engine.quick import Quick


def test_a_client_of_one_user_hears_of_that_user_alone(tmp_path: Path):
    url = f"sqlite://{tmp_path}/memory.db"

    async def story() -> None:
        async with Memory("agent", url, embedder=Quick()) as all_users:
            start = (await all_users.remember("noted", id="first")).id
            async with Memory("agent", url, user_id="ana", embedder=Quick()) as ana:
                for user in ("ben", "ana", "cyd"):
                    await all_users.remember(f"{user} likes tea", id=user, user_id=user)
                event = await anext(ana.events(0))
        assert start == "first"
        assert (event.user, event.memories) == ("ana", ("ana",))

    asyncio.run(story())


def test_an_event_of_the_layer_is_for_its_own_agent_and_user():
    async def story() -> None:
        async with Memory("agent", "memory://", user_id="ana", embedder=Quick()) as memory:
            event = await memory.layer.add([{"role": "user", "content": "I like tea"}], infer=False)
            assert (await memory.layer.event(event.id)).id == event.id
            with pytest.raises(NotFound):
                await memory.layer.event(event.id, user_id="ben")

    asyncio.run(story())


def test_filters_beside_an_option_that_gives_everything_are_refused(tmp_path: Path):
    async def story() -> None:
        async with Memory("agent", f"sqlite://{tmp_path}/memory.db", embedder=Quick()) as memory:
            receipt = await memory.remember("noted")
            with pytest.raises(InvalidRequest, match="whole takes no filters"):
                await memory.audit_export(tmp_path / "ledger.jsonl", whole=True, user_id="ana")
            with pytest.raises(InvalidRequest, match="subject takes no filters"):
                await memory.audit_log(subject=receipt.change_id, user_id="ana")
            assert len(await memory.audit_log(subject=receipt.change_id)) == 1

    asyncio.run(story())
