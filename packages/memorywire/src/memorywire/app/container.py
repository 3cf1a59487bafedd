"""Opens stores, an embedder and a journal by URL, and builds the container that all operations use."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.app.backends import Backends, Rules
from memorywire.app.options import Governance, Reading, Several
from memorywire.journal.journal import Journal
from memorywire.journal.opening import open_journal
from memorywire.model.capabilities import Capabilities, Feature, StoreCapabilities, working
from memorywire.model.clock import Clock
from memorywire.model.consolidation import ConsolidationSettings
from memorywire.model.errors import CapabilityUnsupported, InvalidRequest, StoreBusy, StoreUnavailable
from memorywire.model.ids import IdMint
from memorywire.model.record import Scope
from memorywire.model.space import Space
from memorywire.pipeline import context as pipeline_context
from memorywire.pipeline.context import (
    Context,
    RecallBudget,
    RejectedWords,
    Rulebook,
    review_url,
)
from memorywire.pipeline.extract import open_extractor
from memorywire.pipeline.kv import Usage
from memorywire.pipeline.layer import Allowance, Reader
from memorywire.pipeline.transaction import keep_redelivering, mark_lagging, redeliver
from memorywire.policy.documents import Profile, policy_from_toml
from memorywire.policy.judge import Policy
from memorywire.policy.redact import Redactor
from memorywire.search.admit import choose_floors
from memorywire.search.embed import Embedder, open_embedder
from memorywire.stores.contract import Store, SupportsReplicas
from memorywire.stores.registry import open_store
from memorywire.stores.router import LearnedRoute, Mount, Router
from memorywire.stores.router.router import find_backend, split_name
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.wrappers import open_on_demand, with_breaker, with_hedge, with_seal, with_timeout

_SHARE = 0.75
"""The share of the deadline that one store may take, so that its failure is known before the deadline."""


async def open_several(
    stores: Sequence[str | Store], several: Several, *, space: Space, clock: Clock
) -> Router:
    """Return a router over these stores. A store that is unreachable now is opened once it can be reached.

    The primary is the first replica: it decides the outcome of writes, and it is read first.
    """
    route = several.route
    if isinstance(route, LearnedRoute) and route.space not in ("", str(space)):
        detail = f"the routes were learned with {route.space}, and this memory uses {space}"
        fix = "learn them with this embedder: memorywire calibrate --routes FILE --to ROUTES"
        raise InvalidRequest(detail, field="router", fix=fix)
    given = [split_name(store)[1] if isinstance(store, str) else store.name for store in stores]
    for name, times in Counter(name for name in given if name is not None).items():
        if times > 1:  # receipts and pending changes identify a store by its name
            fix = "name them apart: URL#name, or with_name(store, name)"
            raise InvalidRequest(f"two stores have the name {name}", field="store", fix=fix)
    once = {_backend(store, place): store for place, store in reversed(list(enumerate(stores)))}
    mounts = await asyncio.gather(*(_mount(once[key], key, space) for key in reversed(once)))
    anchor = _find_anchor(mounts)
    first = [mount for mount in mounts if mount is anchor]
    replicas = [_guard_mount(mount, several, clock) for mount in mounts if mount is not anchor]
    deadline, writing = several.deadline, several.writing
    router = Router([*first, *replicas], deadline=deadline, writing=writing, route=route)
    for name in sorted({*several.routing.weights, *several.seals} - {*router.replica_names}):
        names = ", ".join(router.replica_names)
        raise InvalidRequest(f"there is no store {name}", field="router", fix=f"one of: {names}")
    return router


def _backend(store: str | Store, place: int) -> str:
    return find_backend(split_name(store)[0], place) if isinstance(store, str) else f"object:{id(store)}"


async def _mount(store: str | Store, backend: str, space: Space) -> Mount:
    if not isinstance(store, str):
        return Mount(name=store.name, store=store, backend=backend)
    url, name = split_name(store)
    try:
        store = await open_store(url, space=space)
    except (StoreUnavailable, StoreBusy):
        scheme = url.partition(":")[0]
        store = open_on_demand(name or scheme, lambda: open_store(url, space=space))
    return Mount(name=name or store.name, store=store, backend=backend)


def _find_anchor(mounts: Sequence[Mount]) -> Mount | None:
    """Return the first SQLite store on disk; one in memory only if no store is durable."""
    sqlite_mounts = [mount for mount in mounts if isinstance(mount.store, SqliteStore)]
    lasting = [mount for mount in sqlite_mounts if Feature.DURABLE in mount.store.features]
    forgetful = not any(Feature.DURABLE in mount.store.features for mount in mounts)
    return next(iter(lasting or (sqlite_mounts if forgetful else [])), None)


def _guard_mount(mount: Mount, several: Several, clock: Clock) -> Mount:
    """Wrap a store that may be remote: a seal and hedged reads if configured, timeouts, a circuit breaker."""
    store = mount.store
    if mount.name in several.seals:
        store = with_seal(store, several.seals[mount.name].encode())
    if several.hedge is not None:
        store = with_hedge(store, several.hedge)
    patient = with_timeout(store, several.deadline * _SHARE, writes=several.writing)
    return replace(mount, store=with_breaker(patient, clock=clock))


_ROOM = 256 * 1024  # free bytes; one change writes a few dozen pages to the log


class Container(Struct, frozen=True, kw_only=True):
    """The open stores, embedder, journal and engine; the caller that opens a container closes it.

    `reader` extracts facts from conversations, `repaying` is the task that redelivers pending changes, and
    `usage` counts key-value entries; `hosting` is set when a server mounts the OpenWOP host.
    """

    context: Context
    reader: Reader
    journal: Journal | None = None
    repaying: asyncio.Task[NoReturn] | None = None
    usage: Usage = field(default_factory=Usage)
    backends: Backends | None = None
    hosting: bool = False
    consolidation: ConsolidationSettings = field(default_factory=ConsolidationSettings)

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this container, derived from its parts."""
        return self._describe(self.context.store, self.context.names)

    async def capabilities_of(self, scope: Scope) -> Capabilities:
        """Return the capabilities for one agent, whose memories may be in a backend."""
        store = (await self.context.serving(scope)).store
        names = self.context.names if store is self.context.store else (store.name,)
        return self._describe(store, names)

    def _describe(self, store: Store, names: Sequence[str]) -> Capabilities:
        space = self.context.embedder.space
        each = [store]
        if isinstance(store, SupportsReplicas):
            each = [store.replica(name) for name in store.replica_names]
        return Capabilities(
            stores=tuple(
                StoreCapabilities(name=name, features=working(one.features, space))
                for name, one in zip(names, each, strict=True)
            ),
            space=space,
            overseen=self.context.governance is not None,
            together=working(store.features, space),
            extracts=self.reader.extractor is not None,
            hosting=self.hosting,
        )

    def hurry(self) -> None:
        """Wait at most a second for file locks of other processes from now on, because this process ends."""
        if self.journal is not None:
            self.journal.backend.hurry()

    @property
    def writable(self) -> bool:
        """Whether the journal's file can be written now; this may have changed since it was opened."""
        return self.journal is None or self.journal.backend.writable

    @property
    def roomy(self) -> bool:
        """Whether the disk of the journal's file has room for another write."""
        from shutil import disk_usage

        folder = None if self.journal is None else self.journal.backend.folder
        return folder is None or disk_usage(folder).free >= _ROOM

    def as_caller(self, caller: str, principal: str | None = None) -> Context:
        """Return the context with this caller; `principal` is the credential, if it has another name."""
        governance = self.context.governance
        if governance is None:
            return self.context
        return replace(self.context, governance=replace(governance, caller=caller, principal=principal))

    async def close(self) -> None:
        await self.reader.close()
        if self.backends is not None:
            await self.backends.close()
        if self.repaying is not None:
            self.repaying.cancel()
            with suppress(asyncio.CancelledError):
                await self.repaying
        if self.journal is not None:
            await self.journal.close()
        await self.context.store.close()
        await self.context.embedder.close()


