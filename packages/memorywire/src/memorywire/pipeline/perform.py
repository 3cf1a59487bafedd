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
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import expire, forget
from memorywire.pipeline.merge import merge
from memorywire.pipeline.reads import changes, get, history, list_
from memorywire.pipeline.remember import remember
from memorywire.pipeline.undo import undo


@cache
def _recalling() -> Callable[[Recall, Context], Awaitable[Recalled]]:
    """Loaded when it is first asked for: whoever keeps a memory need not know how to rank."""
    from memorywire.pipeline.recall import recall

    return recall


async def perform(request: Request, usual: Context) -> Answer:
    """Carry out any request, where the memories of its scope are."""
    context = await usual.serving(request.scope)
    match request:
        case Remember():
            return await remember(request, context)
        case Recall():
            return await _recalling()(request, context)
        case Forget():
            return await forget(request, context)
        case Merge():
            return await merge(request, context)
        case Expire():
            return await expire(request, context)
        case Get():
            return await get(request, context)
        case List():
            return await list_(request, context)
        case History():
            return await history(request, context)
        case Undo():
            return await undo(request, context)
        case Changes():
            return await changes(request, context)
