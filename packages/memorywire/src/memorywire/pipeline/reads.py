"""Reading without ranking: one memory, a page of them, their past, the change log."""

from memorywire.model.answers import Chain, ChangeLog, Page
from memorywire.model.errors import NotFound
from memorywire.model.record import Record
from memorywire.model.requests import Changes, Get, History, List, Order
from memorywire.pipeline.context import Context
from memorywire.pipeline.survey import listed, surveyor


async def get(request: Get, context: Context) -> Record:
    """The current version, unless it has expired."""
    found = await context.store.get(request.scope, [request.id])
    if not found or not found[0].alive(context.clock()):
        raise NotFound(f"no live memory {request.id}", field="id")
    return found[0]


async def list_(request: List, context: Context) -> Page:
    where = listed(request, context)
    newest = request.order is Order.NEWEST
    read = surveyor(context, "order").newest if newest else context.store.find
    found = await read(where, request.after, request.limit + 1)
    items = tuple(found[: request.limit])
    return Page(
        items=items,
        total=await context.store.count(where),
        next=items[-1].id if len(found) > request.limit else None,
    )


async def history(request: History, context: Context) -> Chain:
    versions = await context.historian("history").history(request.scope, request.id)
    if not versions:
        raise NotFound(f"no memory {request.id}", field="id")
    return Chain(id=request.id, versions=tuple(versions))


async def changes(request: Changes, context: Context) -> ChangeLog:
    found = await context.historian("changes").changes(request.scope, request.limit)
    return ChangeLog(changes=tuple(found))
