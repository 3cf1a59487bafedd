"""Whether the server lives, and whether it can answer: one word each, and nothing else."""

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from memorywire.journal.events import last_event
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Scope
from memorywire.server.http.answers import as_json
from memorywire.server.http.endpoint import Door
from memorywire.server.http.handlers import Endpoint

_SECONDS = 2.0
_NOT_READY = 503


async def healthz(request: Request) -> Response:
    return as_json({"status": "ok"})


def readyz_endpoint(door: Door) -> Endpoint:
    checking: asyncio.Task[bool] | None = None

    async def answers() -> bool:
        """One check at a time, for all who ask meanwhile: anybody may, as often as they like."""
        nonlocal checking
        if checking is None or checking.done():
            checking = asyncio.create_task(_answers(door))
        return await asyncio.shield(checking)

    async def readyz(request: Request) -> Response:
        if door.closing.is_set() or not await answers():
            return as_json({"status": "not ready"}, _NOT_READY)
        if not door.container.writable:
            return as_json({"status": "read-only"}, _NOT_READY)
        if not door.container.roomy:
            return as_json({"status": "disk full"}, _NOT_READY)
        return as_json({"status": "ok"})

    return readyz


async def _answers(door: Door) -> bool:
    """Whether the store and the journal answer a small question in time."""
    try:
        async with asyncio.timeout(_SECONDS):
            await door.container.context.store.get(Scope(agent="readyz"), ["readyz"])
            await door.journal.file.read(last_event)
    except (MemorywireError, TimeoutError):
        return False
    return True
