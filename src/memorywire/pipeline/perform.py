"""The engine: a typed request in, its answer out."""

from collections.abc import Awaitable, Callable
from functools import cache

from memorywire.model.answers import Answer, Recalled
from memorywire.model.requests import (
    Changes,
    Expire,
    Forget,
    Get,
    History,
    List,
    Merge,
    Recall,
    Remember,
    Request,
    Undo,
)
from memorywire.pipeline.context import Tools
from memorywire.pipeline.expire import expire
from memorywire.pipeline.forget import forget
from memorywire.pipeline.merge import merge
from memorywire.pipeline.reads import changes, get, history, list_
from memorywire.pipeline.remember import remember
from memorywire.pipeline.undo import undo


@cache
def _recalling() -> Callable[[Recall, Tools], Awaitable[Recalled]]:
    """Loaded when it is first asked for: whoever keeps a memory need not know how to rank."""
    from memorywire.pipeline.recall import recall

    return recall


async def perform(request: Request, usual: Tools) -> Answer:
    """Carry out any request, where the memories of its scope are."""
    tools = await usual.serving(request.scope)
    match request:
        case Remember():
            return await remember(request, tools)
        case Recall():
            return await _recalling()(request, tools)
        case Forget():
            return await forget(request, tools)
        case Merge():
            return await merge(request, tools)
        case Expire():
            return await expire(request, tools)
        case Get():
            return await get(request, tools)
        case List():
            return await list_(request, tools)
        case History():
            return await history(request, tools)
        case Undo():
            return await undo(request, tools)
        case Changes():
            return await changes(request, tools)
