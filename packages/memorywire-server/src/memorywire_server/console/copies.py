"""Code samples of a request to this server: Python, TypeScript, curl, MCP and the command line."""

import json
import shlex
from collections.abc import Mapping
from urllib.parse import quote

from memorywire.model.errors import Unauthenticated
from memorywire.model.record import DEFAULT_TENANT, Json
from memorywire_server.console.page import Page
from memorywire_server.console.render import plain

_OPTIONS = {
    "user_id": "--user",
    "k": "-k",
    "types": "--type",
    "filter": "--filter",
    "as_of": "--as-of",
    "min_relevance": "--min-relevance",
    "hops": "--hops",
    "fusion": "--fusion",
    "max_tokens": "--max-tokens",
    "rank": "--rank",
    "budget": "--budget",
    "limit": "--limit",
}
"""The command-line options for the fields of a recall and of a context."""

_MAIN = {"recall": "query", "context": "prompt", "remember": "content", "get": "id"}
"""The field that the client methods of an operation take as first argument, if any."""


async def write_copies(page: Page, operation: str, payload: Mapping[str, Json]) -> list[tuple[str, str]]:
    """Return the request in each language, with the URL and the tenant of this server."""
    tenant = None if page.caller.tenant == DEFAULT_TENANT else page.caller.tenant
    url = f"{page.request.url.scheme}://{page.request.url.netloc}"
    is_open = await _is_open(page)
    main = _MAIN.get(operation)
    rest = {name: value for name, value in payload.items() if name not in ("agent_id", "user_id", main)}
    tool = {"name": operation, "arguments": rest if main is None else {main: payload[main], **rest}}
    return [
        ("Python", _write_python(url, operation, payload, rest, tenant, is_open=is_open)),
        ("TypeScript", _write_typescript(url, operation, payload, rest, tenant, is_open=is_open)),
        ("curl", write_curl(url, operation, payload, tenant, is_open=is_open)),
        ("MCP", plain({"method": "tools/call", "params": tool})),
        ("CLI", _write_command(operation, payload, tenant)),
    ]


async def list_first_steps(page: Page, agent: str, content: str) -> list[tuple[str, str]]:
    """Ways to send the first memory to this server."""
    tenant = None if page.caller.tenant == DEFAULT_TENANT else page.caller.tenant
    url, is_open = f"{page.request.url.scheme}://{page.request.url.netloc}", await _is_open(page)
    payload = {"agent_id": agent, "type": "semantic", "content": content}
    address = url if tenant is None else f"{url}?tenant={quote(tenant)}"
    command = f"export MEMORYWIRE_URL={address}\n"
    command += "" if is_open else "export MEMORYWIRE_TOKEN=...\n"
    command += f"memorywire remember {shlex.quote(content)} --agent {shlex.quote(agent)}"
    return [
        ("Command line", command),
        ("curl", write_curl(url, "remember", payload, tenant, is_open=is_open)),
        ("Python", _write_python(url, "remember", payload, {}, tenant, is_open=is_open)),
        ("TypeScript", _write_typescript(url, "remember", payload, {}, tenant, is_open=is_open)),
    ]


async def _is_open(page: Page) -> bool:
    """Return whether this server accepts requests without a token."""
    try:
        await page.console.authenticator.admit(None)
    except Unauthenticated:
        return False
    return True


def _write_python(
    url: str,
    operation: str,
    payload: Mapping[str, Json],
    rest: Mapping[str, Json],
    tenant: str | None,
    *,
    is_open: bool,
) -> str:
    agent, user = payload["agent_id"], payload.get("user_id")
    owner = "" if user is None else f", user_id={user!r}"
    owner += "" if tenant is None else f", tenant={tenant!r}"
    token = "" if is_open else ", token=os.environ['MEMORYWIRE_TOKEN']"
    scope = {"scope": "all"} if user is None and operation == "recall" else {}
    options = [f"{name}={value!r}" for name, value in (scope | dict(rest)).items()]
    main = [repr(payload[_MAIN[operation]])] if operation in _MAIN else []
    call = f"memory.{operation}({', '.join([*main, *options])})"
    imports = "" if is_open else "import os\n"
    imports += "from memorywire import BlockingClient\n\n"
    return f"{imports}with BlockingClient({url!r}, {agent!r}{owner}{token}) as memory:\n    answer = {call}"


def _write_typescript(
    url: str,
    operation: str,
    payload: Mapping[str, Json],
    rest: Mapping[str, Json],
    tenant: str | None,
    *,
    is_open: bool,
) -> str:
    options = {"url": url, "agentId": payload["agent_id"], "userId": payload.get("user_id"), "tenant": tenant}
    fields = [f"{name}: {_quote(value)}" for name, value in options.items() if value is not None]
    fields += [] if is_open else ["token: process.env.MEMORYWIRE_TOKEN"]
    arguments = [_quote(payload[_MAIN[operation]])] if operation in _MAIN else []
    arguments += [_quote(dict(rest))] if rest else []
    return (
        'import { Memory } from "memorywire-client";\n\n'
        f"const memory = new Memory({{ {', '.join(fields)} }});\n"
        f"const answer = await memory.{operation}({', '.join(arguments)});"
    )


def _quote(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def write_curl(
    url: str, operation: str, payload: Mapping[str, Json], tenant: str | None, *, is_open: bool
) -> str:
    """Return a curl command for the HTTP API."""
    lines = [f"curl -s {shlex.quote(f'{url}/v0/{operation}')}", "-H 'Content-Type: application/json'"]
    lines += [] if is_open else ['-H "Authorization: Bearer $MEMORYWIRE_TOKEN"']
    lines += [] if tenant is None else [f"-H {shlex.quote(f'Memorywire-Tenant: {tenant}')}"]
    return " \\\n  ".join([*lines, f"-d {shlex.quote(json.dumps(payload, ensure_ascii=False))}"])


def _write_command(operation: str, payload: Mapping[str, Json], tenant: str | None) -> str:
    main = [str(payload[_MAIN[operation]])] if operation in _MAIN else []
    words = ["memorywire", operation, *main, "--agent", str(payload["agent_id"])]
    words += ["--include-archived"] if payload.get("include") else []
    for name, option in _OPTIONS.items():
        if name in payload:
            value = payload[name][0] if name == "types" else payload[name]
            words += [
                option,
                json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value),
            ]
    words += [] if tenant is None else ["--tenant", tenant]
    return shlex.join([*words, *(["--explain"] if payload.get("explain") else [])])
