"""`memorywire serve`: the HTTP server with the console and MCP."""

import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.cli.app import open_app, store_notes
from memorywire.cli.context import CliContext, without_scope
from memorywire.cli.demo import open_temporary
from memorywire.cli.inputs import add_options, option
from memorywire.cli.problems import UsageHint
from memorywire.model.clock import system_clock
from memorywire.model.consolidation import OFF, WINDOW_MAX, ConsolidationSettings
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.record import DEFAULT_TENANT
from memorywire.model.text import install_hint
from memorywire_server.commands.mcp import tools_option

if TYPE_CHECKING:
    from memorywire.app import Container
    from memorywire.app.consolidators import BackgroundWork
    from memorywire_server.archive import LedgerArchive
    from memorywire_server.auth import Provider
    from memorywire_server.conformance import Stage
    from memorywire_server.console.mount import Console
    from memorywire_server.http.app import MountedApp
    from memorywire_server.http.endpoint import Limits
    from memorywire_server.http.serve import Address, Serving


GROUP = "memorywire.mounts"
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_SHORTEST = 0.1
PORT = 8377
_SPARE_PORTS = 20
"""The number of ports after the default one to try."""

F = TypeVar("F", bound=Callable[..., Any])
OpenMounts = Callable[..., "list[MountedApp]"]


class Mountable(Protocol):
    """The interface of an entry point in the group `memorywire.mounts`."""

    @property
    def options(self) -> Sequence[click.Option]:
        """The options to add to `memorywire serve`."""

    def prepare(self, **values: Any) -> OpenMounts | None:
        """Read the values of the options; None if they do not enable the mount.

        The callable takes the container and `local`, `provider` and `limits` when the memory is open.
        """


def _refuse_openwop(context: click.Context, option: click.Parameter, value: bool) -> None:
    if value:
        package = "memorywire-openwop"
        raise UsageHint(f"--openwop needs the package {package}", context, install_hint(package))


def add_mount_options(command: F) -> F:
    """Give a command the options of every installed mountable."""
    # In reverse order, as click.option() does
    params = command.__dict__.setdefault("__click_params__", [])
    mountables = list(_load_installed())
    for mountable in mountables:
        params.extend(reversed(mountable.options))
    if "openwop" not in {name for mountable in mountables for name in _option_names(mountable)}:
        # To name the package to install in the error
        settings: dict[str, Any] = {
            "is_flag": True,
            "hidden": True,
            "expose_value": False,
            "callback": _refuse_openwop,
        }
        params.append(click.Option(["--openwop"], **settings))
    return command


def prepare_mounts(values: dict[str, Any]) -> list[OpenMounts]:
    """Remove the options of the mountables from `values`, and prepare those that are enabled."""
    openers = [
        mountable.prepare(**{name: values.pop(name) for name in _option_names(mountable)})
        for mountable in _load_installed()
    ]
    return [mounts for mounts in openers if mounts is not None]


def _option_names(mountable: Mountable) -> list[str]:
    return [option.name for option in mountable.options if option.name]


def _load_installed() -> Iterator[Mountable]:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        mountable: Mountable = point.load()
        yield mountable


def _parse_seconds(value: str) -> float | str:
    if value == OFF:
        return value
    if not _SECONDS.fullmatch(value) or float(value) < _SHORTEST:
        raise click.BadParameter(f"write a number of seconds, at least {_SHORTEST}, or off")
    return float(value)


def _parse_time_of_day(value: str) -> int | str:
    from memorywire.app.settings import moment_of_day

    minutes = OFF if value == OFF else moment_of_day(value)
    if minutes is None:
        raise click.BadParameter("write a time such as 03:00, in UTC, or off")
    return minutes


background_options = add_options(
    option(
        "--promote SECONDS|off",
        "How often short-term memory is looked through; default: the settings.",
        type=_parse_seconds,
    ),
    option(
        "--window N",
        "The newest N memories of each user are short-term; 0: those with the tag; default: the settings.",
        type=click.IntRange(0, WINDOW_MAX),
    ),
    option(
        "--night HH:MM|off",
        "When the daily consolidation runs, in UTC; default: the settings.",
        type=_parse_time_of_day,
    ),
)


def override_background(settings: "ConsolidationSettings", **values: Any) -> "ConsolidationSettings":
    """Return the settings of background work; options override the configured settings."""
    overrides: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    off: dict[str, Any] = dict.fromkeys(name for name, value in overrides.items() if value == OFF)
    return replace(settings, **(overrides | off))


