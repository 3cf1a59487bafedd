"""Memory to read instead of to call: recall and single memories as resources, and a prompt made of them."""

from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
)

from memorywire.model.errors import InvalidRequest, MemorywireError, NotFound
from memorywire.model.record import Json
from memorywire.server.mcp.call import Clerk
from memorywire.server.mcp.schemas import unscoped
from memorywire.server.mcp.sessions import Visit
from memorywire.server.mcp.tools import spoken, written

if TYPE_CHECKING:  # what stands behind the door is loaded by the first request
    from memorywire.model.answers import Recalled

RECALL = "memorywire://recall/"
MEMORY = "memorywire://memories/"
JSON = "application/json"

TEMPLATES = (
    ResourceTemplate(
        uri_template=RECALL + "{query}",
        name="recall",
        title="Recall",
        description="What memory knows about a query: the response of a recall.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        uri_template=MEMORY + "{id}",
        name="memory",
        title="One memory",
        description="One memory as it is now.",
        mime_type=JSON,
    ),
)

PROMPT = Prompt(
    name="memories",
    title="What memory knows",
    description="The memories that bear on a question, fenced and labelled, to put before a model.",
    arguments=[
        PromptArgument(name="query", description="What to look for, in words.", required=True),
        PromptArgument(name="max_tokens", description="At most so many tokens of memories.", required=False),
    ],
)


async def read(params: ReadResourceRequestParams, visit: Visit, clerk: Clerk) -> ReadResourceResult:
    """The resource, or the error that there is none: what is another's is not there."""
    from memorywire.wire.codec import encode

    uri = str(params.uri)
    operation, arguments = _meant(uri)
    try:
        answer = await clerk.ask(operation, arguments, visit)
    except MemorywireError as error:
        raise protocol_error(error, uri=uri) from error
    text = written(unscoped(encode(answer)))
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=JSON)])


async def prompt(params: GetPromptRequestParams, visit: Visit, clerk: Clerk) -> GetPromptResult:
    """The relevant memories as one message of the user, in the one form in which a model gets them."""
    if params.name != PROMPT.name:
        raise MCPError(code=INVALID_PARAMS, message=f"there is no such prompt; there is: {PROMPT.name}")
    given = params.arguments or {}
    arguments: dict[str, Json] = dict(given)
    if given.get("max_tokens", "").isdecimal():
        arguments["max_tokens"] = int(given["max_tokens"])
    try:
        recalled = await clerk.ask("recall", arguments, visit)
    except MemorywireError as error:
        raise protocol_error(error) from error
    text = TextContent(text=spoken(cast("Recalled", recalled), arguments.get("max_tokens")))
    return GetPromptResult(
        description=PROMPT.description, messages=[PromptMessage(role="user", content=text)]
    )


def protocol_error(error: MemorywireError, **data: Json) -> MCPError:
    """The problem where the protocol has no place for one but an error."""
    code = INVALID_PARAMS if isinstance(error, InvalidRequest | NotFound) else INTERNAL_ERROR
    return MCPError(code=code, message=error.detail, data={**data, "problem": error.problem()})


def _meant(uri: str) -> tuple[str, dict[str, Json]]:
    if uri.startswith(RECALL):
        return "recall", {"query": unquote(uri.removeprefix(RECALL))}
    if uri.startswith(MEMORY):
        return "get", {"id": unquote(uri.removeprefix(MEMORY))}
    known = f"there are: {RECALL}{{query}}, {MEMORY}{{id}}"
    raise MCPError(code=INVALID_PARAMS, message=f"there is no such resource; {known}", data={"uri": uri})
