"""`memorywire mcp`: serve one agent's memory over standard input and output."""

import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click
from msgspec.structs import replace

from memorywire.cli.app import open_app
from memorywire.cli.context import CliContext, shared
from memorywire.cli.hints import require_extra
from memorywire.cli.terminal import without_secrets
from memorywire.model.errors import CapabilityUnsupported

_HERE = re.compile(r"([a-z0-9+.-]+://)/(\.\.?/.*)")
"""The URL of a store beside this shell: `sqlite:///./memory.db`."""

if TYPE_CHECKING:  # the engine is loaded by the first request
    from memorywire.server.http.endpoint import Service
    from memorywire.server.mcp.sessions import AgentSession
    from memorywire.server.mcp.tools import OpenService


@click.command("mcp")
@click.option("--print-config", is_flag=True, help="Print what to put into the settings of common clients.")
@click.option("--no-ask", is_flag=True, help="Never ask about held changes through the client.")
@shared
def mcp_command(cli: CliContext, print_config: bool, no_ask: bool) -> None:
    """Serve the memory of one agent over MCP, on standard input and output.

    The client that starts this says whose memory it is with --agent and --user; the model cannot. Held
    changes are asked about through the client where it can ask; otherwise the receipt says where to decide.
    """
    if print_config:
        from memorywire.server.mcp.snippets import snippets

        for line in snippets(_started_as(), _from_anywhere(cli.typed)):
            click.echo(line)
        return
    if cli.server is not None:
        address = without_secrets(cli.server).partition("?")[0].rstrip("/")
        raise CapabilityUnsupported(
            "this serves the store itself, and MEMORYWIRE_URL names a server",
            field="store",
            fix=f"give the client {address}/mcp over HTTP, or name the store with --store",
        )
    import asyncio
    import gc

    gc.disable()  # importing makes many objects and no garbage: it takes a tenth less time
    with require_extra("mcp"):
        from memorywire.server.mcp.server import serve_stdio
    gc.enable()

    async def serve() -> None:
        async with _opening(cli) as open_service:
            await serve_stdio(open_service, lambda: _visit(cli, asking=not no_ask))

    asyncio.run(serve())


def _visit(cli: CliContext, *, asking: bool) -> "AgentSession":
    """Whose memory it is. The settings are read by the first request, for they load the engine."""
    from memorywire.server.mcp.sessions import local_session

    anywhere = replace(cli, typed=_from_anywhere(cli.typed))
    return local_session(
        cli.settings.agent,
        cli.settings.user,
        asking=asking,
        tenant=cli.tenant,
        decided_with=partial(anywhere.again, "review", "show"),
    )


@asynccontextmanager
async def _opening(cli: CliContext) -> AsyncIterator["OpenService"]:
    """A door that opens at the first request and is closed, with the house behind it, at the end."""
    import asyncio

    lock, doors = asyncio.Lock(), list["Service"]()
    async with AsyncExitStack() as stack:

        async def open_service() -> "Service":
            from memorywire.server.http.endpoint import Limits, Service

            async with lock:
                if not doors:
                    container = await stack.enter_async_context(open_app(cli.settings))
                    doors.append(Service(container, Limits()))
                    stack.push_async_callback(doors[0].drain)
            return doors[0]

        yield open_service


def _from_anywhere(typed: Sequence[str]) -> tuple[str, ...]:
    """The options with whole paths: a client starts this in a folder of its own."""
    pairs = zip(typed[::2], typed[1::2], strict=True)
    return tuple(word for option, value in pairs for word in (option, _whole(option, value)))


def _whole(option: str, value: str) -> str:
    if option == "--config":
        return str(Path(value).absolute())
    beside = _HERE.fullmatch(value) if option == "--store" else None
    return (
        value
        if beside is None
        else f"{beside[1]}{quote(Path.cwd().as_posix())}/{beside[2].removeprefix('./')}"
    )


def _started_as() -> str:
    """This command with its whole path: a client may look for commands elsewhere than this shell does."""
    path = Path(sys.argv[0])
    return str(path.absolute()) if path.stem == "memorywire" and path.is_file() else "memorywire"
