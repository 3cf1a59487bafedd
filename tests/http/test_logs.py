"""Logs: every line is JSON when that is asked for, has the id of its trace, and names what was asked."""

import json
import logging
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from memorywire.stores.remote.protocol import PATH as STORE
from memorywire_server.http.app import MountedApp
from memorywire_server.mcp.mount import mcp_mount
from memorywire_server.telemetry import json_logs
from tests.cli.shell import COMMAND, Shell
from tests.http.server import Client, Server, serving
from tests.http.test_connections import INITIALIZE, connected, rest

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@contextmanager
def logged() -> Iterator[list[dict[str, Any]]]:
    """The lines that are logged in here, parsed."""
    lines: list[dict[str, Any]] = []
    with json_logs(lambda line: lines.append(json.loads(line))):
        yield lines


def line_of(server: Server, **fields: object) -> dict[str, Any]:
    """The line of a request with these fields, which is written a moment after the answer."""
    while True:
        for line in map(json.loads, server.lines):
            if fields.items() <= line.items():
                return line
        time.sleep(0.01)


class Broken:
    async def __call__(self, scope, receive, send):
        raise RuntimeError("this mount is broken\non two lines")


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    broken = MountedApp(path="/broken", app=Broken())
    with serving(mounts=lambda container: [mcp_mount(container), broken]) as running:
        yield running


def test_everything_a_server_writes_is_json_when_that_is_asked_for(tmp_path: Path):
    shell = Shell(tmp_path / "home")
    process = Popen(
        [*COMMAND, "serve", "--port", "0", "--json"], env=shell.environment(), stdout=PIPE, stderr=PIPE
    )
    assert process.stdout is not None
    try:
        written = process.stdout.readline()
        client = Client(json.loads(written)["url"])
        with connected(client) as garbage:
            garbage.sendall(b"this is not HTTP\r\n\r\n")
            assert rest(garbage).startswith(b"HTTP/1.1 400")
        client.remember("Ana prefers green tea")
        process.send_signal(signal.SIGTERM)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    lines = [json.loads(line) for line in errors.splitlines()]
    assert {line["level"] for line in lines} == {"info", "warning"}
    assert [line["operation"] for line in lines if "operation" in line] == ["remember"]
    assert "Invalid HTTP request received." in [line.get("message") for line in lines]
    assert "Shutting down" in [line.get("message") for line in lines]
    assert b"key=" not in written + out + errors
    assert out == b""


def test_a_traceback_is_one_line_with_the_trace_of_its_request(own: Server):
    with logged() as lines:
        reply = own.client.send("GET", "/broken", headers={"traceparent": PARENT})
        assert (reply.status, reply.json["code"]) == (500, "internal")
        assert TRACE in reply.json["fix"]
        line_of(own, operation="broken", status=500, trace_id=TRACE, level="error")
        while not any("exception" in line for line in lines):
            time.sleep(0.01)
    [line] = [line for line in lines if "exception" in line]
    assert (line["level"], line["logger"], line["trace_id"]) == ("error", "uvicorn.error", TRACE)
    assert "this mount is broken\non two lines" in line["exception"]


def test_warnings_and_threads_that_fail_are_logged_as_lines():
    with logged() as lines:
        warnings.warn("this is old", DeprecationWarning, stacklevel=1)
        thread = threading.Thread(target=lambda: 1 // 0, name="divider")
        thread.start()
        thread.join()
    assert [line["level"] for line in lines] == ["warning", "error"]
    assert "this is old" in lines[0]["message"]
    assert lines[1]["message"] == "thread divider failed"
    assert "ZeroDivisionError" in lines[1]["exception"]
    assert not any(
        handler.formatter.__class__.__name__ == "JsonLines" for handler in logging.getLogger().handlers
    )


@pytest.mark.parametrize(
    ("traceparent", "known"),
    [
        (PARENT, True),
        (f"01-{TRACE}-b7ad6b7169203331-01-more", True),
        (f"ff-{TRACE}-b7ad6b7169203331-01", False),
        (f"00-{'0' * 32}-b7ad6b7169203331-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"00-{TRACE.upper()}-b7ad6b7169203331-01", False),
        ("nonsense", False),
    ],
)
def test_a_request_has_the_trace_that_its_sender_names_or_a_new_one(
    own: Server, traceparent: str, known: bool
):
    agent = f"agent-{traceparent}"
    change = own.client.send(
        "POST",
        "/v0/remember",
        json.dumps({"agent_id": agent, "type": "semantic", "content": "tea"}).encode(),
        {"Content-Type": "application/json", "traceparent": traceparent},
    ).json["change_id"]
    line = line_of(own, change_id=change)
    assert (line["trace_id"] == TRACE) is known
    assert len(line["trace_id"]) == 32


def test_every_route_has_a_name_in_logs_and_figures(own: Server):
    asked = {
        "/": "start",
        "/docs": "docs",
        "/docs.css": "docs",
        "/healthz": "healthz",
        "/readyz": "readyz",
        "/metrics": "metrics",
        "/openapi.json": "openapi",
        "/v0/audit": "audit",
        "/v0/audit/checkpoint": "audit",
        "/v0/backends": "backend",
        "/v0/capabilities": "capabilities",
        "/v0/debts": "debts",
        "/v0/kv/agent/a": "kv",
        "/v0/memories": "list",
        "/v0/memories/unknown": "get",
        "/v0/proposals/unknown": "proposal",
        "/v0/kv-stats/agent/a": "kv",
        "/mcp": "mcp",
        "/nowhere": "other",
    }
    for path, name in asked.items():
        own.lines.clear()
        own.client.get(path)
        assert line_of(own, method="GET")["operation"] == name, path
    own.client.post("/mcp", INITIALIZE, Accept="application/json, text/event-stream")
    figures = own.client.get("/metrics").body.decode()
    assert 'memorywire_requests_total{operation="mcp",status="200"} 1.0' in figures


def test_what_is_refused_is_named_too():
    with serving(mounts=lambda container: [mcp_mount(container)]) as server:
        server.operator("ana")
        for path, name in (("/mcp", "mcp"), ("/v0/recall", "recall"), ("/v0/memories", "list")):
            server.client.get(path)
            assert line_of(server, status=401, operation=name)["code"] == "unauthenticated"


def test_the_store_of_another_memorywire_is_named():
    from memorywire_server.http.peers import store_mount

    with serving(mounts=lambda container: [store_mount(container)]) as server:
        server.client.post(f"{STORE}/about", [])
        assert line_of(server, method="POST")["operation"] == "store"
