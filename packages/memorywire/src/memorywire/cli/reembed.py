"""`memorywire reembed`: new vectors for every memory, by another embedder."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter

import click

from memorywire.cli.app import as_sqlite
from memorywire.cli.context import Answer, CliContext, without_scope
from memorywire.cli.inputs import option
from memorywire.cli.terminal import Progress, mask_secrets
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.text import counted

_TOKEN = 4  # characters, about


@click.command("reembed")
@option("--to EMBEDDER", "The new embedder; default: the configured one.", name="embedder")
@option("--dry-run", "Show the number, time and cost; change nothing.")
@option("--price AMOUNT", "The price of a million tokens.", type=click.FloatRange(0))
@without_scope
def reembed_command(cli: CliContext, embedder: str | None, dry_run: bool, price: float | None) -> None:
    """Create new vectors for a new embedder.

    The new vectors are written beside the old ones and swapped in at once; an interrupted run continues where
    it stopped. The store may stay in use; after the swap, processes must reopen it with the new embedder. The
    number, time and cost are printed first; for that, the first few vectors are created.

    Memories of an earlier release are also indexed by their words again, if needed; `doctor` says so.
    """
    import asyncio

    name = embedder or cli.local_settings.embedder
    answers = []
    for url in cli.local_settings.stores:
        estimate = asyncio.run(_estimate(cli, url, name, price))
        if dry_run:
            answers.append(estimate)
            continue
        if estimate["versions"]:
            click.echo(_format_estimate(estimate), err=True)
        answers.append(asyncio.run(_reembed(cli, url, name)))
    cli.show({"stores": answers}, _render)


async def _reembed(cli: CliContext, url: str, name: str) -> Answer:
    from memorywire.search.embed import open_embedder

    reembed = find_reembed(url)
    embedder = open_embedder(name, api_key=cli.settings.embedder_key)
    try:
        with Progress("embedding", None) as progress:
            count = await reembed(
                space=embedder.space,
                embed=embedder.embed,
                on_progress=lambda done, total: progress.update(done, f"{done} of {total}", of=total),
            )
    finally:
        await embedder.close()
    answer = {"store": mask_secrets(url), "embedding": str(embedder.space), "reembedded": count}
    address = as_sqlite(url)
    if address is None:
        return answer
    from memorywire.stores.sqlite.reembed import reword

    with Progress("indexing", None) as progress:  # the versions, by their words
        count = await reword(
            address, lambda done, total: progress.update(done, f"{done} of {total}", of=total)
        )
    return {**answer, "reindexed": count}


class _Enough(Exception):
    """The first vectors exist: the number and the time are known."""


async def _estimate(cli: CliContext, url: str, name: str, price: float | None) -> Answer:
    from memorywire.search.embed import open_embedder

    embedder = open_embedder(name, api_key=cli.settings.embedder_key)
    estimate: Answer = {"store": mask_secrets(url), "embedding": str(embedder.space)}
    estimate |= {"versions": 0, "left": 0}

    async def embed(texts: Sequence[str]) -> list[bytes]:
        started = perf_counter()
        vectors = await embedder.embed(texts)
        estimate["each"] = (perf_counter() - started) / len(texts)
        estimate["characters"] = sum(map(len, texts)) / len(texts)
        return vectors

    def stop(done: int, total: int) -> None:
        estimate["versions"], estimate["left"] = total, total - done
        if "each" in estimate or done == total:
            raise _Enough

    try:
        with suppress(_Enough):
            await find_reembed(url)(space=embedder.space, embed=embed, on_progress=stop)
    finally:
        await embedder.close()
    each, characters = estimate.pop("each", 0.0), estimate.pop("characters", 0.0)
    remaining = estimate["left"]
    estimate |= {"seconds": round(remaining * each, 1), "characters": round(remaining * characters)}
    estimate["tokens"] = round(estimate["characters"] / _TOKEN)
    return (
        estimate if price is None else {**estimate, "cost": round(estimate["tokens"] * price / 1_000_000, 4)}
    )


def find_reembed(url: str) -> Callable[..., Awaitable[int]]:
    address = as_sqlite(url)
    if address is not None:
        from memorywire.stores.sqlite.reembed import reembed as in_a_file

        return partial(in_a_file, address)
    from importlib.metadata import entry_points

    from memorywire.stores.registry import check_scheme

    check_scheme(url)
    for point in entry_points(group="memorywire.reembed", name=url.partition(":")[0]):
        return partial(point.load(), url)
    raise CapabilityUnsupported("only SQLite and Postgres stores can be re-embedded", field="store")


def _format_estimate(estimate: Answer) -> str:
    cost = f", cost about {estimate['cost']:g}" if "cost" in estimate else ""
    versions = counted(estimate["versions"], "version")
    return (
        f"{estimate['store']}: {versions}, {estimate['left']} left to embed: about"
        f" {estimate['seconds']:g} s, {estimate['characters']} characters, {estimate['tokens']} tokens{cost}"
    )


def _render(answer: Answer) -> Iterator[str]:
    for store in answer["stores"]:
        if "seconds" in store:
            yield _format_estimate(store)
            continue
        if store.get("reindexed"):
            words = counted(store["reindexed"], "version is", "versions are")
            yield f"{store['store']}: {words} indexed again"
        if store["reembedded"]:
            count = counted(store["reembedded"], "version has", "versions have")
            yield f"{store['store']}: {count} vectors of {store['embedding']} now"
        elif not store.get("reindexed"):
            yield f"{store['store']}: nothing to do, its vectors are of {store['embedding']}"