@click.command("serve")
@option("--host ADDRESS", "The address.", default="127.0.0.1")
@option(
    "--port",
    f"The port; default: {PORT}, or the next free one on a loopback address; 0: any free port.",
    type=click.IntRange(0, 65_535),
)
@option("--allow-host NAME", "A host name of the server; repeatable.", name="hosts", multiple=True)
@option(
    "--rate N",
    "The most requests per second of one caller.",
    type=click.FloatRange(min=0, min_open=True),
    default=200.0,
)
@option(
    "--max-body BYTES",
    "The largest request body.",
    type=click.IntRange(1024, 16 * 1024 * 1024),
    default=1024 * 1024,
)
@option(
    "--max-connections N",
    "The most connections; one address gets half of them.",
    type=click.IntRange(2),
    default=1024,
)
@option(
    "--proxy ADDRESS",
    "A trusted reverse proxy, whose X-Forwarded-For names the client; repeatable.",
    name="proxies",
    multiple=True,
)
@option("--oidc-issuer URL", "Also accept tokens of this OpenID Connect provider.")
@option("--oidc-audience NAME", "The audience of the tokens.")
@option("--oidc-keys FILE|URL", "The public keys of the provider, as JWKS.")
@add_mount_options
@background_options
@option("--archive URL", "Archive the ledger in this folder or object store; default: the settings.")
@option(
    "--archive-every SECONDS",
    "How often.",
    type=click.FloatRange(min=1),
    default=3600.0,
)
@tools_option
@option("--demo", "Serve made-up demo data to try the console.")
@option("--conformance", "Serve an empty memory to the tests of `memorywire conformance`.")
@option("--quiet", "Do not log requests to standard error.")
@without_scope
def serve_command(
    cli: CliContext,
    host: str,
    port: int | None,
    hosts: tuple[str, ...],
    rate: float,
    max_body: int,
    max_connections: int,
    proxies: tuple[str, ...],
    tools: tuple[str, ...],
    archive: str | None,
    archive_every: float,
    demo: bool,
    quiet: bool,
    **rest: Any,
) -> None:
    """Serve the HTTP API, the console and MCP on one port.

    Events, health and metrics are served too.

    With --conformance the memory is a temporary one, and its clock and contents obey the tests.

    On the loopback address the local user needs no token until the first operator is added; the printed link
    to the console signs in once. Any other address needs operators or a token provider, else it exits with 2.

    With --json all output is JSON lines: the URL on standard output; requests, warnings and errors on
    standard error.
    """
    import asyncio

    from memorywire_server.http.endpoint import Limits
    from memorywire_server.http.metrics import to_stderr
    from memorywire_server.http.serve import Address, Serving
    from memorywire_server.mcp.groups import choose_groups
    from memorywire_server.telemetry import json_logs

    background = {name: rest.pop(name) for name in ("promote", "window", "night")}
    stage = _open_stage(rest.pop("conformance"), host, demo, provider=rest["oidc_issuer"])
    added = prepare_mounts(rest)
    limits = Limits(body=max_body, rate=rate, connections=max_connections)
    ports = {"port": PORT, "spare": _SPARE_PORTS} if port is None else {"port": port}
    address = Address(host=host, hosts=hosts, proxies=proxies, **ports)
    groups = tools or cli.settings.mcp_tools
    choose_groups(groups)
    apps = _MountedApps(address, _read_provider(rest), limits, added, groups, stage=stage)
    apps.archive_url, apps.archive_every = archive or cli.settings.archive, archive_every
    with _require_oidc(), _open_settings(cli, demo=demo, tested=stage is not None) as server_cli:
        serving = Serving(
            address=apps.address,
            limits=limits,
            mounts=apps.open,
            ready=lambda url: apps.print_url(server_cli, url),
            console="/console",
            log=None if quiet or demo else to_stderr,
            provider=apps.provider,
            home=(lambda: DEFAULT_TENANT) if stage is None else stage.home,
        )
        settings = override_background(server_cli.settings.consolidation, **background)
        with json_logs(to_stderr) if cli.as_json else nullcontext():
            asyncio.run(_serve(server_cli, serving, apps, settings))


def _read_provider(options: dict[str, Any]) -> "Provider | None":
    from memorywire_server.auth import Provider

    issuer, audience, keys = (options[name] for name in ("oidc_issuer", "oidc_audience", "oidc_keys"))
    if any((issuer, audience, keys)) and not all((issuer, audience, keys)):
        raise click.UsageError("give --oidc-issuer, --oidc-audience and --oidc-keys together")
    return Provider(issuer=issuer, audience=audience, keys=keys) if issuer else None


def _open_stage(tested: bool, host: str, demo: bool, provider: str | None) -> "Stage | None":
    """Return the stage of a server under test, else None; raises UsageError if others could reach it."""
    from memorywire_server.conformance import Stage
    from memorywire_server.http.serve import Address

    if not tested:
        return None
    if not Address(host=host).local:
        raise click.UsageError(
            f"--conformance lets every client that reaches {host} set the clock: use 127.0.0.1"
        )
    if demo or provider:
        raise click.UsageError(
            "--conformance serves an empty memory without sign-in: leave out the other options"
        )
    return Stage()


