"""Opening: stores and an embedder by URL, joined into the tools every operation works with."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorywire.engine.tools import Tools
from memorywire.model.capabilities import Capabilities, StoreCapabilities
from memorywire.model.clock import Clock
from memorywire.model.errors import CapabilityUnsupported
from memorywire.model.ids import IdMint
from memorywire.retrieval.admit import floors_of
from memorywire.retrieval.embed import Embedder, open_embedder
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Open rooms; whoever opens a house closes it."""

    tools: Tools

    @property
    def capabilities(self) -> Capabilities:
        """Derived from what is wired, never written down."""
        store = self.tools.store
        wired = StoreCapabilities(name=store.name, features=store.features)
        return Capabilities(stores=(wired,), space=self.tools.embedder.space)

    async def close(self) -> None:
        await self.tools.store.close()
        await self.tools.embedder.close()


async def open_house(
    *,
    stores: Sequence[str | Store],
    embedder: str | Embedder,
    embedder_key: str | None,
    clock: Clock,
    floor: float | None = None,
) -> House:
    """Open what the URLs name; a store or embedder object is taken as it is.

    `floor` is what `min_relevance: auto` means, when it was fitted to the data.
    """
    if len(stores) != 1:
        raise CapabilityUnsupported(
            f"{len(stores)} stores were named, and this release serves one at a time",
            field="store",
            fix="name one store",
        )
    speaker = open_embedder(embedder, api_key=embedder_key) if isinstance(embedder, str) else embedder
    first = stores[0]
    store = await open_store(first, space=speaker.space) if isinstance(first, str) else first
    return House(
        tools=Tools(
            store=store,
            embedder=speaker,
            floors=floors_of(speaker.space, floor),
            clock=clock,
            mint=IdMint(clock),
        )
    )
