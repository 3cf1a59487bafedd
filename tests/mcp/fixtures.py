"""What the protocol's conformance suite asks a server for, beside our own tools and behind the same guard."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

Context = ServerRequestContext[Any, Any]
Call = Callable[[Context, Any], Awaitable[Any]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = types.ImageContent(data=PNG, mime_type="image/png")
PAUSE = 0.05


def words(text: str) -> types.TextContent:
    return types.TextContent(text=text)


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    return types.EmbeddedResource(
        resource=types.TextResourceContents(uri=uri, text=text, mime_type=mime_type)
    )


def result(*content: Any, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **more)


def says(*content: Any, **more: Any) -> Call:
    """A tool that always gives the same."""

    async def call(context: Context, params: Any) -> types.CallToolResult:
        return result(*content, **more)

    return call


def form(message: str, required: bool = True, **properties: Any) -> types.ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(properties)
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=words(prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


NAME = form("What is your name?", name={"type": "string"})
ROOTS = types.ListRootsRequest()


def asks(final: str, *rounds: dict[str, Any], state: bool = False) -> Call:
    """A tool, or a prompt, that asks in rounds, until every round's answers are there."""

    async def call(context: Context, params: Any) -> Any:
        given = params.input_responses or {}
        reached = int(params.request_state or "0")
        if reached < len(rounds) and set(rounds[reached]) <= set(given):
            reached += 1
        elif reached == 0 and not state and len(rounds) == 1 and set(rounds[0]) <= set(given):
            reached = 1
        if reached < len(rounds):
            token = str(reached) if state else None
            return types.InputRequiredResult(input_requests=rounds[reached], request_state=token)
        told = json.dumps({key: value.model_dump(mode="json") for key, value in given.items()})
        return result(words(f"{final} {told}"))

    return call


async def logs(context: Context, params: Any) -> Any:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", said, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return result(words("logged"))


async def progresses(context: Context, params: Any) -> Any:
    token = None if context.meta is None else context.meta.get("progress_token")
    for done in (0, 50, 100):
        if token is not None:
            await context.session.send_progress_notification(
                token, done, 100, related_request_id=str(context.request_id)
            )
        await asyncio.sleep(PAUSE)
    return result(words("done"))


async def samples(context: Context, params: Any) -> Any:
    request = sampling(params.arguments["prompt"]).params
    told = await context.session.create_message(
        request.messages, max_tokens=request.max_tokens, related_request_id=context.request_id
    )
    return result(words(f"LLM response: {told.content.text}"))


def elicits(message: str | None, prefix: str, required: bool, **properties: Any) -> Call:
    """A tool of the era with a way back to the client."""

    async def call(context: Context, params: Any) -> Any:
        asked = form(message or params.arguments["message"], required, **properties).params
        told = await context.session.elicit_form(
            asked.message, asked.requested_schema, related_request_id=context.request_id
        )
        return result(words(f"{prefix}: action={told.action}, content={json.dumps(told.content)}"))

    return call


async def needs_sampling(context: Context, params: Any) -> Any:
    declared = context.session.client_capabilities
    if declared is None or declared.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="this needs sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return result(words("sampling was declared"))


async def only_declared(context: Context, params: Any) -> Any:
    declared = context.session.client_capabilities
    requests: dict[str, Any] = {}
    if declared is not None and declared.elicitation is not None:
        requests["user_name"] = NAME
    if declared is not None and declared.sampling is not None:
        requests["greeting"] = sampling("Generate a greeting")
    return types.InputRequiredResult(input_requests=requests, request_state="0")


CHOICES = ["option1", "option2", "option3"]
TITLED = [
    {"const": f"value{n}", "title": f"{which} Option"} for n, which in enumerate(("First", "Second"), 1)
]
OK = form("Please confirm", ok={"type": "boolean"})

