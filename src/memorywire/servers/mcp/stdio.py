"""The server over standard input and output: one client, one agent."""

from mcp.server.stdio import stdio_server

from memorywire.servers.mcp.clerk import OpenDoor
from memorywire.servers.mcp.server import build_server
from memorywire.servers.mcp.visits import local_visit


async def serve_stdio(open_door: OpenDoor, agent: str, user: str | None, *, asking: bool = True) -> None:
    """Serve until the client closes its end; `asking` lets the person behind the client decide."""
    server = build_server(open_door, lambda _: local_visit(agent, user, asking=asking))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
