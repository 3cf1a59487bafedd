"""`memorywire reembed`: new vectors for every memory of a file, by another embedder."""

from collections.abc import Awaitable, Callable, Iterator

import click

from memorywire.cli.desk import Answer, Desk, shared
from memorywire.cli.screen import Progress
from memorywire.model.errors import CapabilityUnsupported


@click.command("reembed")
@click.option("--to", metavar="EMBEDDER", help="The embedder to change to; default: the configured one.")
@shared
def command(desk: Desk, to: str | None) -> None:
    """Make new vectors for every memory, so that another embedder can serve the file.

    They are made beside the old ones and swapped in at once; interrupted, it goes on where it
    stopped. Close the file elsewhere first.
    """
    import asyncio

    answers = [
        asyncio.run(_reembedded(desk, url, to or desk.settings.embedder)) for url in desk.settings.stores
    ]
    desk.show({"stores": answers}, sentences)


async def _reembedded(desk: Desk, url: str, name: str) -> Answer:
    from memorywire.retrieval.embed import open_embedder

    reembed = _reembed_of(url)
    embedder = open_embedder(name, api_key=desk.settings.embedder_key)
    try:
        with Progress("embedding", None) as progress:
            count = await reembed(
                url,
                space=embedder.space,
                embed=embedder.embed,
                on_progress=lambda done, total: progress.reached(done, f"of {total}"),
            )
    finally:
        await embedder.close()
    return {"store": url, "embedding": str(embedder.space), "reembedded": count}


def _reembed_of(url: str) -> Callable[..., Awaitable[int]]:
    if url.startswith("sqlite:"):
        from memorywire.stores.sqlite.reembed import reembed as in_a_file

        return in_a_file
    if url.startswith(("postgresql:", "postgres:")):
        from memorywire.stores.postgres.reembed import reembed as in_postgres

        return in_postgres
    raise CapabilityUnsupported("only SQLite and Postgres can be re-embedded here", field="store")


def sentences(answer: Answer) -> Iterator[str]:
    for store in answer["stores"]:
        if store["reembedded"]:
            yield f"{store['store']}: {store['reembedded']} versions are now of {store['embedding']}"
        else:
            yield f"{store['store']}: nothing to do, its vectors are of {store['embedding']}"
