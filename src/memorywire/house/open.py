"""Opening: stores, an embedder and a journal by URL, joined into the tools every operation works with."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from memorywire.engine.debts import keep_repaying, repay
from memorywire.engine.govern import governed
from memorywire.engine.office import LOCAL, Office, Rulebook
from memorywire.engine.purse import Purse
from memorywire.engine.tools import Tools
from memorywire.governance.policy import Policy, policy_from_toml
from memorywire.governance.profiles import Profile
from memorywire.governance.redact import Redactor
from memorywire.journal.sqlite import SqliteJournal, open_journal
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities
from memorywire.model.clock import Clock
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.ids import IdMint
from memorywire.retrieval.admit import floors_of
from memorywire.retrieval.embed import Embedder, open_embedder
from memorywire.stores.contract import Store
from memorywire.stores.registry import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """Who watches over changes. Switched off, nothing is judged, redacted or written down.

    `policy` is a shipped profile or the path of a TOML file; `journal` a URL, for stores that cannot keep
    a journal beside their memories; `secrets` are values by label that must never be kept; `caller` is
    who asks, unless a door knows better.
    """

    policy: str = Profile.BALANCED
    journal: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    caller: str = LOCAL
    on: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Open rooms; whoever opens a house closes it. `repaying` works while a store may be owed changes."""

    tools: Tools
    journal: SqliteJournal | None = None
    repaying: asyncio.Task[NoReturn] | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Derived from what is wired, never written down."""
        store = self.tools.store
        wired = StoreCapabilities(name=store.name, features=store.features)
        return Capabilities(
            stores=(wired,), space=self.tools.embedder.space, overseen=self.tools.office is not None
        )

    def as_caller(self, caller: str) -> Tools:
        """The tools in the hands of somebody with a name."""
        office = self.tools.office
        return self.tools if office is None else replace(self.tools, office=replace(office, caller=caller))

    async def close(self) -> None:
        if self.repaying is not None:
            self.repaying.cancel()
            with suppress(asyncio.CancelledError):
                await self.repaying
        if self.journal is not None:
            await self.journal.close()
        await self.tools.store.close()
        await self.tools.embedder.close()


async def open_house(
    *,
    stores: Sequence[str | Store],
    embedder: str | Embedder,
    embedder_key: str | None,
    clock: Clock,
    floor: float | None = None,
    governance: Governance | None = None,
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
    tools = Tools(
        store=store,
        embedder=speaker,
        floors=floors_of(speaker.space, floor),
        clock=clock,
        mint=IdMint(clock),
    )
    watched = governance or Governance()
    return await _governed(tools, watched) if watched.on else House(tools=tools)


async def _governed(tools: Tools, governance: Governance) -> House:
    policy = load_policy(governance.policy)
    lasting = Feature.DURABLE in tools.store.features
    journal = await open_journal(tools.store, governance.journal if lasting else None, clock=tools.clock)
    office = Office(
        journal=journal,
        rulebook=Rulebook(policy, journal, tools.clock),
        purse=Purse(journal),
        redactor=Redactor(governance.secrets),
        caller=governance.caller,
    )
    governed_tools = replace(tools, corridor=governed, office=office)
    if journal.shares(tools.store):
        return House(tools=governed_tools, journal=journal)
    await repay(governed_tools)
    repaying = asyncio.create_task(keep_repaying(governed_tools))
    return House(tools=governed_tools, journal=journal, repaying=repaying)


def load_policy(named: str) -> Policy:
    """A shipped profile by its name, or a file of one's own."""
    if named in set(Profile):
        return policy_from_toml({"profile": named})
    try:
        return policy_from_toml(Path(named).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"cannot read the policy {named}",
            field="policy",
            fix=f"name a file, or one of: {', '.join(Profile)}",
        ) from error