async def open_container(
    *,
    stores: Sequence[str | Store],
    embedder: str | Embedder,
    embedder_key: str | None,
    clock: Clock,
    floor: float | None = None,
    match: float | None = None,
    governance: Governance | None = None,
    several: Several | None = None,
    reading: Reading | None = None,
    backends: Rules | None = None,
) -> Container:
    """Open the stores and the embedder by URL; a store or embedder object is used as it is.

    `floor` is the value of `min_relevance: auto`, `match` the relevance from which the verdict is `match`,
    if they were fitted to the data. With `backends`, a bound agent has its memories in its backend.
    """
    watched = governance or Governance()
    together = several or Several()
    if len(stores) > 1 and not watched.on:
        detail = "several stores need a journal, to know what one of them missed"
        raise CapabilityUnsupported(detail, field="policy", fix="name a policy, or one store")
    if not stores:
        raise InvalidRequest("name a store", field="store", fix="sqlite:///./memory.db")
    speaker = open_embedder(embedder, api_key=embedder_key) if isinstance(embedder, str) else embedder
    first = stores[0]
    if len(stores) > 1:
        store: Store = await open_several(stores, together, space=speaker.space, clock=clock)
    elif isinstance(first, str):
        store = await open_store(split_name(first)[0], space=speaker.space)
    else:
        store = first
    context = Context(
        store=store,
        embedder=speaker,
        floors=choose_floors(speaker.space, floor, match),
        clock=clock,
        mint=IdMint(clock),
        routing=together.routing,
    )
    read = reading or Reading()
    if not watched.on:
        return Container(context=context, reader=_open_reader(read, context, None))
    return await _add_governance(context, watched, read, backends)


