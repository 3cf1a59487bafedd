"""What every test of the layer needs: something that is said, a model to read it, and patience."""

import asyncio
from collections.abc import Callable
from typing import Any

from memorywire import Memory
from memorywire.app import Reading
from memorywire.model.layer import Event, EventState
from tests.layer.endpoint import Model

HELLO = [{"role": "user", "content": "My name is Ana. I live in Lisbon."}]
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def at(model: Model, dialect: str = "openai", **more: Any) -> Reading:
    return Reading(extractor=f"{dialect}+http://127.0.0.1:{model.port}/v1?model=small", key="sk-test", **more)


async def contents(memory: Memory) -> list[object]:
    return [record.content for record in await memory.list()]


async def until(memory: Memory, event: Event, ended: Callable[[Event], bool]) -> Event:
    while not ended(event):
        await asyncio.sleep(0.01)
        event = await memory.layer.event(event.id)
    return event


def over(event: Event) -> bool:
    return event.state is not EventState.PENDING
