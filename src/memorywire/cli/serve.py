"""`memorywire serve`: open the doors."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from memorywire.cli.desk import Desk, shared
from memorywire.cli.house import opened_house

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.house import House
    from memorywire.servers.http.app import Mounted
    from memorywire.servers.http.run import Serving


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8377,
    show_default=True,
    help="Which port; 0 takes any that is free.",
)
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="A name the server goes by; repeatable."
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    default=200.0,
    show_default=True,
    metavar="N",
    help="Requests a second that one caller may send.",
)
@click.option(
    "--max-body",
    type=click.IntRange(1024, 16 * 1024 * 1024),
    default=1024 * 1024,
    show_default=True,
    metavar="BYTES",
    help="The largest body of a request.",
)
@click.option("--quiet", is_flag=True, help="Do not write a line for each request to standard error.")
@shared
def command(
    desk: Desk, host: str, port: int, hosts: tuple[str, ...], rate: float, max_body: int, quiet: bool
) -> None:
    """Serve HTTP, MCP where it is installed, events, health and figures on one port.

    On the loopback address one local user needs no token, until the first operator is added. Any other
    address needs operators, and exits with 2 without.
    """
    from memorywire.cli.extras import needed

    with needed("server"):
        from memorywire.servers.http.door import Limits
        from memorywire.servers.http.run import Address, Serving
        from memorywire.servers.http.watch import to_stderr

    serving = Serving(
        address=Address(host=host, port=port, hosts=hosts),
        limits=Limits(body=max_body, rate=rate),
        mounts=_mounts,
        ready=lambda url: _say(desk, url),
        log=None if quiet else to_stderr,
    )
    import asyncio

    asyncio.run(_serve(desk, serving))


async def _serve(desk: Desk, serving: "Serving") -> None:
    from memorywire.servers.http.run import serve

    async with opened_house(desk.settings) as house:
        await serve(house, serving)


def _mounts(house: "House") -> "list[Mounted]":
    """The doors that are installed besides HTTP."""
    if find_spec("mcp") is None:
        return []
    from memorywire.servers.mcp.mount import mcp_mount

    return [mcp_mount(house)]


def _say(desk: Desk, url: str) -> None:
    if desk.as_json:
        desk.print_json({"url": url})
    else:
        click.echo(f"serving on {url}  (documentation: {url}/docs)")
