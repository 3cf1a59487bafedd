"""`memorywire reembed`: new vectors for every memory of a file, by another embedder."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter

import click

from memorywire.cli.app import as_sqlite
from memorywire.cli.context import Answer, CliContext, of_everybody
from memorywire.cli.terminal import Progress, without_secrets
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.text import counted

_TOKEN = 4  # characters, about


@click.command("reembed")
@click.option("--to", metavar="EMBEDDER", help="The embedder to change to; default: the configured one.")
@click.option("--dry-run", is_flag=True, help="Say how many, how long and what it costs; swap nothing.")
@click.option(
    "--price", type=click.FloatRange(0), metavar="AMOUNT", help="What a million tokens cost at the embedder."
)
@of_everybody
def reembed_command(cli: CliContext, to: str | None, dry_run: bool, price: float | None) -> None:
    """Make new vectors for every memory, so that another embedder can serve the store.

    What an earlier release wrote is indexed by its words anew, too, if it was not yet; `doctor` says so.

    They are made beside the old ones and swapped in at once; interrupted, it goes on where it stopped.
    Meanwhile the store may be used. Whoever has it open is refused after the swap, until they open it with
    the new embedder. How many there are, how long they take and what they cost is said first: for that, the
    first few are made, and kept.
    """
    import asyncio

    name = to or cli.here.embedder
    answers = []
    for url in cli.here.stores:
        foreseen = _priced(asyncio.run(_foreseen(cli, url, name)), price)
        if dry_run:
            answers.append(foreseen)
            continue
        if foreseen["versions"]:
            click.echo(_ahead(foreseen), err=True)
        answers.append(asyncio.run(_reembedded(cli, url, name)))
    cli.show({"stores": answers}, sentences)


async def _reembedded(cli: CliContext, url: str, name: str) -> Answer:
    from memorywire.search.embed import open_embedder

    reembed = _reembed_of(url)
    embedder = open_embedder(name, api_key=cli.settings.embedder_key)
    try:
        with Progress("embedding", None) as progress:
            count = await reembed(
                space=embedder.space,
                embed=embedder.embed,
                on_progress=lambda done, total: progress.reached(done, f"{done} of {total}", of=total),
            )
    finally:
        await embedder.close()
    return {
        "store": without_secrets(url),
        "embedding": str(embedder.space),
        "reembedded": count,
        **await _reworded(url),
    }


async def _reworded(url: str) -> Answer:
    """How many versions are indexed by other words than before; nothing where no file keeps them."""
    address = as_sqlite(url)
    if address is None:
        return {}
    from memorywire.stores.sqlite.reembed import reword

    with Progress("indexing", None) as progress:
        count = await reword(
            address, lambda done, total: progress.reached(done, f"{done} of {total}", of=total)
        )
    return {"reindexed": count}


class _Enough(Exception):
    """The first few are made: how many there are is known, and how long they take."""


async def _foreseen(cli: CliContext, url: str, name: str) -> Answer:
    from memorywire.search.embed import open_embedder

    embedder = open_embedder(name, api_key=cli.settings.embedder_key)
    seen: Answer = {"store": without_secrets(url), "embedding": str(embedder.space), "versions": 0, "left": 0}

    async def embed(texts: Sequence[str]) -> list[bytes]:
        began = perf_counter()
        made = await embedder.embed(texts)
        seen["each"] = (perf_counter() - began) / len(texts)
        seen["characters"] = sum(map(len, texts)) / len(texts)
        return made

    def stop(done: int, total: int) -> None:
        seen["versions"], seen["left"] = total, total - done
        if "each" in seen or done == total:
            raise _Enough

    try:
        with suppress(_Enough):
            await _reembed_of(url)(space=embedder.space, embed=embed, on_progress=stop)
    finally:
        await embedder.close()
    each, characters = seen.pop("each", 0.0), seen.pop("characters", 0.0)
    left = seen["left"]
    return {**seen, "seconds": round(left * each, 1), "characters": round(left * characters)}


def _priced(foreseen: Answer, price: float | None) -> Answer:
    tokens = round(foreseen["characters"] / _TOKEN)
    cost = {} if price is None else {"cost": round(tokens * price / 1_000_000, 4)}
    return {**foreseen, "tokens": tokens, **cost}


def _reembed_of(url: str) -> Callable[..., Awaitable[int]]:
    address = as_sqlite(url)
    if address is not None:
        from memorywire.stores.sqlite.reembed import reembed as in_a_file

        return partial(in_a_file, address)
    if url.startswith(("postgresql:", "postgres:")):
        from memorywire.stores.postgres.reembed import reembed as in_postgres

        return partial(in_postgres, url)
    raise CapabilityUnsupported("only SQLite and Postgres can be re-embedded here", field="store")


def _ahead(foreseen: Answer) -> str:
    cost = f", cost about {foreseen['cost']:g}" if "cost" in foreseen else ""
    versions = counted(foreseen["versions"], "version")
    return (
        f"{foreseen['store']}: {versions}, {foreseen['left']} left to embed: about"
        f" {foreseen['seconds']:g} s, {foreseen['characters']} characters, {foreseen['tokens']} tokens{cost}"
    )


def sentences(answer: Answer) -> Iterator[str]:
    for store in answer["stores"]:
        if "seconds" in store:
            yield _ahead(store)
            continue
        if store.get("reindexed"):
            words = counted(store["reindexed"], "version is", "versions are")
            yield f"{store['store']}: {words} found by other words than before"
        if store["reembedded"]:
            made = counted(store["reembedded"], "version is", "versions are")
            yield f"{store['store']}: {made} now of {store['embedding']}"
        elif not store.get("reindexed"):
            yield f"{store['store']}: nothing to do, its vectors are of {store['embedding']}"