async def _add_governance(
    context: Context, governance: Governance, reading: Reading, rules: Rules | None
) -> Container:
    policy = load_policy(governance.policy)
    store = context.store
    if isinstance(store, Router):  # the journal may live in the file of the first store
        first = next(iter(store.mounts.values())).store
        store = first if isinstance(first, SqliteStore) else store
    is_lasting = Feature.DURABLE in context.store.features
    journal = await open_journal(
        store,
        governance.journal or (governance.fallback if is_lasting else None),
        clock=context.clock,
        witnesses=governance.witnesses,
    )
    in_force = pipeline_context.Governance(
        journal=journal,
        rulebook=Rulebook(policy, journal, context.clock),
        budget=RecallBudget(journal),
        redactor=Redactor(governance.secrets, personal=governance.redact_personal),
        rejected=RejectedWords(journal, context.clock),
        caller=governance.caller,
        reviewers=governance.reviewers,
        review_url=None if governance.console is None else review_url(governance.console),
    )
    governed = replace(context, governance=in_force)
    book = None if rules is None else Backends(journal, governed, rules)
    placed = governed if book is None else replace(governed, placing=book.store_of)
    container = Container(
        context=placed, reader=_open_reader(reading, placed, journal), journal=journal, backends=book
    )
    if journal.backend.shares(context.store):
        return container
    if isinstance(context.store, SupportsReplicas):
        await mark_lagging(context.store, governed)  # a store that hangs must not delay the others
    else:
        await redeliver(governed)
    repaying = asyncio.create_task(keep_redelivering(governed))
    return replace(container, repaying=repaying)


def _open_reader(reading: Reading, context: Context, journal: Journal | None) -> Reader:
    extractor = open_extractor(reading.extractor, context.store, context.embedder, api_key=reading.key)
    return Reader(context, journal, extractor, Allowance(context.clock, a_day=reading.calls_a_day))


def load_policy(name: str) -> Policy:
    """Load a shipped profile by its name, or a policy file by its path. Raises InvalidRequest."""
    if name in set(Profile):
        return policy_from_toml({"profile": name})
    try:
        return policy_from_toml(Path(name).expanduser().read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        fix = f"name a file, or one of: {', '.join(Profile)}"
        raise InvalidRequest(f"cannot read the policy {name}", field="policy", fix=fix) from error
