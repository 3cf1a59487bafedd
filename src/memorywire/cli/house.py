"""The house as the command line opens it, for verbs that work on more than one agent's memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from memorywire.model.clock import system_clock

if TYPE_CHECKING:  # the engine is loaded by the verb that runs, not to show --help
    from memorywire.house import House, Settings


@asynccontextmanager
async def opened_house(settings: "Settings") -> AsyncIterator["House"]:
    """The stores, the embedder and the journal that the settings name, open for a while."""
    from memorywire.house import LOCAL, Governance, open_house

    house = await open_house(
        stores=settings.stores,
        embedder=settings.embedder,
        embedder_key=settings.embedder_key,
        floor=settings.floor,
        several=settings.several,
        governance=Governance(
            policy=settings.policy, journal=settings.journal, secrets=settings.secrets, caller=LOCAL
        ),
        clock=system_clock,
    )
    try:
        yield house
    finally:
        await house.close()
