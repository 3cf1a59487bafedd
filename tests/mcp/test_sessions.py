"""Real sessions: the SDK's client against the command on a pipe, and against the server on a port."""

import asyncio
import json
import shlex
import subprocess
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from memorywire import __version__
from memorywire_server.mcp.mount import mcp_mount
from tests.cli.shell import COMMAND, Shell
from tests.http.server import Server, serving
from tests.mcp.clients import Person, both_eras, problem, remembered, text

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
ACCEPT = "application/json, text/event-stream"


def piped(home: Path, *options: str) -> StdioServerParameters:
    command, *arguments = COMMAND
    environment = Shell(home).environment()
    return StdioServerParameters(command=command, args=[*arguments, "mcp", *options], env=environment)


def over_http(server: Server, era: str, token: str | None = None, **headers: str) -> Client:
    """A client of the server, with its own connection."""
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        said["Authorization"] = f"Bearer {token}"
    caller = httpx2.AsyncClient(headers=said, timeout=60)
    return Client(streamable_http_client(f"{server.client.url}/mcp", http_client=caller), mode=era)


def told(story: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(story)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("mcp")
    with serving(f"sqlite://{folder}/memory.db", mounts=lambda container: [mcp_mount(container)]) as running:
        yield running


@both_eras
def test_an_agent_on_a_pipe_remembers_from_one_session_to_the_next(era: str, tmp_path: Path):
    async def first() -> str:
        async with Client(stdio_client(piped(tmp_path, "--agent", "ana")), mode=era) as client:
            assert len((await client.list_tools()).tools) == 7
            assert not (tmp_path / "memory.db").exists(), "a handshake opens nothing"
            return str((await remembered(client, "Ana prefers green tea"))["id"])

    async def second() -> Any:
        async with Client(stdio_client(piped(tmp_path, "--agent", "ana")), mode=era) as client:
            return (await client.call_tool("recall", {"query": "what tea?"})).structured_content

    id = told(first())
    assert (tmp_path / "memory.db").exists()
    assert [hit["id"] for hit in told(second())["results"]] == [id]


def test_a_store_that_cannot_be_opened_is_a_problem_of_the_call(tmp_path: Path):
    async def story() -> dict[str, str]:
        async with Client(stdio_client(piped(tmp_path, "--store", "nowhere://x"))) as client:
            return problem(await client.call_tool("recall", {"query": "tea"}))

    assert told(story())["code"] == "validation_error"


def test_a_person_is_asked_through_the_pipe_unless_told_not_to(tmp_path: Path):
    held = {"type": "semantic", "content": "Ana pays by invoice", "approval_required": True}

    async def story(person: Person, *options: str) -> Any:
        pipe = stdio_client(piped(tmp_path, *options))
        async with Client(pipe, mode="legacy", elicitation_callback=person) as client:
            return (await client.call_tool("remember", held)).structured_content["status"]

    silent, asked = Person("approve"), Person("approve")
    assert told(story(silent, "--no-ask")) == "staged"
    assert told(story(asked)) == "committed"
    assert (len(silent.asked), len(asked.asked)) == (0, 1)


def test_the_snippets_start_this_server(tmp_path: Path):
    done = Shell(tmp_path)("mcp", "--print-config", "--agent", "ana")
    blocks = [block for block in done.out.split("\n") if block.strip()]
    document = done.out[done.out.index("{") : done.out.index("VS Code")]
    assert json.loads(document)["mcpServers"]["memorywire"]["args"] == ["mcp", "--agent", "ana"]
    assert blocks[1].strip() == "claude mcp add memorywire -- memorywire mcp --agent ana"
    far = json.loads(done.out[done.out.rindex('{\n    "mcpServers"') :])
    assert far["mcpServers"]["memorywire"]["headers"] == {"Memorywire-Agent": "ana"}


@both_eras
def test_an_agent_over_http_is_the_one_its_header_names(era: str, server: Server):
    async def story() -> None:
        async with over_http(server, era, Memorywire_Agent=f"ana-{era}") as ana:
            mine = await remembered(ana, "Ana prefers green tea")
            found = await ana.call_tool("recall", {"query": "what tea?"})
            assert [hit["id"] for hit in found.structured_content["results"]] == [mine["id"]]
        async with over_http(server, era, Memorywire_Agent="ben") as ben:
            assert problem(await ben.call_tool("get", {"id": mine["id"]}))["code"] == "not_found"

    told(story())


def test_many_clients_at_once_get_their_own_answers(server: Server):
    async def one(number: int) -> None:
        async with over_http(server, "2026-07-28", Memorywire_Agent=f"crowd-{number}") as client:
            receipt = await remembered(client, f"the number of this agent is {number}")
            found = await client.call_tool("recall", {"query": "which number?", "min_relevance": "off"})
            assert [hit["id"] for hit in found.structured_content["results"]] == [receipt["id"]]

    async def story() -> None:
        await asyncio.gather(*(one(number) for number in range(10)))

    told(story())


def test_a_stranger_is_turned_away_before_the_protocol():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        known = server.operator("ana", role="writer")
        assert server.client.post("/mcp", INITIALIZE, Accept=ACCEPT).status == 401
        assert known.post("/mcp", INITIALIZE, Accept=ACCEPT).status == 200


def test_a_session_is_of_the_credential_that_opened_it():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        ana, ben = (server.operator(name, role="writer") for name in ("ana", "ben"))
        session = ana.post("/mcp", INITIALIZE, Accept=ACCEPT).headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        said = {"Accept": ACCEPT, "Mcp_Session_Id": session}
        assert ben.post("/mcp", ping, **said).status == 404
        assert ana.post("/mcp", ping, **said).status == 200


def test_rights_and_agents_of_a_token_hold_for_tools():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        reader = server.operator("reader", role="reader", agents=("ana",)).token
        writer = server.operator("writer", role="writer", agents=("ana", "ben-*")).token

        async def story() -> None:
            async with over_http(server, "2026-07-28", writer, Memorywire_Agent="ana") as client:
                mine = await remembered(client, "Ana prefers green tea")
            async with over_http(server, "2026-07-28", writer, Memorywire_Agent="carla") as client:
                refused = await client.call_tool("remember", {"type": "semantic", "content": "x"})
                assert problem(refused)["code"] == "forbidden"
            async with over_http(server, "2026-07-28", reader) as client:
                assert not (await client.call_tool("get", {"id": mine["id"]})).is_error
                refused = await client.call_tool("forget", {"ids": [mine["id"]]})
                assert problem(refused)["code"] == "forbidden"

        told(story())


def test_only_a_token_that_may_review_is_asked():
    held = {"type": "semantic", "content": "Ana pays by invoice", "approval_required": True}
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        tokens = {role: server.operator(role, role=role).token for role in ("writer", "admin")}

        async def story(role: str) -> tuple[str, int]:
            person = Person("approve")
            said = {"Authorization": f"Bearer {tokens[role]}"}
            pipe = streamable_http_client(
                f"{server.client.url}/mcp", http_client=httpx2.AsyncClient(headers=said, timeout=60)
            )
            async with Client(pipe, elicitation_callback=person) as client:
                result = await client.call_tool("remember", held)
                assert not result.is_error, text(result)
                return result.structured_content["status"], len(person.asked)

        assert told(story("writer")) == ("staged", 0)
        assert told(story("admin")) == ("committed", 1)


def test_a_page_of_another_origin_cannot_speak_to_it(server: Server):
    assert server.client.post("/mcp", INITIALIZE, Accept=ACCEPT, Origin="http://evil.test").status == 403
    assert server.client.post("/mcp", INITIALIZE, Accept=ACCEPT, Host="evil.test").status == 421


def test_a_server_that_ends_does_not_wait_for_a_client_that_listens(caplog: pytest.LogCaptureFixture):
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        opened = server.client.post("/mcp", INITIALIZE, Accept=ACCEPT)
        listening = server.client.connect()
        said = {"Accept": "text/event-stream", "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        listening.request("GET", "/mcp", headers=said)
        stream = listening.getresponse()
        assert stream.status == 200
        server.end()
        assert stream.read() == b""
        listening.close()
    assert "graceful shutdown exceeded" not in caplog.text


MODERN = {
    "MCP_Protocol_Version": "2026-07-28",
    "Mcp_Method": "tools/call",
    "Mcp_Name": "remember",
    "Accept": ACCEPT,
}
DEEP = '{"a":' * 60 + "1" + "}" * 60


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ('"content": "Ana has a dog"', "committed"),
        ('"content": "x", "confidence": NaN', "must be finite"),
        ('"content": "x", "confidence": 1e999', "must be finite"),
        (r'"content": "\ud800"', "lone surrogate"),
        (r'"content": "a\u0000b"', "NUL character"),
        ('"content": false', "wrong type"),
        ('"content": "x", "expires_at": 99999999999999999999999', "beyond 64 bits"),
        (f'"content": "x", "metadata": {DEEP}', "nested deeper"),
    ],
)
def test_what_no_json_of_ours_may_hold_is_a_problem_and_never_a_crash(fields: str, said: str, server: Server):
    meta = (
        '{"io.modelcontextprotocol/protocolVersion": "2026-07-28",'
        ' "io.modelcontextprotocol/clientCapabilities": {}}'
    )
    params = f'{{"name": "remember", "arguments": {{"type": "semantic", {fields}}}, "_meta": {meta}}}'
    body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
    reply = server.client.post("/mcp", body.encode(), **MODERN)
    assert reply.status == 200
    assert said in reply.json["result"]["content"][0]["text"]


