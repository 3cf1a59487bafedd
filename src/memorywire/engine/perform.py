"""The engine: a typed request in, its answer out."""

from collections.abc import Awaitable, Callable
from functools import cache

from memorywire.engine.expire import expire
from memorywire.engine.forget import forget
from memorywire.engine.merge import merge
from memorywire.engine.reads import changes, get, history, list_
from memorywire.engine.remember import remember
from memorywire.engine.tools import Tools
from memorywire.engine.undo import undo
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


@cache
def _recalling() -> Callable[[Recall, Tools], Awaitable[Recalled]]:
    """Loaded when it is first asked for: whoever keeps a memory need not know how to rank."""
    from memorywire.engine.recall import recall

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
