"""The house as the command line opens it, for verbs that work on more than one agent's memory."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.app import Container, Settings
    from memorywire.journal.journal import Journal

T = TypeVar("T")

which_agents = click.option(
    "--agents",
    multiple=True,
    default=("*",),
    show_default=True,
    metavar="PATTERN",
    help="Which agents; * is any characters; repeatable.",
)


@asynccontextmanager
async def open_app(settings: "Settings", clock: Clock = system_clock) -> AsyncIterator["Container"]:
    """The stores, the embedder and the journal that the settings name, open for a while."""
    from memorywire.app import LOCAL, Governance, default_journal, open_container, rules_from

    container = await open_container(
        stores=settings.stores,
        embedder=settings.embedder,
        embedder_key=settings.embedder_key,
        floor=settings.floor,
        match=settings.match,
        several=settings.several,
        reading=settings.reading,
        backends=rules_from(os.environ),
        governance=Governance(
            policy=settings.policy,
            journal=settings.journal,
            fallback=default_journal(os.environ, settings.stores),
            secrets=settings.secrets,
            redact_personal=settings.redact_personal,
            caller=LOCAL,
            console=settings.console,
            witnesses=settings.witnesses,
        ),
        clock=clock,
    )
    try:
        yield container
    finally:
        await container.close()


def as_sqlite(url: str) -> str | None:
    """The address of the SQLite file that a store is, with edges (`graph:`) or without; else None."""
    address = url.partition("#")[0]
    if address.startswith("graph:"):
        return f"sqlite{address.removeprefix('graph')}"
    return address if address.startswith("sqlite:") else None


def file_of(url: str) -> Path | None:
    """The file that a store is; None where it is none, or in memory."""
    address = as_sqlite(url)
    if address is None:
        return None
    from memorywire.stores.sqlite.location import locate

    return locate(address).path


def store_exists(url: str) -> bool:
    """Whether looking at the store finds one; only a missing file is known not to be there."""
    path = file_of(url)
    return path is None or path.exists()


def require_store(url: str) -> None:
    """Raise NotFound for a store that does not exist: a misspelt name must not look like an empty store."""
    if not store_exists(url):
        raise NotFound(
            f"there is no store at {file_of(url)}",
            field="store",
            fix="check the path; the first remember would make it",
        )


def store_notes(stores: Iterable[str]) -> list[str]:
    """What whoever only reads should know of these stores: that one is new, or can only be read."""
    from memorywire.stores.sqlite.location import Location

    paths = [path for path in map(file_of, stores) if path is not None]
    new = [f"note: {path} was not there: it is made now, and empty" for path in paths if not path.exists()]
    sealed = [path for path in paths if not Location(path=path).writable]
    return new + [f"note: {path} can only be read: nothing is kept, no recall answered" for path in sealed]


def run_in_app(settings: "Settings", act: "Callable[[Container], Awaitable[T]]") -> T:
    """The answer of an act in the house that the settings name."""
    import asyncio

    async def work() -> T:
        async with open_app(settings) as container:
            return await act(container)

    return asyncio.run(work())


def run_in_journal(settings: "Settings", act: "Callable[[Journal], Awaitable[T]]") -> T:
    """The answer of an act on the journal that the settings name."""

    async def work(container: "Container") -> T:
        from memorywire.pipeline.context import unsupported

        if container.journal is None:
            raise unsupported("this", "no journal is wired here")
        return await act(container.journal)

    return run_in_app(settings, work)
