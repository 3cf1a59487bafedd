"""The entry point of every transport: takes an operation and a payload, and returns an answer."""

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.answers import Answer
from memorywire.model.capabilities import Capabilities
from memorywire.model.record import Json, Scope
from memorywire.model.requests import (
    BuildContext,
    Changes,
    Expire,
    Forget,
    Get,
    History,
    List,
    Merge,
    ReadProfile,
    Recall,
    Remember,
    Request,
    Share,
    Shares,
    Undo,
    Unshare,
)
from memorywire.pipeline.context import Context
from memorywire.pipeline.forget import expire, forget
from memorywire.pipeline.merge import merge
from memorywire.pipeline.reads import changes, get, history, list_
from memorywire.pipeline.remember import remember
from memorywire.pipeline.undo import undo
from memorywire.wire import validate
from memorywire.wire.codec import OPERATIONS, decode, decode_oversight
from memorywire.wire.filters import doubts

if TYPE_CHECKING:
    from memorywire.pipeline.oversee import Overseen


async def dispatch(
    operation: str, payload: Mapping[str, Json], container: Container, *, tenant: str
) -> "Answer | Overseen | Capabilities":
    """Validate, decode and perform a request. Every error that it raises is a MemorywireError."""
    definition = OPERATIONS.get(operation)
    if definition is None or definition.oversight or definition.request is None:
        validate.check(operation, payload)
    if operation == "capabilities":
        return await _find_capabilities(payload, container, tenant)
    context = replace(container.context, operation=operation)
    if definition is not None and definition.oversight:
        from memorywire.pipeline.oversee import oversee  # slow to import, and agents never use it

        return await oversee(decode_oversight(operation, payload, tenant=tenant), context)
    request = decode(operation, payload, tenant=tenant)
    answer = await perform(request, await context.serving(request.scope))
    if "filter" in payload and (notes := doubts(payload["filter"])):
        answer = replace(answer, notes=notes)
    return answer


async def _find_capabilities(payload: Mapping[str, Json], container: Container, tenant: str) -> Capabilities:
    if "agent_id" not in payload:
        return container.capabilities
    user = payload.get("user_id")
    return await container.capabilities_of(Scope(tenant=tenant, agent=payload["agent_id"], user=user))


def perform(request: Request, context: Context) -> Awaitable[Answer]:
    """Start a request against the store of the context, and return the awaitable answer."""
    match request:
        case Remember():
            return remember(request, context)
        case Recall():
            from memorywire.pipeline.recall import recall  # processes that only write need no ranker

            return recall(request, context)
        case Forget():
            return forget(request, context)
        case Merge():
            return merge(request, context)
        case Expire():
            return expire(request, context)
        case Get():
            return get(request, context)
        case List():
            return list_(request, context)
        case History():
            return history(request, context)
        case Undo():
            return undo(request, context)
        case Changes():
            return changes(request, context)
        case _:
            return _perform_rarer(request, context)


_Rarer: TypeAlias = BuildContext | ReadProfile | Share | Unshare | Shares


async def _perform_rarer(request: _Rarer, context: Context) -> Answer:
    """Perform a request whose module is imported on first use, because few processes need it."""
    if isinstance(request, ReadProfile):
        from memorywire.pipeline.prompt_context.profile import read_profile

        return await read_profile(request, context)
    if isinstance(request, BuildContext):
        from memorywire.pipeline.prompt_context.build import build_context

        return await build_context(request, context)
    from memorywire.pipeline.share import list_shares, share, unshare

    if isinstance(request, Shares):
        return await list_shares(request, context)
    return await (share(request, context) if isinstance(request, Share) else unshare(request, context))