def test_a_body_that_is_too_large_is_refused(server: Server):
    assert server.client.post("/mcp", b'"' + b"x" * 2_000_000 + b'"', **MODERN).status == 413


def test_the_registry_entry_names_this_version_and_this_command():
    entry = json.loads((Path(__file__).parents[2] / "server.json").read_text(encoding="utf-8"))
    [package] = entry["packages"]
    assert entry["version"] == package["version"] == __version__
    assert len(entry["description"]) <= 100
    assert [argument["value"] for argument in package["packageArguments"]] == ["mcp"]


def test_the_snippets_name_the_command_that_printed_them(tmp_path: Path):
    command = tmp_path / "memorywire"
    command.write_text(f"#!{sys.executable}\nfrom memorywire.cli import main\nmain()\n", encoding="utf-8")
    command.chmod(0o755)
    words = [command, "mcp", "--print-config", "--agent", "ana"]
    done = subprocess.run(words, capture_output=True, text=True, env=Shell(tmp_path / "home").environment())
    document = done.stdout[done.stdout.index("{") : done.stdout.index("VS Code")]
    assert json.loads(document)["mcpServers"]["memorywire"]["command"] == str(command)


def test_the_snippets_name_the_same_store_from_anywhere(tmp_path: Path):
    (tmp_path / "mine.toml").touch()
    typed = [
        "--store",
        "sqlite:///./a b.db?synchronous=normal",
        "--store",
        "sqlite:///../b.db",
        "--config",
        "mine.toml",
    ]
    words = [*COMMAND, "mcp", "--print-config", *typed, "--store", "sqlite:////var/c.db", "--agent", "./ana"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env=Shell(tmp_path / "home").environment()
    )
    document = done.stdout[done.stdout.index("{") : done.stdout.index("VS Code")]
    stores = [
        f"sqlite://{tmp_path}/a b.db?synchronous=normal",
        f"sqlite://{tmp_path}/../b.db",
        "sqlite:////var/c.db",
    ]
    args = json.loads(document)["mcpServers"]["memorywire"]["args"]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("  claude mcp add")]
    assert shlex.split(line)[-len(args) :] == args
    assert args[1:] == [
        *(word for url in stores for word in ("--store", url)),
        *("--agent", "./ana", "--config", str(tmp_path / "mine.toml")),
    ]
