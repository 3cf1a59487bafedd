"""Completing what a person types into a prompt or an address: ids of memories, and tags as questions."""

from typing import TYPE_CHECKING, cast

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    PromptReference,
    ResourceTemplateReference,
)

from memorywire.model.errors import MemorywireError
from memorywire.server.mcp.call import Clerk
from memorywire.server.mcp.resources import MEMORY, PROMPT, RECALL, protocol_error
from memorywire.server.mcp.sessions import Visit

if TYPE_CHECKING:  # what stands behind the door is loaded by the first request
    from memorywire.model.answers import Page
    from memorywire.model.survey import FacetCounts

_MOST = 100
"""As many values as the protocol lets an answer have; ids are looked for among ten times as many memories."""


async def complete(params: CompleteRequestParams, visit: Visit, clerk: Clerk) -> CompleteResult:
    """Values that begin with what was typed; none where nothing can be offered."""
    kind = _kind(params.ref)
    if kind is None:
        raise MCPError(code=INVALID_PARAMS, message="there is no such prompt or resource template")
    typed = params.argument.value
    try:
        known = await _known(kind, params.argument.name, visit, clerk)
    except MemorywireError as error:
        raise protocol_error(error) from error
    values = [one for one in known if one.casefold().startswith(typed.casefold())]
    shown = values[:_MOST]
    return CompleteResult(
        completion=Completion(values=shown, total=len(values), has_more=len(values) > len(shown))
    )


def _kind(ref: ResourceTemplateReference | PromptReference) -> str | None:
    if isinstance(ref, PromptReference):
        return "query" if ref.name == PROMPT.name else None
    return {RECALL + "{query}": "query", MEMORY + "{id}": "id"}.get(str(ref.uri))


async def _known(kind: str, argument: str, visit: Visit, clerk: Clerk) -> list[str]:
    if argument != kind:
        return []
    if kind == "id":
        listed = cast("Page", await clerk.ask("list", {"limit": 10 * _MOST}, visit))
        return [record.id for record in listed.items]
    counts = cast("FacetCounts", await clerk.ask("facets", {}, visit))
    return [str(value.value) for value in counts.fields["tags"]]
