"""`memorywire shards`: databases that share the agents among them, and moving agents from one to another."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.cli.terminal import table, terminal_width
from memorywire.model.errors import InvalidRequest
from memorywire.model.text import counted

if TYPE_CHECKING:  # the driver is loaded by the verb that runs, not to show --help
    from memorywire.stores.shards.directory import Directory

T = TypeVar("T")


@click.group("shards")
def shards_command() -> None:
    """Spread agents over several Postgres databases.

    The store is the directory: shards+postgresql://user@host/database.
    """


@shards_command.command("add")
@click.argument("name")
@click.argument("url")
@of_everybody
def add(cli: CliContext, name: str, url: str) -> None:
    """Add the database at URL as shard NAME; the first one keeps every agent."""

    async def work(directory: "Directory") -> Answer:
        from memorywire.search.embed import open_embedder
        from memorywire.stores.shards.move import add as add_shard

        embedder = open_embedder(cli.settings.embedder, api_key=cli.settings.embedder_key)
        try:
            shard = await add_shard(directory, name, url, embedder.space)
        finally:
            await embedder.close()
        return {"number": shard.number, "name": shard.name}

    cli.show(_in_directory(cli, work), lambda said: [f"added shard {said['name']}"])


@shards_command.command("move")
@click.argument("buckets", metavar="BUCKET...", nargs=-1, required=True, type=click.IntRange(0, 1023))
@click.option("--to", "name", metavar="NAME", required=True, help="The shard that is to keep them.")
@of_everybody
def move(cli: CliContext, buckets: tuple[int, ...], name: str) -> None:
    """Move buckets of agents to another shard while they are read and written.

    Interrupted, a bucket is where it was; move it again.
    """

    async def work(directory: "Directory") -> Answer:
        import time

        from msgspec.structs import asdict

        from memorywire.stores.shards.move import move as move_bucket

        moved = [await move_bucket(directory, bucket, name, time.monotonic) for bucket in buckets]
        return {"moved": [asdict(one) for one in moved], "to": name}

    cli.show(_in_directory(cli, work), _moved)


@shards_command.command("status")
@of_everybody
def status(cli: CliContext) -> None:
    """Show the shards, how many buckets each keeps, and what is on its way."""

    async def work(directory: "Directory") -> Answer:
        current = await directory.read()
        kept = Counter(current.homes.values())
        coming = Counter(current.targets.values())
        return {
            "edition": current.edition,
            "shards": [
                {"name": shard.name, "buckets": kept[shard.number], "coming": coming[shard.number]}
                for shard in current.shards.values()
            ],
        }

    cli.show(_in_directory(cli, work), _standing)


@shards_command.command("bucket")
@click.argument("agents", metavar="AGENT...", nargs=-1, required=True)
@of_everybody
def bucket(cli: CliContext, agents: tuple[str, ...]) -> None:
    """Show in which bucket, and so in which shard, an agent is."""

    async def work(directory: "Directory") -> Answer:
        from memorywire.stores.shards.directory import bucket_of

        current = await directory.read()
        found = [(agent, bucket_of(agent)) for agent in agents]
        return {
            "agents": [
                {"agent": agent, "bucket": number, "shard": current.shard_of(number).name}
                for agent, number in found
            ]
        }

    cli.show(
        _in_directory(cli, work),
        lambda said: [
            f"{one['agent']}: bucket {one['bucket']}, shard {one['shard']}" for one in said["agents"]
        ],
    )


def _in_directory(cli: CliContext, work: "Callable[[Directory], Awaitable[T]]") -> T:
    import asyncio

    from memorywire.stores.postgres import require_driver
    from memorywire.stores.shards import SCHEME

    url = cli.here.stores[0]
    if not url.startswith(SCHEME):
        raise InvalidRequest(
            "the store is no directory of shards",
            field="store",
            fix="--store shards+postgresql://user@host/database",
        )
    require_driver()

    async def opened() -> T:
        from memorywire.stores.shards.directory import Directory

        directory = await Directory.opened(url.removeprefix(SCHEME))
        try:
            return await work(directory)
        finally:
            await directory.close()

    return asyncio.run(opened())


def _moved(answer: Answer) -> Iterator[str]:
    for one in answer["moved"]:
        yield (
            f"bucket {one['bucket']} is in {answer['to']}: {counted(one['versions'], 'version')},"
            f" writes waited {one['closed']:.1f} s"
        )


def _standing(answer: Answer) -> Iterator[str]:
    if not answer["shards"]:
        yield "no shards yet: memorywire shards add NAME URL"
        return
    rows = [[one["name"], str(one["buckets"]), str(one["coming"])] for one in answer["shards"]]
    headers = ["SHARD", "BUCKETS", "COMING"]
    yield from table(headers, rows, elastic="SHARD", width=terminal_width())
