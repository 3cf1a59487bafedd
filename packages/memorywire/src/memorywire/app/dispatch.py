"""The one way in: every transport hands over an operation and a payload, and gets an answer."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from memorywire.app.container import Container
from memorywire.model.answers import Answer
from memorywire.model.capabilities import Capabilities
from memorywire.model.record import Json
from memorywire.pipeline.perform import perform
from memorywire.wire import validate
from memorywire.wire.codec import OPERATIONS, decode, decode_oversight
from memorywire.wire.filters import doubts

if TYPE_CHECKING:
    from memorywire.pipeline.oversee import Overseen


async def dispatch(
    operation: str, payload: Mapping[str, Json], container: Container, *, tenant: str
) -> "Answer | Overseen | Capabilities":
    """Validate, decode, perform; every problem is a MemorywireError."""
    validate.check(operation, payload)
    if operation == "capabilities":
        return container.capabilities
    context = replace(container.context, operation=operation)
    if OPERATIONS[operation].oversight:
        from memorywire.pipeline.oversee import oversee  # agents never need it, so they do not wait for it

        return await oversee(decode_oversight(operation, payload, tenant=tenant), context)
    request = decode(operation, payload, tenant=tenant)
    answer = await perform(request, await context.serving(request.scope))
    if "filter" in payload and (notes := doubts(payload["filter"])):
        answer = replace(answer, notes=notes)
    return answer