TOOLS: Mapping[str, Call] = {
    "test_simple_text": says(words("This is a simple text response for testing.")),
    "test_image_content": says(IMAGE),
    "test_audio_content": says(types.AudioContent(data=WAV, mime_type="audio/wav")),
    "test_embedded_resource": says(
        embedded("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": says(
        words("Multiple content types test:"),
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
    "test_error_handling": says(words("This tool intentionally returns an error for testing"), is_error=True),
    "test_tool_with_logging": logs,
    "test_logging_tool": logs,
    "test_tool_with_progress": progresses,
    "test_sampling": samples,
    "test_elicitation": elicits(
        None, "User response", True, username={"type": "string"}, email={"type": "string"}
    ),
    "test_elicitation_sep1034_defaults": elicits(
        "Defaults",
        "Elicitation completed",
        False,
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        verified={"type": "boolean", "default": True},
    ),
    "test_elicitation_sep1330_enums": elicits(
        "Choices",
        "Elicitation completed",
        False,
        untitledSingle={"type": "string", "enum": CHOICES},
        titledSingle={"type": "string", "oneOf": TITLED},
        legacyEnum={"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        untitledMulti={"type": "array", "items": {"type": "string", "enum": CHOICES}},
        titledMulti={"type": "array", "items": {"anyOf": TITLED}},
    ),
    "test_missing_capability": needs_sampling,
    "test_streaming_elicitation": asks("Hello", {"user_name": NAME}),
    "test_input_required_result_elicitation": asks("Hello", {"user_name": NAME}),
    "test_input_required_result_sampling": asks(
        "Sampled", {"capital_question": sampling("What is the capital of France?")}
    ),
    "test_input_required_result_list_roots": asks("Roots", {"client_roots": ROOTS}),
    "test_input_required_result_request_state": asks("state-ok", {"confirm": OK}, state=True),
    "test_input_required_result_multiple_inputs": asks(
        "All",
        {"user_name": NAME, "greeting": sampling("Generate a greeting"), "client_roots": ROOTS},
        state=True,
    ),
    "test_input_required_result_multi_round": asks(
        "Both",
        {"step1": form("Step 1: What is your name?", name={"type": "string"})},
        {"step2": form("Step 2: What is your favorite color?", color={"type": "string"})},
        state=True,
    ),
    "test_input_required_result_tampered_state": asks("state-ok", {"confirm": OK}, state=True),
    "test_input_required_result_capabilities": only_declared,
}


def said_by_user(*contents: Any) -> types.GetPromptResult:
    messages = [types.PromptMessage(role="user", content=content) for content in contents]
    return types.GetPromptResult(messages=messages)


async def asking_prompt(context: Context, params: Any) -> Any:
    asked = {"user_context": form("What context should the prompt use?", context={"type": "string"})}
    told = await asks("Context", asked)(context, params)
    return told if isinstance(told, types.InputRequiredResult) else said_by_user(*told.content)


async def plain_prompt(context: Context, params: Any) -> Any:
    given = params.arguments or {}
    return {
        "test_simple_prompt": lambda: said_by_user(words("This is a simple prompt for testing.")),
        "test_prompt_with_arguments": lambda: said_by_user(
            words(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ),
        "test_prompt_with_embedded_resource": lambda: said_by_user(
            embedded(given["resourceUri"], "Embedded resource content for testing."),
            words("Please process the embedded resource above."),
        ),
        "test_prompt_with_image": lambda: said_by_user(IMAGE, words("Please analyze the image above.")),
    }[params.name]()


PROMPTS: Mapping[str, tuple[Call, tuple[str, ...]]] = {
    "test_simple_prompt": (plain_prompt, ()),
    "test_prompt_with_arguments": (plain_prompt, ("arg1", "arg2")),
    "test_prompt_with_embedded_resource": (plain_prompt, ("resourceUri",)),
    "test_prompt_with_image": (plain_prompt, ()),
    "test_input_required_result_prompt": (asking_prompt, ()),
}

RESOURCES = ("test://static-text", "test://static-binary", "test://watched-resource")


def read(uri: str) -> types.ReadResourceResult | None:
    parts = uri.split("/")
    contents: Any = None
    if uri in ("test://static-text", "test://watched-resource"):
        text = "This is the content of the static text resource."
        contents = types.TextResourceContents(uri=uri, text=text, mime_type="text/plain")
    elif uri == "test://static-binary":
        contents = types.BlobResourceContents(uri=uri, blob=PNG, mime_type="image/png")
    elif uri.startswith("test://template/") and parts[-1] == "data":
        told = json.dumps({"id": parts[3], "templateTest": True, "data": f"Data for ID: {parts[3]}"})
        contents = types.TextResourceContents(uri=uri, text=told, mime_type="application/json")
    return None if contents is None else types.ReadResourceResult(contents=[contents])


def tool(name: str) -> types.Tool:
    takes = {"test_sampling": ["prompt"], "test_elicitation": ["message"]}.get(name, [])
    schema = {
        "type": "object",
        "properties": {argument: {"type": "string"} for argument in takes},
        "required": takes,
    }
    return types.Tool(name=name, description=f"A fixture: {name}.", input_schema=schema)


def with_fixtures(server: Server[Any]) -> None:
    """Let our server offer the fixtures as well."""
    ours = {
        method: server.get_request_handler(method)
        for method in ("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list")
    } | {
        method: server.get_request_handler(method)
        for method in ("resources/read", "resources/templates/list")
    }

    async def listed(context: Context, params: Any) -> Any:
        found = await ours[context.method].handler(context, params)
        return replace_items(found, context.method)

    async def called(context: Context, params: Any) -> Any:
        return await TOOLS.get(params.name, ours["tools/call"].handler)(context, params)

    async def prompted(context: Context, params: Any) -> Any:
        return await PROMPTS.get(params.name, (ours["prompts/get"].handler,))[0](context, params)

    async def was_read(context: Context, params: Any) -> Any:
        return read(str(params.uri)) or await ours["resources/read"].handler(context, params)

    async def nothing(context: Context, params: Any) -> Any:
        return types.EmptyResult()

    async def completed(context: Context, params: Any) -> Any:
        return types.CompleteResult(completion=types.Completion(values=["paris"], total=1, has_more=False))

    handlers = {"tools/call": called, "prompts/get": prompted, "resources/read": was_read}
    for method, entry in ours.items():
        server.add_request_handler(method, entry.params_type, handlers.get(method, listed))
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, nothing)
    server.add_request_handler("resources/subscribe", types.SubscribeRequestParams, nothing)
    server.add_request_handler("resources/unsubscribe", types.UnsubscribeRequestParams, nothing)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, completed)


def replace_items(found: Any, method: str) -> Any:
    """The list with the fixtures behind our own."""
    if method == "tools/list":
        found.tools.extend(tool(name) for name in TOOLS)
    elif method == "prompts/list":
        for name, (_, takes) in PROMPTS.items():
            arguments = [types.PromptArgument(name=one, description=one, required=True) for one in takes]
            found.prompts.append(
                types.Prompt(name=name, description=f"A fixture: {name}.", arguments=arguments)
            )
    elif method == "resources/list":
        found.resources.extend(
            types.Resource(uri=uri, name=uri, description="A fixture.") for uri in RESOURCES
        )
    else:
        template = types.ResourceTemplate(uri_template="test://template/{id}/data", name="template")
        found.resource_templates.append(template)
    return found