@contextmanager
def _open_settings(cli: CliContext, *, demo: bool, tested: bool) -> Iterator[CliContext]:
    """Yield the settings of the server: the user's, or those of a temporary store."""
    from memorywire_server.commands.demo import open_demo

    if demo:
        with open_demo(cli) as demo_cli:
            yield demo_cli
    elif tested:
        own: dict[str, Any] = {
            "policy": "open",
            "console": None,
            "consolidation": ConsolidationSettings(promote=None),
        }
        with open_temporary(cli, **own) as (_, settings), cli.with_settings(settings) as test_cli:
            yield test_cli
    else:
        yield cli


@contextmanager
def _require_oidc() -> Iterator[None]:
    """Raise CapabilityUnsupported with the package to install if an import inside fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memorywire"):
            raise  # our own module: no extra would provide it
        fix = install_hint("memorywire-server", "oidc")
        raise CapabilityUnsupported(f"{error.name} is not installed", fix=fix) from error


async def _serve(
    cli: CliContext, serving: "Serving", apps: "_MountedApps", settings: "ConsolidationSettings"
) -> None:
    from memorywire.journal.operators import Operators
    from memorywire_server.http.serve import serve

    async with open_app(cli.settings, system_clock if apps.stage is None else apps.stage.clock) as opened:
        container = replace(opened, consolidation=settings)
        for line in store_notes(cli.settings.stores):
            if cli.as_json:
                logging.getLogger("memorywire").warning(line)
            else:
                click.echo(line, err=True)
        apps.needs_token = container.journal is None or await Operators(container.journal).has_any()
        apps.background = _open_background(container, settings)
        apps.archive = _open_archive(container, apps)
        serving = replace(serving, archive=apps.archive)
        async with AsyncExitStack() as stack:
            for work in (apps.background, apps.archive):
                if work is not None:
                    await stack.enter_async_context(work.run_in_background())
            await serve(container, serving)


def _open_archive(container: "Container", apps: "_MountedApps") -> "LedgerArchive | None":
    """Return the archive of the ledger, if a URL for it is set."""
    import os

    from memorywire_server.archive import LedgerArchive, open_place

    if apps.archive_url is None or container.journal is None:
        return None
    place = open_place(apps.archive_url, os.environ)
    return LedgerArchive(container.journal, place, container.context.clock, every=apps.archive_every)


def _open_background(container: "Container", settings: "ConsolidationSettings") -> "BackgroundWork | None":
    """Return the background work of the consolidator; None if none is installed and no daily run is set."""
    from memorywire.app.consolidators import find_consolidator

    try:
        return find_consolidator(settings.consolidator).background(container, settings)
    except CapabilityUnsupported:
        if settings.night is not None:
            raise
        return None


class _MountedApps(Struct):
    """The applications mounted next to the API: the store endpoint, the console, MCP."""

    address: "Address"
    provider: "Provider | None"
    limits: "Limits"
    added: "list[OpenMounts]" = field(default_factory=list)
    groups: tuple[str, ...] = ()
    archive_url: str | None = None
    archive_every: float = 0.0
    archive: "LedgerArchive | None" = None
    background: "BackgroundWork | None" = None
    needs_token: bool = False
    stage: "Stage | None" = None
    consoles: "list[Console]" = field(default_factory=list)

    def open(self, container: "Container") -> "list[MountedApp]":
        from memorywire_server.conformance import hook_mount
        from memorywire_server.console.mount import console_mount
        from memorywire_server.http.peers import store_mount
        from memorywire_server.mcp.mount import PATH, mcp_mount, metadata_mount

        console = console_mount(
            container,
            local=self.address.local,
            provider=self.provider,
            tending=self.background,
            archive=self.archive,
        )
        self.consoles.append(console)
        mounts = [store_mount(container), console.mounted]
        if self.stage is not None:
            mounts.append(hook_mount(self.stage))
        mcp = mcp_mount(container, self.limits, provider=self.provider, groups=self.groups)
        mounts.append(mcp)
        if self.provider is not None:
            mounts.append(metadata_mount(self.provider, PATH))
        for open_mounts in self.added:
            mounts += open_mounts(
                container, local=self.address.local, provider=self.provider, limits=self.limits
            )
        return mounts

    def print_url(self, cli: CliContext, url: str) -> None:
        """Print the URL of the server, and a one-time sign-in link if no token is needed.

        The link is printed only on a terminal, never to a log.
        """
        if cli.as_json:
            click.echo(json.dumps({"url": url}))  # without the sign-in link
            return
        if self.address.spare and not url.endswith(f":{self.address.port}"):
            click.echo(f"port {self.address.port} is taken by another program: this is the next free one")
        click.echo(f"serving on {url}  (documentation: {url}/docs)")
        [console] = self.consoles
        is_open = self.address.local and not self.needs_token and self.provider is None
        if is_open and sys.stdout.isatty():
            click.echo(f"console:   {console.link(url)}  (signs in once, within 15 minutes)")
        else:
            click.echo(f"console:   {url}/console")


EXAMPLES = {
    "serve": ("memorywire serve --port 8377", "memorywire serve --demo", "memorywire serve --conformance"),
}
