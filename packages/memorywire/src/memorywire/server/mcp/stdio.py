"""The server over standard input and output: one client, one agent."""

from collections.abc import Callable

from mcp.server.stdio import stdio_server

from memorywire.server.mcp.call import OpenDoor
from memorywire.server.mcp.server import build_server
from memorywire.server.mcp.sessions import Visit


async def serve_stdio(open_door: OpenDoor, visit: Callable[[], Visit]) -> None:
    """Serve until the client closes its end; `visit` is asked at every request who that client is."""
    server = build_server(open_door, lambda _: visit())
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
