"""Memory as MCP resources and prompts: recalls and single memories to read, and prompts built from them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from memorywire.model.errors import InvalidRequest, MemorywireError, NotFound
from memorywire.model.record import Json
from memorywire_server.mcp.schemas import drop_scope
from memorywire_server.mcp.sessions import AgentSession
from memorywire_server.mcp.tools import Runner, write_context, write_json, write_recall

if TYPE_CHECKING:
    from memorywire.model.answers import ContextBlock, Page, Recalled
    from memorywire.model.oversight import FacetCounts
    from memorywire_server.http.endpoint import Service


RECALL = "memorywire://recall/"
MEMORY = "memorywire://memories/"
JSON = "application/json"

TEMPLATES = (
    types.ResourceTemplate(
        uri_template=RECALL + "{query}",
        name="recall",
        title="Recall",
        description="What memory knows about a query: the response of a recall.",
        mime_type=JSON,
    ),
    types.ResourceTemplate(
        uri_template=MEMORY + "{id}",
        name="memory",
        title="One memory",
        description="One memory as it is now.",
        mime_type=JSON,
    ),
)

PROMPT = types.Prompt(
    name="memories",
    title="What memory knows",
    description="The memories that bear on a question, fenced and labelled, to put before a model.",
    arguments=[
        types.PromptArgument(name="query", description="What to look for, in words.", required=True),
        types.PromptArgument(
            name="max_tokens", description="At most so many tokens of memories.", required=False
        ),
    ],
)


CONTEXT = types.Prompt(
    name="context",
    title="What to know before answering",
    description="Constraints, facts about the person and memories that help with a task, fenced as data.",
    arguments=[
        types.PromptArgument(name="prompt", description="What the person asks for.", required=True),
        types.PromptArgument(name="budget", description="At most so many tokens.", required=False),
    ],
)

PROMPTS = (CONTEXT, PROMPT)


async def read(
    params: types.ReadResourceRequestParams, session: AgentSession, runner: Runner
) -> types.ReadResourceResult:
    """Read a resource; another agent's memory is reported as missing."""
    from memorywire.wire.codec import encode

    uri = str(params.uri)
    if uri.startswith(RECALL):
        operation, arguments = "recall", {"query": unquote(uri.removeprefix(RECALL))}
    elif uri.startswith(MEMORY):
        operation, arguments = "get", {"id": unquote(uri.removeprefix(MEMORY))}
    else:
        text = f"there is no such resource; there are: {RECALL}{{query}}, {MEMORY}{{id}}"
        raise MCPError(code=types.INVALID_PARAMS, message=text, data={"uri": uri})
    try:
        answer = await runner.ask(operation, arguments, session)
    except MemorywireError as error:
        raise protocol_error(error, uri=uri) from error
    text = write_json(drop_scope(encode(answer)))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=JSON)])


async def prompt(
    params: types.GetPromptRequestParams, session: AgentSession, runner: Runner
) -> types.GetPromptResult:
    """Return the relevant memories as one user message, rendered in the same way as for the tools."""
    kind = next((one for one in PROMPTS if one.name == params.name), None)
    if kind is None:
        names = ", ".join(one.name for one in PROMPTS)
        raise MCPError(code=types.INVALID_PARAMS, message=f"there is no such prompt; there are: {names}")
    arguments: dict[str, Json] = {
        name: int(value) if name in ("max_tokens", "budget") and value.isdecimal() else value
        for name, value in (params.arguments or {}).items()
    }
    try:
        answer = await runner.ask("context" if kind is CONTEXT else "recall", arguments, session)
    except MemorywireError as error:
        raise protocol_error(error) from error
    text = (
        write_context(cast("ContextBlock", answer))
        if kind is CONTEXT
        else write_recall(cast("Recalled", answer), arguments.get("max_tokens"))
    )
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=kind.description, messages=[message])


def protocol_error(error: MemorywireError, **data: Json) -> MCPError:
    """Convert a problem to an MCP error, where the protocol has no other way to return it."""
    code = types.INVALID_PARAMS if isinstance(error, InvalidRequest | NotFound) else types.INTERNAL_ERROR
    return MCPError(code=code, message=error.detail, data={**data, "problem": error.problem()})


_MOST = 100
"""The most values of a completion that the protocol allows; ids come from ten times as many memories."""


async def complete(
    params: types.CompleteRequestParams, session: AgentSession, runner: Runner
) -> types.CompleteResult:
    """Return values that begin with the typed text; empty if none are known."""
    if isinstance(params.ref, types.PromptReference):
        kind = {PROMPT.name: "query", CONTEXT.name: "prompt"}.get(params.ref.name)
    else:
        kind = {RECALL + "{query}": "query", MEMORY + "{id}": "id"}.get(str(params.ref.uri))
    if kind is None:
        raise MCPError(code=types.INVALID_PARAMS, message="there is no such prompt or resource template")
    candidates: list[str] = []
    try:
        if params.argument.name == kind == "id":
            listing = cast("Page", await runner.ask("list", {"limit": 10 * _MOST}, session))
            candidates = [record.id for record in listing.items]
        elif params.argument.name == kind == "query":
            counts = cast("FacetCounts", await runner.ask("facets", {}, session))
            candidates = [str(value.value) for value in counts.fields["tags"]]
    except MemorywireError as error:
        raise protocol_error(error) from error
    prefix = params.argument.value.casefold()
    values = [one for one in candidates if one.casefold().startswith(prefix)]
    completion = types.Completion(values=values[:_MOST], total=len(values), has_more=len(values) > _MOST)
    return types.CompleteResult(completion=completion)


Context = ServerRequestContext[Any, Any]


class Listeners:
    """The open streams of one server."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._open = 0

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams, session: AgentSession
    ) -> types.SubscriptionsListenResult:
        """Send changes to the client until it disconnects, the server stops, or its token is revoked."""
        from memorywire.journal.operators import Right

        service = await self._runner.open_service()
        try:
            session.caller.require(Right.READ)
            session.caller.require_agent(session.payload({}), optional=False)
        except MemorywireError as error:
            raise protocol_error(error) from error
        if self._open >= service.limits.streams:
            raise MCPError(types.INTERNAL_ERROR, "too many subscriptions")
        uris = params.notifications.resource_subscriptions or []
        bus = InMemorySubscriptionBus()
        handler = ListenHandler(bus)
        place = await service.feed.now()
        self._open += 1
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_publish, service, session, uris, bus, handler, place)
                result = await handler(context, params)
                group.cancel_scope.cancel()
            return result
        finally:
            self._open -= 1


async def _publish(
    service: "Service",
    session: AgentSession,
    uris: Sequence[str],
    bus: InMemorySubscriptionBus,
    handler: ListenHandler,
    place: int,
) -> None:
    """Publish changes after `place`: memories that changed, and recalls after any change.

    Only changes of the connection's agent and user count. The stream ends
    when the client loses access.
    """
    closing = session.state.get("closing", service.closing)
    while not closing.is_set() and await session.is_welcome():
        position = service.feed.heard
        events, place = await service.feed.after(place, tenant=session.caller.tenant, agents=(session.agent,))
        changes = [
            event
            for event in events
            if event.kind == "committed"
            and event.agent == session.agent
            and session.user in (None, event.user)
        ]
        ids = {id for event in changes for id in event.memories}
        for uri in dict.fromkeys(uris):
            is_changed = uri.startswith(MEMORY) and unquote(uri.removeprefix(MEMORY)) in ids
            if is_changed or (uri.startswith(RECALL) and changes):
                await bus.publish(ResourceUpdated(uri))
        if not events:
            await service.feed.pause(position)
    handler.close()
