"""A memory that was pinned by the field of a remember is kept like one with the tag."""

import asyncio

from memorywire import Memory
from memorywire.model.consolidation import Retention


def test_a_memory_with_the_field_pinned_has_no_limit() -> None:
    async def story() -> tuple[bool, bool]:
        async with Memory(agent_id="agent", stores=["memory://"]) as memory:
            pinned = await memory.remember("The gate code is 4711.", pinned=True)
            plain = await memory.remember("The gate is green.")
            retention = Retention()
            return (
                retention.pinned(await memory.get(pinned.id)),
                retention.pinned(await memory.get(plain.id)),
            )

    assert asyncio.run(story()) == (True, False)
