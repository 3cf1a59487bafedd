"""Options and applications that other packages add to `memorywire serve`, by entry point."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

if TYPE_CHECKING:
    from memorywire.server.http.app import MountedApp

GROUP = "memorywire.mounts"

F = TypeVar("F", bound=Callable[..., Any])
OpenMounts = Callable[..., "list[MountedApp]"]


class Mountable(Protocol):
    """The interface of an entry point of the group."""

    @property
    def options(self) -> Sequence[click.Option]:
        """The options that `memorywire serve` gets."""

    def prepare(self, **values: Any) -> OpenMounts | None:
        """Read the values of its options; None if they do not enable it.

        The callable takes the container and `local`, `provider` and `limits` when the memory is open.
        """


class _MissingOpenWop(click.Option):
    """The option of a package that is not installed, so that an error can say what to install."""

    def __init__(self) -> None:
        super().__init__(["--openwop"], is_flag=True, hidden=True, expose_value=False, callback=self._refuse)

    @staticmethod
    def _refuse(context: click.Context, option: click.Parameter, value: bool) -> None:
        if value:
            raise click.UsageError(
                "`memorywire serve --openwop` needs: pip install memorywire-openwop", context
            )


def add_mount_options(command: F) -> F:
    """Give a command the options of every installed mountable."""
    # As click.option() does: options are collected in reverse.
    params = command.__dict__.setdefault("__click_params__", [])
    mountables = list(_load_installed())
    for mountable in mountables:
        params.extend(reversed(mountable.options))
    if "openwop" not in {name for mountable in mountables for name in _option_names(mountable)}:
        params.append(_MissingOpenWop())
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
