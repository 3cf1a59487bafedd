"""Configuration snippets for common MCP clients."""

import json
import shlex
from collections.abc import Iterator, Sequence

from memorywire.model.record import Json

URL = "http://127.0.0.1:8377/mcp"


def snippets(command: str, options: Sequence[str] = ()) -> Iterator[str]:
    """Return lines of text: for each client the file and the configuration to add.

    `options` are the options for the store and the agent, repeated in each snippet.
    """
    args = ["mcp", *options]
    stdio: dict[str, Json] = {"command": command, "args": args}
    yield "Claude Code"
    yield f"  claude mcp add memorywire -- {shlex.join((command, *args))}"
    yield "Claude Desktop: claude_desktop_config.json; Cursor: .cursor/mcp.json; Windsurf: mcp_config.json"
    yield from _indent(json.dumps({"mcpServers": {"memorywire": stdio}}, indent=2))
    yield "VS Code: .vscode/mcp.json"
    yield from _indent(json.dumps({"servers": {"memorywire": {"type": "stdio", **stdio}}}, indent=2))
    yield "Zed: settings.json"
    yield from _indent(json.dumps({"context_servers": {"memorywire": stdio}}, indent=2))
    yield "Codex: ~/.codex/config.toml"
    lines = ("[mcp_servers.memorywire]", f"command = {json.dumps(command)}", f"args = {json.dumps(args)}")
    yield from _indent("\n".join(lines))
    yield "Any client over HTTP, while `memorywire serve` runs; the header names the agent. Where operators"
    yield 'are named, another one brings a token: "Authorization": "Bearer mw_..."'
    values = dict(zip(options[::2], options[1::2], strict=True))
    headers = {"Memorywire-Agent": values.get("--agent", "NAME")}
    if "--user" in values:
        headers["Memorywire-User"] = values["--user"]
    remote = {"type": "http", "url": URL, "headers": headers}
    yield from _indent(json.dumps({"mcpServers": {"memorywire": remote}}, indent=2))


def _indent(text: str) -> Iterator[str]:
    return (f"  {line}" for line in text.splitlines())
