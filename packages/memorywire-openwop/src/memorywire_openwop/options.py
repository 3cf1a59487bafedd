"""The options that this package adds to `memorywire serve`, and the host that they start."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import click

if TYPE_CHECKING:
    from memorywire_server.http.app import MountedApp

_OPTIONS = (
    click.Option(["--openwop"], is_flag=True, help="Be an OpenWOP host, too."),
    click.Option(
        ["--openwop-agents"],
        type=click.File("rb"),
        metavar="FILE",
        help="The agents of that host, as a JSON list of manifests.",
    ),
    click.Option(
        ["--openwop-test"],
        is_flag=True,
        help="With what the published OpenWOP scenarios need; never for real use.",
    ),
    click.Option(
        ["--openwop-run-hours"],
        type=click.FloatRange(0, 87_600, min_open=True),
        default=168.0,
        show_default=True,
        metavar="HOURS",
        help="How long a run of that host may last before it has failed.",
    ),
    click.Option(
        ["--openwop-edition"],
        type=click.Choice(["1.14", "1.15"]),
        default="1.14",
        show_default=True,
        help="Name the long-term dimension as this edition of the suite: long-term, or long-term-durability.",
    ),
)


class OpenWop:
    """The entry point `memorywire.mounts`."""

    options: Sequence[click.Option] = _OPTIONS

    def prepare(
        self,
        *,
        openwop: bool,
        openwop_agents: BinaryIO | None,
        openwop_test: bool,
        openwop_run_hours: float,
        openwop_edition: str,
    ) -> "Callable[..., list[MountedApp]] | None":
        """Return the factory of the mounts if an option enables them; parses agents now, so errors show."""
        if not (openwop or openwop_test or openwop_agents is not None):
            return None
        from memorywire_openwop.discovery import parse_manifests
        from memorywire_openwop.server.mount import openwop_mounts

        values: dict[str, Any] = {
            "testing": openwop_test,
            "run_hours": openwop_run_hours,
            "edition": openwop_edition,
        }
        manifests = () if openwop_agents is None else parse_manifests(openwop_agents.read())
        return partial(openwop_mounts, manifests=manifests, **values)


OPENWOP = OpenWop()
