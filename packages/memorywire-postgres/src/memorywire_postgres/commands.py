"""`memorywire shards`: distribute agents over several Postgres databases."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.terminal import format_table
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import counted

if TYPE_CHECKING:  # the driver is loaded by the command that runs, not to show --help
    from memorywire_postgres.shards.directory import Directory

T = TypeVar("T")


@click.group("shards")
def shards_command() -> None:
    """Distribute agents over several Postgres databases.

    --store names the directory of the shards: shards+postgresql://user@host/database.
    """


@shards_command.command("add")
@click.argument("name")
@click.argument("url")
@without_scope
def add(cli: CliContext, name: str, url: str) -> None:
    """Add the database at URL as shard NAME; the first shard gets all agents."""

    async def work(directory: "Directory") -> Answer:
        from memorywire.search.embed import open_embedder
        from memorywire_postgres.shards.move import add as add_shard

        embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
        try:
            shard = await add_shard(directory, name, url, embedder.space)
        finally:
            await embedder.close()
        return {"number": shard.number, "name": shard.name}

    cli.show(_run(cli, work), lambda answer: [f"added shard {answer['name']}"])


@shards_command.command("move")
@click.argument("buckets", metavar="BUCKET...", nargs=-1, required=True, type=click.IntRange(0, 1023))
@click.option("--to", "name", metavar="NAME", required=True, help="The target shard.")
@without_scope
def move(cli: CliContext, buckets: tuple[int, ...], name: str) -> None:
    """Move buckets of agents to another shard.

    Agents can be read and written meanwhile. After an interruption a bucket is where it was; move it again.
    """

    async def work(directory: "Directory") -> Answer:
        import time

        from msgspec.structs import asdict

        from memorywire_postgres.shards.move import move as move_bucket

        moves = [await move_bucket(directory, bucket, name, time.monotonic) for bucket in buckets]
        return {"moved": [asdict(one) for one in moves], "to": name}

    cli.show(_run(cli, work), _render_moved)


@shards_command.command("status")
@without_scope
def status(cli: CliContext) -> None:
    """Show the shards, their buckets, and buckets in transfer."""

    async def work(directory: "Directory") -> Answer:
        current = await directory.read()
        buckets = Counter(current.homes.values())
        coming = Counter(current.targets.values())
        return {
            "edition": current.edition,
            "shards": [
                {"name": shard.name, "buckets": buckets[shard.number], "coming": coming[shard.number]}
                for shard in current.shards.values()
            ],
        }

    cli.show(_run(cli, work), _render_status)


@shards_command.command("bucket")
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True)
@without_scope
def bucket(cli: CliContext, agents: tuple[str, ...]) -> None:
    """Show the bucket and the shard of an agent."""

    async def work(directory: "Directory") -> Answer:
        from memorywire_postgres.shards.directory import bucket_of

        current = await directory.read()
        pairs = [(agent, bucket_of(agent)) for agent in agents]
        return {
            "agents": [
                {"agent": agent, "bucket": number, "shard": current.shard_of(number).name}
                for agent, number in pairs
            ]
        }

    cli.show(
        _run(cli, work),
        lambda answer: [
            f"{one['agent']}: bucket {one['bucket']}, shard {one['shard']}" for one in answer["agents"]
        ],
    )


def _run(cli: CliContext, work: "Callable[[Directory], Awaitable[T]]") -> T:
    import asyncio

    from memorywire_postgres import require_driver
    from memorywire_postgres.shards import SCHEME

    url = cli.local_settings.stores[0]
    if not url.startswith(SCHEME):
        raise InvalidRequest(
            "the store is not a directory of shards",
            field="store",
            fix="--store shards+postgresql://user@host/database",
        )
    require_driver()

    async def run() -> T:
        from memorywire_postgres.shards.directory import Directory

        directory = await Directory.opened(url.removeprefix(SCHEME))
        try:
            return await work(directory)
        finally:
            await directory.close()

    return asyncio.run(run())


def _render_moved(answer: Answer) -> Iterator[str]:
    for one in answer["moved"]:
        yield (
            f"bucket {one['bucket']} is in {answer['to']}: {counted(one['versions'], 'version')},"
            f" writes waited {one['closed']:.1f} s"
        )


def _render_status(answer: Answer) -> Iterator[str]:
    if not answer["shards"]:
        yield "no shards yet; add one with: memorywire shards add NAME URL"
        return
    rows = [[one["name"], str(one["buckets"]), str(one["coming"])] for one in answer["shards"]]
    headers = ["SHARD", "BUCKETS", "COMING"]
    yield from format_table(headers, rows, elastic="SHARD")


EXAMPLES = {
    "shards": ("memorywire shards status --store shards+postgresql://me@db/directory",),
    "shards add": (
        "memorywire shards add b postgresql://me@db2/memory --store shards+postgresql://me@db/directory",
    ),
    "shards move": ("memorywire shards move 12 13 --to b --store shards+postgresql://me@db/directory",),
    "shards status": ("memorywire shards status --store shards+postgresql://me@db/directory",),
    "shards bucket": ("memorywire shards bucket support --store shards+postgresql://me@db/directory",),
}
