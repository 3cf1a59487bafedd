"""The house as the command line opens it, for verbs that work on more than one agent's memory."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from memorywire.model.clock import Clock, system_clock

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.house import House, Settings
    from memorywire.journal.sqlite import SqliteJournal

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
async def opened_house(settings: "Settings", clock: Clock = system_clock) -> AsyncIterator["House"]:
    """The stores, the embedder and the journal that the settings name, open for a while."""
    from memorywire.house import LOCAL, Governance, default_journal, open_house, rules_from

    house = await open_house(
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
            fallback=default_journal(os.environ),
            secrets=settings.secrets,
            caller=LOCAL,
            console=settings.console,
        ),
        clock=clock,
    )
    try:
        yield house
    finally:
        await house.close()


def in_journal(settings: "Settings", act: "Callable[[SqliteJournal], Awaitable[T]]") -> T:
    """The answer of an act on the journal that the settings name."""
    import asyncio

    async def work() -> T:
        from memorywire.engine.tools import unsupported

        async with opened_house(settings) as house:
            if house.journal is None:
                raise unsupported("this", "no journal is wired here")
            return await act(house.journal)

    return asyncio.run(work())
