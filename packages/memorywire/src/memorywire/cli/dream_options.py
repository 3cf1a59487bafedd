"""The options of a night, each over what the settings file says under `[dream]`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memorywire.model.consolidation import OFF
from memorywire.model.record import MemoryType

if TYPE_CHECKING:
    from memorywire.model.consolidation import ConsolidationSettings, Limits, Retention, Spending

F = TypeVar("F", bound=Callable[..., Any])

_KINDS = ", ".join(MemoryType)
_NUMBER = re.compile(r"[0-9]{1,9}")
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6})?")
_SHORTEST = 0.1


def _by_kind(
    context: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> dict[MemoryType, int]:
    """`episodic=90` and its like."""
    said = [text.partition("=") for text in given]
    if not all(kind in set(MemoryType) and _NUMBER.fullmatch(number) for kind, _, number in said):
        raise click.BadParameter(f"write KIND=N with one of the kinds {_KINDS}")
    return {MemoryType(kind): int(number) for kind, _, number in said}


def _seconds(context: click.Context, option: click.Parameter, given: str | None) -> float | str | None:
    if given is None or given == OFF:
        return given
    if not _SECONDS.fullmatch(given) or float(given) < _SHORTEST:
        raise click.BadParameter(f"write a number of seconds, at least {_SHORTEST}, or off")
    return float(given)


def _moment(context: click.Context, option: click.Parameter, given: str | None) -> int | str | None:
    from memorywire.app.settings import moment_of_day

    if given is None or given == OFF:
        return given
    found = moment_of_day(given)
    if found is None:
        raise click.BadParameter("write a time such as 03:00, in UTC, or off")
    return found


_NIGHT = (
    click.option(
        "--keep",
        multiple=True,
        callback=_by_kind,
        metavar="KIND=DAYS",
        help="Archive unused memories of a kind after so many days; 0 keeps them for ever; repeatable.",
    ),
    click.option(
        "--most",
        multiple=True,
        callback=_by_kind,
        metavar="KIND=N",
        help="How many memories of a kind a user may have; 0 is any number; repeatable.",
    ),
    click.option("--pin", "pins", multiple=True, metavar="TAG", help="Leave what has this tag; repeatable."),
    click.option("--max-changes", type=click.IntRange(1), metavar="N", help="Touch no more memories."),
    click.option("--max-ratio", type=click.FloatRange(0, 1), metavar="SHARE", help="Touch no larger share."),
    click.option("--max-seconds", type=click.FloatRange(0), metavar="N", help="Begin no step after so long."),
    click.option("--model", metavar="URL|off", help="Who writes summaries and procedures."),
    click.option("--max-tokens", type=click.IntRange(0), metavar="N", help="Tokens it may take."),
    click.option("--price", type=click.FloatRange(0), metavar="P", help="What a million tokens cost."),
    click.option("--max-cost", type=click.FloatRange(0), metavar="P", help="What it may cost at that price."),
)
_BACKGROUND = (
    click.option(
        "--promote",
        callback=_seconds,
        metavar="SECONDS|off",
        help="How often notes of sessions are looked through; without it, what the settings say.",
    ),
    click.option(
        "--night",
        callback=_moment,
        metavar="HH:MM|off",
        help="When to dream for every agent each day, in UTC; without it, what the settings say.",
    ),
)


def of_a_night(command: F) -> F:
    """How long memories are kept, and what one run may do and spend."""
    return _with(_NIGHT, command)


def of_the_background(command: F) -> F:
    """What a server does by itself."""
    return _with(_BACKGROUND, command)


def _with(options: Sequence[Callable[[F], F]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def tended(sleep: "ConsolidationSettings", **given: Any) -> "ConsolidationSettings":
    """The settings for background work, with typed options over them."""
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    off: dict[str, Any] = dict.fromkeys(name for name, value in said.items() if value == OFF)
    return replace(sleep, **(said | off))


def sleep_of(sleep: "ConsolidationSettings", given: dict[str, Any]) -> "ConsolidationSettings":
    """The settings of a night, with typed options over them."""
    return replace(
        sleep,
        retention=_retention(sleep.retention, given),
        limits=_limits(sleep.limits, given),
        spending=_spending(sleep.spending, given),
        model=given["model"] or sleep.model,
    )


def _retention(usual: "Retention", given: dict[str, Any]) -> "Retention":
    from memorywire.app.settings import by_kind

    return replace(
        usual,
        days=by_kind(usual.days, given["keep"]),
        most=by_kind(usual.most, given["most"]),
        pins=usual.pins | set(given["pins"]),
    )


def _limits(usual: "Limits", given: dict[str, Any]) -> "Limits":
    return replace(usual, **_typed(given, changes="max_changes", ratio="max_ratio", seconds="max_seconds"))


def _spending(usual: "Spending", given: dict[str, Any]) -> "Spending":
    return replace(usual, **_typed(given, tokens="max_tokens", price="price", cost="max_cost"))


def _typed(given: dict[str, Any], **names: str) -> dict[str, Any]:
    return {name: given[option] for name, option in names.items() if given[option] is not None}
