"""Opens the container of the settings, for commands that work on more than the memory of one agent."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memorywire.cli.inputs import option
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import NotFound

if TYPE_CHECKING:  # the engine is loaded by the command that runs, not to show --help
    from memorywire.app import Container, Settings
    from memorywire.journal.journal import Journal

T = TypeVar("T")

agents_option = option(
    "--agents PATTERN", "Agents by name; * is any characters; repeatable.", multiple=True, default=("*",)
)


@asynccontextmanager
async def open_app(settings: "Settings", clock: Clock = system_clock) -> AsyncIterator["Container"]:
    """Open the stores, the embedder and the journal of the settings, and close them at the end."""
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
    """Return the SQLite address of a `sqlite:` or `graph:` store; None for other stores."""
    address = url.partition("#")[0]
    if address.startswith("graph:"):
        return f"sqlite{address.removeprefix('graph')}"
    return address if address.startswith("sqlite:") else None


def find_file(url: str) -> Path | None:
    """Return the file of a SQLite store; None for other stores and in memory."""
    address = as_sqlite(url)
    if address is None:
        return None
    from memorywire.stores.sqlite.location import locate

    return locate(address).path


def store_exists(url: str) -> bool:
    """Return False if the store is a file that does not exist."""
    path = find_file(url)
    return path is None or path.exists()


def require_store(url: str) -> None:
    """Raise NotFound if the file does not exist: a misspelt name must not look like an empty store."""
    if not store_exists(url):
        fix = "check the path; the first remember creates it"
        raise NotFound(f"there is no store at {find_file(url)}", field="store", fix=fix)


def store_notes(stores: Iterable[str]) -> list[str]:
    """Return notes about stores for a command that reads: a new file, or a read-only one."""
    from memorywire.stores.sqlite.location import Location

    paths = [path for path in map(find_file, stores) if path is not None]
    new = [f"note: {path} did not exist and was created" for path in paths if not path.exists()]
    read_only = [path for path in paths if not Location(path=path).writable]
    return new + [f"note: {path} is read-only: writes and recalls will fail" for path in read_only]


def run_in_app(settings: "Settings", action: "Callable[[Container], Awaitable[T]]") -> T:
    """Run the action on the container of the settings and return its result."""
    import asyncio

    async def work() -> T:
        async with open_app(settings) as container:
            return await action(container)

    return asyncio.run(work())


def run_in_journal(settings: "Settings", action: "Callable[[Journal], Awaitable[T]]") -> T:
    """Run the action on the journal of the settings and return its result."""

    async def work(container: "Container") -> T:
        from memorywire.pipeline.context import unsupported

        if container.journal is None:
            raise unsupported("this", "no journal is configured")
        return await action(container.journal)

    return run_in_app(settings, work)
