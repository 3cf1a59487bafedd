"""`memorywire mcp`: an MCP server for one agent on standard input and output."""

import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from memorywire.cli.app import open_app
from memorywire.cli.context import CliContext, shared
from memorywire.cli.inputs import option
from memorywire.cli.terminal import mask_secrets
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.secrets import url_path

_RELATIVE = re.compile(r"([a-z0-9+.-]+://)/(\.\.?/.*)")
"""A store URL with a relative path: `sqlite:///./memory.db`."""

if TYPE_CHECKING:  # the engine is loaded by the first request
    from memorywire_server.http.endpoint import Service
    from memorywire_server.mcp.sessions import AgentSession
    from memorywire_server.mcp.tools import OpenService


tools_option = option(
    "--tools GROUP",
    "Also offer the tools of a group: kv, layer or procedures; repeatable; default: the settings.",
    multiple=True,
)


@click.command("mcp")
@option("--print-config", "Print the settings for common clients.")
@tools_option
@option("--no-ask", "Never ask about held changes through the client.")
@shared
def mcp_command(cli: CliContext, print_config: bool, tools: tuple[str, ...], no_ask: bool) -> None:
    """Serve the memory of one agent over MCP (stdio).

    The client that starts the server selects the memory with --agent and --user; the model cannot. Held
    changes are decided through the client if it supports that; otherwise the receipt names the command.
    """
    if print_config:
        from memorywire_server.mcp.snippets import snippets

        for line in snippets(_command_path(), _absolute_options(cli.options)):
            click.echo(line)
        return
    if cli.server is not None:
        address = mask_secrets(cli.server).partition("?")[0].rstrip("/")
        raise CapabilityUnsupported(
            "this command serves a store, but MEMORYWIRE_URL is set to a server",
            field="store",
            fix=f"configure {address}/mcp (HTTP) in the client, or name the store with --store",
        )
    import asyncio
    import gc

    gc.disable()  # imports create many objects and no garbage: 10 % faster without
    from memorywire_server.mcp.groups import choose_groups
    from memorywire_server.mcp.server import serve_stdio

    gc.enable()

    absolute = replace(cli, options=_absolute_options(cli.options))

    def build_session() -> "AgentSession":
        """Return the scope of the session; called by the first request, as the settings load the engine."""
        from memorywire_server.mcp.sessions import local_session

        return local_session(
            cli.settings.agent,
            cli.settings.user,
            asking=not no_ask,
            tenant=cli.tenant,
            decided_with=partial(absolute.suggest, "review", "show"),
        )

    choose_groups(groups := tools or cli.settings.mcp_tools)

    async def serve() -> None:
        async with _open_lazily(cli) as open_service:
            await serve_stdio(open_service, build_session, groups)

    asyncio.run(serve())


@asynccontextmanager
async def _open_lazily(cli: CliContext) -> AsyncIterator["OpenService"]:
    """Yield a function that opens the service at the first request; it is closed at the end."""
    import asyncio

    lock, services = asyncio.Lock(), list["Service"]()
    async with AsyncExitStack() as stack:

        async def open_service() -> "Service":
            from memorywire_server.http.endpoint import Limits, Service

            async with lock:
                if not services:
                    container = await stack.enter_async_context(open_app(cli.settings))
                    services.append(Service(container, Limits()))
                    stack.push_async_callback(services[0].drain)
            return services[0]

        yield open_service


def _absolute_options(options: Sequence[str]) -> tuple[str, ...]:
    """Return the options with absolute paths, since a client starts this in another folder."""
    words: list[str] = []
    for name, value in zip(options[::2], options[1::2], strict=True):
        if name == "--config":
            value = str(Path(value).absolute())
        elif name == "--store" and (relative := _RELATIVE.fullmatch(value)):
            value = f"{relative[1]}{url_path(Path.cwd())}/{relative[2].removeprefix('./')}"
        words += [name, value]
    return tuple(words)


def _command_path() -> str:
    """Return the absolute path of this command, since a client may have another PATH."""
    path = Path(sys.argv[0])
    return str(path.absolute()) if path.stem == "memorywire" and path.is_file() else "memorywire"


EXAMPLES = {
    "mcp": ("memorywire mcp --agent coder", "memorywire mcp --print-config"),
}
