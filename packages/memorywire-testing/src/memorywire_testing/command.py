"""`memorywire conformance`: test a store against the store contract."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memorywire.cli.inputs import EXISTING_FILE, option
from memorywire.cli.problems import problems
from memorywire.cli.terminal import Progress
from memorywire.model.errors import InvalidRequest

if TYPE_CHECKING:
    from memorywire_testing.report import Report

_BROKEN = 1
_STDOUT = "-"


def _form(name: str, what: str) -> click.Option:
    return click.Option(
        [f"--{name}", f"{name}_file"],
        is_flag=False,
        flag_value=_STDOUT,
        metavar="[FILE]",
        help=f"Write the report as {what}, to standard output when no FILE is given.",
    )


@click.command("conformance")
@click.argument("store", metavar="URL")
@option("--seed N", "The random seed.", type=click.IntRange(0), default=1, show_default=False)
@option("--lives N", "The number of random histories.", type=click.IntRange(0), default=3, show_default=False)
@option(
    "--check WORD", "Only contract checks with this in their name; repeatable.", name="checks", multiple=True
)
@option(
    "--exempt",
    "A TOML file with the checks to skip, and the reasons.",
    type=EXISTING_FILE,
)
@option("--badge", "Also write a badge as SVG.", type=click.Path(dir_okay=False, path_type=Path))
def conformance_command(
    store: str,
    seed: int,
    lives: int,
    checks: tuple[str, ...],
    exempt: Path | None,
    badge: Path | None,
    **forms: str | None,
) -> None:
    """Test the store at URL against the store contract.

    Runs the contract, the sixteen scenarios of the paper, and random histories. An http or https URL is an
    endpoint of the wire format, of any implementation: it is tested with the scenarios of the specification,
    with all of them if it offers the hook for tests (`memorywire serve --conformance` does).

    The tests write memories of agents with unusual names: use a store that you can throw away. Exits with 1
    if a check fails.
    """
    import asyncio

    with problems(as_json=forms["json_file"] == _STDOUT):
        for place in (*forms.values(), badge):  # before the tests run for minutes
            if place not in (None, _STDOUT) and not Path(str(place)).absolute().parent.is_dir():
                fix = "create it, or name another file"
                raise InvalidRequest(f"there is no folder for {place}", field="file", fix=fix)
        if store.startswith(("http://", "https://")):
            from memorywire_testing.scenario import examine_endpoint

            report = asyncio.run(examine_endpoint(store))
        else:
            report = _examine(store, seed, lives, checks, exempt)
    _write_reports(report, forms, badge)
    if not report.passed:
        raise click.exceptions.Exit(_BROKEN)


conformance_command.params += [_form("json", "JSON"), _form("junit", "JUnit XML"), _form("html", "a page")]


def _examine(url: str, seed: int, lives: int, checks: tuple[str, ...], exempt: Path | None) -> "Report":
    import asyncio

    from memorywire_testing.run import examine_url

    with Progress("examining", None) as progress:
        return asyncio.run(
            examine_url(
                url,
                seed=seed,
                lives=lives,
                checks=checks,
                exempt=exempt,
                watch=lambda done, of: progress.update(done, f"check {done} of {of}"),
            )
        )


def _write_reports(report: "Report", forms: dict[str, str | None], badge: Path | None) -> None:
    from memorywire_testing import report as formats

    writers = {"json_file": formats.as_json, "junit_file": formats.as_junit, "html_file": formats.as_html}
    places = {name: place for name, place in forms.items() if place is not None}
    if _STDOUT not in places.values():
        for line in formats.lines(report):
            click.echo(line)
    for name, place in places.items():
        text = writers[name](report)
        if place == _STDOUT:
            click.echo(text.encode(), nl=False)
        else:
            Path(place).write_text(text, encoding="utf-8")
    if badge is not None:
        badge.write_text(formats.badge(report), encoding="utf-8")


EXAMPLES = {
    "conformance": ("memorywire conformance sqlite:////tmp/scratch.db --html report.html",),
}
