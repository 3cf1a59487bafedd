"""`memorywire conformance`: whether a store keeps what every store promises."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.problems import problems
from memorywire.cli.terminal import Progress
from memorywire.model.errors import InvalidRequest

if TYPE_CHECKING:
    from memorywire.testing.report import Report

_BROKEN = 1
_STDOUT = "-"
_ENDPOINTS = ("http://", "https://")


def _form(name: str, what: str) -> click.Option:
    return click.Option(
        [f"--{name}", f"{name}_file"],
        is_flag=False,
        flag_value=_STDOUT,
        metavar="[FILE]",
        help=f"Write the report as {what}, to standard output when no FILE is given.",
    )


@click.command("conformance")
@click.argument("url")
@click.option("--seed", type=click.IntRange(0), default=1, metavar="N", help="Of the lives at random.")
@click.option("--lives", type=click.IntRange(0), default=3, metavar="N", help="How many there are.")
@click.option(
    "--check",
    "checks",
    multiple=True,
    metavar="WORD",
    help="Only checks of the contract whose name contains this; repeatable.",
)
@click.option(
    "--exempt",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file of checks the product cannot pass, with reasons.",
)
@click.option("--badge", type=click.Path(dir_okay=False, path_type=Path), help="Also draw a badge as SVG.")
def conformance_command(
    url: str,
    seed: int,
    lives: int,
    checks: tuple[str, ...],
    exempt: Path | None,
    badge: Path | None,
    **forms: str | None,
) -> None:
    """Examine the store at URL: the contract, the paper's sixteen scenarios, lives at random.

    An http or https URL is an endpoint that speaks the wire, whoever wrote it: there the scenarios of the
    specification are played that need no clock and no policy of their own.

    Everything is written for agents with names nobody has, but it is written: examine a store that may be
    thrown away. Exits with 1 when a promise is broken.
    """
    with problems(as_json=forms["json_file"] == _STDOUT):
        _refuse_lost([*forms.values(), badge])
        report = (
            _examined_over_the_wire(url)
            if url.startswith(_ENDPOINTS)
            else _examined(url, seed, lives, checks, exempt)
        )
    _hand_over(report, forms, badge)
    if not report.passed:
        raise click.exceptions.Exit(_BROKEN)


conformance_command.params += [_form("json", "JSON"), _form("junit", "JUnit XML"), _form("html", "a page")]


def _refuse_lost(places: Iterable[str | Path | None]) -> None:
    """Refuse a report that cannot be written, before the minutes that it takes to make."""
    for place in places:
        if place not in (None, _STDOUT) and not Path(str(place)).absolute().parent.is_dir():
            raise InvalidRequest(
                f"there is no folder for {place}", field="file", fix="make it, or name another file"
            )


def _examined(url: str, seed: int, lives: int, checks: tuple[str, ...], exempt: Path | None) -> "Report":
    import asyncio

    from memorywire.testing.run import examine_url

    with Progress("examining", None) as progress:
        return asyncio.run(
            examine_url(
                url,
                seed=seed,
                lives=lives,
                checks=checks,
                exempt=exempt,
                watch=lambda done, of: progress.reached(done, f"check {done} of {of}"),
            )
        )


def _examined_over_the_wire(url: str) -> "Report":
    import asyncio

    from memorywire.testing.scenario import examine_endpoint

    return asyncio.run(examine_endpoint(url))


def _hand_over(report: "Report", forms: dict[str, str | None], badge: Path | None) -> None:
    from memorywire.testing import report as shown

    writers = {"json_file": shown.as_json, "junit_file": shown.as_junit, "html_file": shown.as_html}
    wanted = {name: place for name, place in forms.items() if place is not None}
    if _STDOUT not in wanted.values():
        for line in shown.lines(report):
            click.echo(line)
    for name, place in wanted.items():
        text = writers[name](report)
        if place == _STDOUT:
            click.echo(text.encode(), nl=False)
        else:
            Path(place).write_text(text, encoding="utf-8")
    if badge is not None:
        badge.write_text(shown.badge(report), encoding="utf-8")
