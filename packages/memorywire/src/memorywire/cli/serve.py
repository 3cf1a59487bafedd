"""`memorywire serve`: open the doors."""

import json
import logging
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct, field

from memorywire.cli.app import open_app, store_notes
from memorywire.cli.context import CliContext, of_everybody
from memorywire.cli.dream import background_options, override_background
from memorywire.cli.mounts import add_mount_options, prepare_mounts

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.app import Container
    from memorywire.cli.mounts import OpenMounts
    from memorywire.consolidate.background import BackgroundWork
    from memorywire.model.consolidation import ConsolidationSettings
    from memorywire.server.auth import Provider
    from memorywire.server.console.mount import Console
    from memorywire.server.http.app import MountedApp
    from memorywire.server.http.endpoint import Limits
    from memorywire.server.http.serve import Address, Serving


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
@click.option(
    "--max-connections",
    type=click.IntRange(2),
    default=1024,
    show_default=True,
    metavar="N",
    help="Connections at once; one address gets half of them.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A reverse proxy: its X-Forwarded-For names the client that limits count; repeatable.",
)
@click.option("--oidc-issuer", metavar="URL", help="Take tokens of this OpenID Connect provider, too.")
@click.option("--oidc-audience", metavar="NAME", help="For whom the provider made them.")
@click.option("--oidc-keys", metavar="FILE|URL", help="The public keys of the provider, as JWKS.")
@add_mount_options
@background_options
@click.option("--demo", is_flag=True, help="Serve a small world made up for the purpose, to look around in.")
@click.option("--quiet", is_flag=True, help="Do not write a line for each request to standard error.")
@of_everybody
def serve_command(
    cli: CliContext,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    rate: float,
    max_body: int,
    max_connections: int,
    proxies: tuple[str, ...],
    demo: bool,
    quiet: bool,
    **rest: Any,
) -> None:
    """Serve HTTP, the console, MCP where it is installed, events, health and figures on one port.

    On the loopback address one local user needs no token, until the first operator is added; the link to the
    console signs in once. Any other address needs operators or a provider of tokens, and exits with 2
    without.

    With --json all that is written is lines of JSON: the URL to standard output, requests, warnings and
    errors to standard error.
    """
    import asyncio

    from memorywire.cli.demo import open_demo
    from memorywire.cli.hints import require_extra

    with require_extra("server"):
        from memorywire.server.http.endpoint import Limits
        from memorywire.server.http.metrics import to_stderr
        from memorywire.server.http.serve import Address, Serving
        from memorywire.server.telemetry import json_logs

    background = {name: rest.pop(name) for name in ("promote", "night")}
    added = prepare_mounts(rest)
    limits = Limits(body=max_body, rate=rate, connections=max_connections)
    address = Address(host=host, port=port, hosts=hosts, proxies=proxies)
    doors = _Doors(address, _provider(**rest), limits, added)
    with require_extra("oidc"), open_demo(cli) if demo else nullcontext(cli) as at:
        serving = Serving(
            address=doors.address,
            limits=limits,
            mounts=doors.open,
            ready=lambda url: doors.say(at, url),
            console="/console",
            log=None if quiet or demo else to_stderr,
            provider=doors.provider,
        )
        with json_logs(to_stderr) if cli.as_json else nullcontext():
            asyncio.run(_serve(at, serving, doors, override_background(at.settings.sleep, **background)))


def _provider(
    *, oidc_issuer: str | None, oidc_audience: str | None, oidc_keys: str | None
) -> "Provider | None":
    """All three, or none: a token is believed only when all of it was asked for."""
    from memorywire.server.auth import Provider

    if oidc_issuer and oidc_audience and oidc_keys:
        return Provider(issuer=oidc_issuer, audience=oidc_audience, keys=oidc_keys)
    if oidc_issuer or oidc_audience or oidc_keys:
        raise click.UsageError("give --oidc-issuer, --oidc-audience and --oidc-keys together")
    return None


async def _serve(
    cli: CliContext, serving: "Serving", doors: "_Doors", sleep: "ConsolidationSettings"
) -> None:
    from memorywire.consolidate.background import BackgroundWork
    from memorywire.journal.operators import Operators
    from memorywire.server.http.serve import serve

    async with open_app(cli.settings) as container:
        for line in store_notes(cli.settings.stores):
            _remark(line, as_json=cli.as_json)
        doors.guarded = container.journal is None or await Operators(container.journal).has_any()
        doors.tending = BackgroundWork(container, sleep)
        async with doors.tending.run_in_background():
            await serve(container, serving)


def _remark(line: str, *, as_json: bool) -> None:
    if as_json:
        logging.getLogger("memorywire").warning(line)
    else:
        click.echo(line, err=True)


class _Doors(Struct):
    """The doors besides HTTP: the store for another memorywire, the console, MCP where it is installed."""

    address: "Address"
    provider: "Provider | None"
    limits: "Limits"
    added: "list[OpenMounts]" = field(default_factory=list)
    tending: "BackgroundWork | None" = None
    guarded: bool = False
    consoles: "list[Console]" = field(default_factory=list)

    def open(self, container: "Container") -> "list[MountedApp]":
        from memorywire.server.console.mount import console_mount
        from memorywire.server.http.peers import store_mount

        console = console_mount(
            container, local=self.address.local, provider=self.provider, tending=self.tending
        )
        self.consoles.append(console)
        opened = [store_mount(container), console.mounted]
        if find_spec("mcp") is not None:
            from memorywire.server.mcp.mount import PATH, mcp_mount, metadata_mount

            opened.append(mcp_mount(container, self.limits, provider=self.provider))
            if self.provider is not None:
                opened.append(metadata_mount(self.provider, PATH))
        for open_mounts in self.added:
            opened += open_mounts(
                container, local=self.address.local, provider=self.provider, limits=self.limits
            )
        return opened

    def say(self, cli: CliContext, url: str) -> None:
        """Where it is; with a link that signs in once, where nobody can sign in with a token.

        The link is for eyes alone: it is shown on a terminal, and never written where a log is kept.
        """
        if cli.as_json:
            click.echo(json.dumps({"url": url}))  # one line, as in a log; the link that signs in is not there
            return
        click.echo(f"serving on {url}  (documentation: {url}/docs)")
        [console] = self.consoles
        open_to_all = self.address.local and not self.guarded and self.provider is None
        if open_to_all and sys.stdout.isatty():
            click.echo(f"console:   {console.link(url)}  (signs in once, within 15 minutes)")
        else:
            click.echo(f"console:   {url}/console")
