"""Opening: stores, an embedder and a journal by URL, joined into the tools every operation works with."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from memorywire.engine.debts import keep_repaying, mark_behind, repay
from memorywire.engine.govern import governed
from memorywire.engine.office import LOCAL, Office, Rulebook
from memorywire.engine.purse import Purse
from memorywire.engine.tools import Tools
from memorywire.governance.policy import Policy, policy_from_toml
from memorywire.governance.profiles import Profile
from memorywire.governance.redact import Redactor
from memorywire.house.several import Several, anchor_store, open_several
from memorywire.journal.sqlite import SqliteJournal, open_journal
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities
from memorywire.model.clock import Clock
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest
from memorywire.model.ids import IdMint
from memorywire.retrieval.admit import floors_of
from memorywire.retrieval.embed import Embedder, open_embedder
from memorywire.stores.contract import Fanned, Store
from memorywire.stores.registry import open_store
from memorywire.stores.router.mounting import name_in


@dataclass(frozen=True, slots=True, kw_only=True)
class Governance:
    """Who watches over changes. Switched off, nothing is judged, redacted or written down.

    `policy` is a shipped profile or the path of a TOML file; `journal` a URL, for stores that cannot keep
    a journal beside their memories, `fallback` the one for durable stores when none is named; `secrets`
    are values by label that must never be kept; `caller` is who asks, unless a door knows better.
    """

    policy: str = Profile.BALANCED
    journal: str | None = None
    fallback: str | None = None
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
        each = [store] if not isinstance(store, Fanned) else [store.child(name) for name in store.children]
        wired = zip(self.tools.names, each, strict=True)
        return Capabilities(
            stores=tuple(StoreCapabilities(name=name, features=one.features) for name, one in wired),
            space=self.tools.embedder.space,
            overseen=self.tools.office is not None,
            together=store.features,
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
    several: Several | None = None,
) -> House:
    """Open what the URLs name; a store or embedder object is taken as it is.

    `floor` is what `min_relevance: auto` means, when it was fitted to the data.
    """
    watched = governance or Governance()
    together = several or Several()
    if len(stores) > 1 and not watched.on:
        raise CapabilityUnsupported(
            "several stores need a journal, to know what one of them missed",
            field="policy",
            fix="name a policy, or one store",
        )
    speaker = open_embedder(embedder, api_key=embedder_key) if isinstance(embedder, str) else embedder
    store = await _open_stores(stores, together, speaker, clock)
    tools = Tools(
        store=store,
        embedder=speaker,
        floors=floors_of(speaker.space, floor),
        clock=clock,
        mint=IdMint(clock),
        routing=together.routing,
    )
    return await _governed(tools, watched) if watched.on else House(tools=tools)


async def _open_stores(
    stores: Sequence[str | Store], several: Several, speaker: Embedder, clock: Clock
) -> Store:
    if not stores:
        raise InvalidRequest("no store was named", field="store", fix="sqlite:///./memory.db")
    first = stores[0]
    if len(stores) > 1:
        return await open_several(stores, several, space=speaker.space, clock=clock)
    return await open_store(name_in(first)[0], space=speaker.space) if isinstance(first, str) else first


async def _governed(tools: Tools, governance: Governance) -> House:
    policy = load_policy(governance.policy)
    lasting = Feature.DURABLE in tools.store.features
    journal = await open_journal(
        anchor_store(tools.store),
        governance.journal or (governance.fallback if lasting else None),
        clock=tools.clock,
    )
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
    if isinstance(tools.store, Fanned):
        await mark_behind(tools.store, governed_tools)  # one that hangs must not keep the others waiting
    else:
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
