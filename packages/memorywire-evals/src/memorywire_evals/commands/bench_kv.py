"""`memorywire bench kv`: how fast keys are set and got, beside a bare table."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict

from memorywire.cli.terminal import table, terminal_width

if TYPE_CHECKING:
    from memorywire_evals.bench.kv import Rate

_HEADERS = ["WHAT", "WHO", "A SECOND", "CPU US", "OF BARE"]


@click.command("kv")
@click.option(
    "--keys", type=click.IntRange(1), metavar="N", default=20_000, help="How many; 20000 when not given."
)
@click.option(
    "--at-once",
    type=click.IntRange(1),
    metavar="N",
    default=1_024,
    help="How many callers, each with its next key as soon as it has done one; 1024 when not given.",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Where the files are made and removed: the disk to measure; the data folder when not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON document.")
def kv(keys: int, at_once: int, folder: Path | None, as_json: bool) -> None:
    """Measure get and set without embedding, many at once.

    Beside them stands a bare SQLite table in a file of the same durability, written and read by the same
    threads: as many who set at once share a commit there. The same table is also measured with one commit
    a set.
    """
    import asyncio

    from memorywire.app.settings import data_home
    from memorywire_evals.bench.kv import measure
    from memorywire_evals.bench.machine import describe

    home = folder or data_home(os.environ)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    rates = asyncio.run(measure(home, keys, at_once))
    if as_json:
        figures = {"keys": keys, "at_once": at_once, "rates": [asdict(one) for one in rates]}
        click.echo(json.dumps({"machine": describe(), **figures}))
        return
    click.echo(f"{keys} keys, {at_once} callers at once, load {describe()['load']}")
    for line in table(_HEADERS, _rows(rates), elastic="WHO", width=terminal_width()):
        click.echo(line)


def _rows(rates: "list[Rate]") -> list[list[str]]:
    from memorywire_evals.bench.kv import BARE

    bare = {rate.what: rate for rate in rates if rate.who == BARE}
    ordered = sorted(rates, key=lambda rate: list(bare).index(rate.what))
    return [
        [
            rate.what,
            rate.who,
            f"{rate.a_second:,.0f}",
            f"{rate.cpu_us:.0f}",
            f"{rate.cpu_us / bare[rate.what].cpu_us:.1f} x",
        ]
        for rate in ordered
    ]
