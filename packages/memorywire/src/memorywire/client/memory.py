"""The async client: the memory of an agent over one or more stores."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from memorywire.app import (
    DEFAULT_POLICY,
    LOCAL,
    Container,
    Governance,
    Reading,
    Rules,
    Settings,
    Several,
    default_journal,
    load_settings,
    open_container,
    rules_from,
)
from memorywire.app.dispatch import dispatch
from memorywire.app.settings import write_policy
from memorywire.client.arguments import checks_arguments
from memorywire.client.bulk import Result, remember_each
from memorywire.client.options import (
    ContextOptions,
    ExpireOptions,
    ForgetOptions,
    ListOptions,
    MergeOptions,
    RecallOptions,
    RememberOptions,
    ScopeOption,
    WriteOptions,
    check_opening,
    default_scope,
    moments,
    plain,
    read_prompt,
    read_reviewers,
)
from memorywire.client.oversight import Overseeing
from memorywire.model.answers import (
    Chain,
    ChangeLog,
    ContextBlock,
    Expired,
    Forgotten,
    Merged,
    Page,
    Profile,
    Recalled,
    Remembered,
    Undone,
)
from memorywire.model.capabilities import Capabilities
from memorywire.model.change import Change, Version
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import InvalidRequest, MemorywireError
from memorywire.model.governance import GovernanceClient
from memorywire.model.kv import Limits, Owner, OwnerKind
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.transaction import redeliver, write_off
from memorywire.runtime.portal import Mooring, closed, warn_unclosed
from memorywire.search.embed import Embedder
from memorywire.stores.contract import Store, SupportsReplicas
from memorywire.wire.codec import encode

if TYPE_CHECKING:
    from memorywire.app.consolidators import BackgroundWork
    from memorywire.client.harness import Harness
    from memorywire.client.kv import KeyValue
    from memorywire.client.layer import Layer
    from memorywire.client.procedures import Procedure
    from memorywire.journal.ledger import Event
    from memorywire.model.consolidation import Dreamed, Promotion
    from memorywire.model.oversight import Cleared, Recovered, Scanned


A = TypeVar("A")


class Memory(Overseeing):
    """Remember, recall, forget, merge and expire for one agent.

    >>> import asyncio
    >>> async def story():
    ...     async with Memory(agent_id="demo", stores=["memory://"]) as memory:
    ...         await memory.remember("Ana prefers green tea to coffee")
    ...         found = await memory.recall("what does Ana like to drink?")
    ...         return found.verdict.value, [hit.content for hit in found]
    >>> asyncio.run(story())
    ('match', ['Ana prefers green tea to coffee'])

    What an argument leaves open, the settings decide, as on the command line: MEMORYWIRE_ variables over the
    settings file over the defaults. Nothing is opened before the first call.

    Whose memory:
        agent_id: The agent.
        user_id: Narrows every call to one user; a call can name another. None covers all users of the agent.
        tenant: The tenant.
        caller: The name that the ledger records for every request.

    Where memories are kept:
        stores: A URL, a `Store`, or several of them. Without one, a SQLite file under MEMORYWIRE_HOME or the
            data folder of the platform. Several stores each keep everything.
        write: Which of several stores must have a memory before its receipt says `committed`: `all`,
            `primary` or `quorum`.
        several: The other settings for several stores.
        journal: The URL of the ledger, for stores that cannot keep one.
        witnesses: URLs that get each checkpoint of the ledger: files, addresses that take a POST, or object
            stores (`put+https:`).
        backends: What definitions of backends may use.

    How memories are found:
        embedder: The URL of an embedder, or an `Embedder`; `embedder_key` is its API key.
        floor: The relevance that `min_relevance="auto"` stands for. `memorywire calibrate` fits it.
        match: The relevance from which the verdict is `match`. `memorywire calibrate` fits it.

    What may be kept:
        policy: A profile (`open`, `balanced`, `strict`), the path of a TOML file, or None. With None nothing
            is judged, redacted or recorded in the ledger.
        reviewers: One or several `GovernanceClient`, asked about each change that a rule holds.
        secrets: Values, by label, that are never kept.
        redact_personal: Also removes personal data: cards, accounts, national ids, phones, e-mail addresses.
        reading: Who reads conversations for facts.
        kv_limits: The limits of keys and values.
        settings: The settings for what is left out, if not those of this process.
    """

    _container: Container | None = None  # a class attribute, because __del__ also runs when __init__ failed

    def __init__(
        self,
        agent_id: str | None = None,
        stores: str | Sequence[str | Store] = (),
        *,
        user_id: str | None = None,
        tenant: str | None = None,
        embedder: str | Embedder | None = None,
        embedder_key: str | None = None,
        floor: float | None = None,
        match: float | None = None,
        policy: str | UnsetType | None = UNSET,
        journal: str | None = None,
        secrets: Mapping[str, str] | None = None,
        redact_personal: bool | None = None,
        caller: str = LOCAL,
        write: str | None = None,
        several: Several | None = None,
        reading: Reading | None = None,
        kv_limits: Limits | None = None,
        backends: Rules | None = None,
        reviewers: GovernanceClient | Sequence[GovernanceClient] = (),
        witnesses: Sequence[str] | None = None,
        clock: Clock = system_clock,
        settings: Settings | None = None,
    ) -> None:
        check_opening(tenant=tenant, floor=floor, match=match, secrets=secrets)
        settings = settings or load_settings(env=os.environ)
        self.agent_id = settings.agent if agent_id is None else agent_id
        self.user_id = settings.user if user_id is None else user_id
        self.tenant = settings.tenant or DEFAULT_TENANT if tenant is None else tenant
        self._stores, own_embedder = _read_stores(stores or settings.stores)
        self._embedder = own_embedder or embedder or settings.embedder
        self._embedder_key = settings.embedder_key if embedder_key is None else embedder_key
        self._floor = settings.floor if floor is None else floor
        self._match = settings.match if match is None else match
        self._governance = Governance(
            policy=settings.policy if policy is UNSET else policy or DEFAULT_POLICY,
            journal=settings.journal if journal is None else journal,
            secrets=dict(settings.secrets if secrets is None else secrets),
            redact_personal=settings.redact_personal if redact_personal is None else redact_personal,
            caller=caller,
            on=policy is not None,
            reviewers=read_reviewers(reviewers),
            witnesses=tuple(settings.witnesses if witnesses is None else witnesses),
        )
        self._several = several or settings.several
        if write is not None:
            routing = replace(self._several.routing, write=write_policy(write))
            self._several = replace(self._several, routing=routing)
        self._reading = reading or settings.reading
        self._consolidation = settings.consolidation
        self._work: AbstractAsyncContextManager[None] | None = None
        self._kv_limits = kv_limits or Limits()
        self._backends = backends
        self._clock = clock
        self._opening = asyncio.Lock()
        self._mooring = Mooring()
        self._closed = False

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered:
        """Store one memory and return its receipt.

        Its `status` is `committed`, `duplicate` (with the id of the memory that says the same), `staged`
        (it waits for a person) or `deferred` (a store has still to write it).

        Options: `type`, `kind`, `slot`, `pinned`, `metadata`, `tags`, `source`, `session_id`, `confidence`,
        `trust`, `occurred_at`, `expires_at`, `id`, `if_version`, `supersedes`, `derived_from`,
        `idempotency_key`, `approval_required`, `reasoning`, `privacy_intent`, `user_id`, `team`.
        """
        fields = {"type": "semantic", **options}
        return await self._ask(Remembered, "remember", self._payload(fields, content=content))

    @checks_arguments
    async def remember_many(
        self, items: Iterable[str | Mapping[str, Any]], *, on_progress: Callable[[int], None] | None = None
    ) -> list[Result]:
        """Store many memories and return a receipt or an error for each.

        An item is a text, or a mapping with the arguments of `remember`. `on_progress` gets the number of
        finished items.
        """
        if isinstance(items, str | bytes | Mapping):
            raise InvalidRequest("expected a list of items, not one", field="items", fix="use remember")
        results: list[Result] = []
        fields = (item if isinstance(item, Mapping) else {"content": item} for item in items)
        async for batch in self._keep_each(self._payload({"type": "semantic", **one}) for one in fields):
            results.extend(batch)
            if on_progress is not None:
                on_progress(len(results))
        return results

    async def _keep_each(self, payloads: Iterable[Mapping[str, Json]]) -> AsyncIterator[Sequence[Result]]:
        async for batch in remember_each(payloads, (await self._open()).context, tenant=self.tenant):
            yield batch

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recalled:
        """Return the memories that answer the query, best first.

        Without any, the answer is empty and its verdict is `no_match`. By default a recall covers the
        memories of its user and those without a user (`scope="user_and_agent"`); without a user, only those
        without one (`scope="agent"`). `scope="all"` covers all users of the agent.

        Options: `k` (at most so many), `types`, `filter`, `fresher_than_days`, `min_relevance` (a number,
        `auto` or `off`), `as_of` (an earlier time), `include` (`archived`), `hops`, `fusion`, `rank`,
        `dedup`, `max_tokens`, `quorum_k`, `explain`, `sign` (`verify_hit` checks the hits),
        `approval_required`, `user_id`, `scope`, `team`, and what asks: `session_id`, `run_id`, `trace_id`.
        """
        payload = self._payload(options, query=query)
        if "scope" not in payload:
            payload["scope"] = default_scope(payload)
        return await self._ask(Recalled, "recall", payload)

    async def context(
        self,
        prompt: str | Sequence[Mapping[str, Any]],
        budget: int = 512,
        **options: Unpack[ContextOptions],
    ) -> ContextBlock:
        """Return what to put before a model: constraints, the profile, memories that help with the prompt.

        The prompt is a text, or the messages so far. The block's `text` costs at most `budget` tokens. It has
        memories of the user, and of the agent those that belong to no user.

        Options: `recent` (the last messages of the session, or of any), `session_id`, `run_id`, `trace_id`,
        `user_id`.
        """
        fields = read_prompt(prompt)
        return await self._ask(ContextBlock, "context", self._payload(options, budget=budget, **fields))

    async def profile(self, user_id: str | None = None) -> Profile:
        """Return what is known about a person, by slot, with sources, ages, conflicts and history."""
        return await self._ask(Profile, "profile", self._payload({"user_id": user_id}))

    async def forget(
        self, ids: str | Sequence[str] | None = None, **options: Unpack[ForgetOptions]
    ) -> Forgotten:
        """Forget memories by id, by filter, or by both. `hard_delete` erases their content for good.

        Options: `filter`, `hard_delete`, `reason`, `dry_run`, `max_affected`, `approval_required`,
        `reasoning`, `user_id`.
        """
        names = [ids] if isinstance(ids, str) else ids
        return await self._ask(Forgotten, "forget", self._payload(options, ids=names))

    async def merge(
        self, canonical: str, duplicates: Sequence[str], **options: Unpack[MergeOptions]
    ) -> Merged:
        """Merge duplicates into one memory that stays.

        Options: `strategy` (`keep_canonical`, `merge_content`, `keep_highest_confidence`), `if_version`,
        `approval_required`, `reasoning`, `user_id`.
        """
        payload = self._payload(options, canonical=canonical, duplicates=duplicates)
        return await self._ask(Merged, "merge", payload)

    async def expire(self, policy: Mapping[str, Any], **options: Unpack[ExpireOptions]) -> Expired:
        """Forget, archive or demote the memories that meet all conditions of the policy.

        The conditions are `older_than_days`, `type`, `confidence_below` and `no_recall_in_days`.
        Options: `action` (`forget`, `archive`, `demote`), `dry_run`, `max_affected`, `approval_required`,
        `reasoning`, `user_id`.
        """
        return await self._ask(Expired, "expire", self._payload(options, policy=policy))

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        """Return the current version of a memory; raises NotFound."""
        return await self._ask(Record, "get", self._payload(options, id=id))

    async def list(self, **options: Unpack[ListOptions]) -> Page:
        """Return a page of memories, ordered by id; pass its `next` as `after` to get the next page.

        Options: `types`, `filter`, `include` (`archived`), `order` (`oldest`, `newest`), `after`, `limit`,
        `user_id`.
        """
        return await self._ask(Page, "list", self._payload(options))

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> "tuple[Version, ...]":
        """Return all versions of a memory, oldest first."""
        return (await self._ask(Chain, "history", self._payload(options, id=id))).versions

    async def procedure(self, id: str, **options: Unpack[ScopeOption]) -> "Procedure":
        """Load the state machine of a procedural memory, to take its steps and save it."""
        from memorywire.client.procedures import Procedure

        return await Procedure.load(self, id, **options)

    async def undo(self, change_id: str, **options: Unpack[WriteOptions]) -> Undone:
        """Undo a change. The undo is a change too and can be undone.

        Options: `approval_required`, `reasoning`, `user_id`.
        """
        return await self._ask(Undone, "undo", self._payload(options, change_id=change_id))

    async def changes(self, limit: int = 20, **options: Unpack[ScopeOption]) -> "tuple[Change, ...]":
        """Return the last changes, newest first."""
        return (await self._ask(ChangeLog, "changes", self._payload(options, limit=limit))).changes

    async def debts(self) -> tuple[OutboxEntry, ...]:
        """Return the committed changes that a store has still to write, oldest first."""
        governance = (await self._open()).context.governance
        return () if governance is None else tuple(await governance.journal.list_outbox())

    async def pay_debts(self) -> bool:
        """Try now to write what the store is owed, in order; whether nothing is owed any more."""
        return await redeliver((await self._open()).context, all_of_them=True)

    @checks_arguments
    async def write_off(self, change_id: str, *, why: str, store: str | None = None) -> OutboxEntry:
        """Give up the delivery of a change to a store; the ledger records who did it and why.

        Name the `store` where several have not written the change.
        """
        return await write_off(change_id, why, (await self._open()).context, store=store)

    @checks_arguments
    async def dream(self, *, dry_run: bool = False, **options: Unpack[ScopeOption]) -> "Dreamed":
        """Consolidate the memories once: the run with its steps and proposals, and the rules of the session.

        Sure steps are one change, `run`, which `undo` takes back; the others are proposals. Nothing is
        deleted. Needs the package memorywire-consolidate.
        """
        from memorywire.app.consolidators import consolidate

        container = replace(await self._open(), consolidation=self._consolidation)
        return await consolidate(self._scope(**options), container, dry_run=dry_run)

    @checks_arguments
    async def promote(
        self, *, window: int | None = None, dry_run: bool = False, **options: Unpack[ScopeOption]
    ) -> "Promotion":
        """Make the best of the newest `window` memories of each user semantic; archive what is cold."""
        from memorywire.app.consolidators import promote

        container = replace(await self._open(), consolidation=self._consolidation)
        return await promote(self._scope(**options), container, window=window, dry_run=dry_run)

    @checks_arguments
    async def start_consolidation(
        self, *, every: float = 60.0, window: int | None = None
    ) -> "BackgroundWork":
        """Call `promote` every so many seconds until `stop_consolidation` or `close`; returns the status."""
        from memorywire.app.consolidators import start

        await self.stop_consolidation()
        container = replace(await self._open(), consolidation=self._consolidation)
        work, self._work = await start(self._scope(), container, every=every, window=window)
        return work

    async def stop_consolidation(self) -> None:
        """End the background work, if there is any."""
        work, self._work = self._work, None
        if work is not None:
            await work.__aexit__(None, None, None)

    @checks_arguments
    async def scan(self, **options: Unpack[ScopeOption]) -> "Scanned":
        """Search the memories for secrets and instructions; the report has kinds and places, no values."""
        from memorywire.pipeline.scan import scan

        return await scan(self._scope(**options), await self._context())

    @checks_arguments
    async def clear(
        self, ids: str | Sequence[str], *, hold: bool = True, **options: Unpack[ScopeOption]
    ) -> "tuple[Cleared, ...]":
        """Remove secrets from memories by new versions: as proposals, or at once with `hold=False`."""
        from memorywire.pipeline.scan import clear

        scope, context = self._scope(**options), await self._context()
        return await clear(scope, [ids] if isinstance(ids, str) else ids, context, hold=hold)

    @checks_arguments
    async def recover(
        self, source: str, *, since: int | datetime, dry_run: bool = False, **options: Unpack[ScopeOption]
    ) -> "Recovered":
        """Remove, as one change, what a source (a pattern) wrote since then and all derived from it."""
        from memorywire.model.oversight import Recover
        from memorywire.pipeline.recover import recover

        moment = moments(since=since)
        request = Recover(scope=self._scope(**options), source=source, dry_run=dry_run, **moment)
        return await recover(request, await self._context())

    def _scope(self, **options: Unpack[ScopeOption]) -> Scope:
        user = options.get("user_id")
        return Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id if user is None else user)

    async def _context(self) -> Context:
        """Return the context, with the store that keeps this agent's memories."""
        return await (await self._open()).context.serving(self._scope())

    async def capabilities(self) -> Capabilities:
        """Return the stores, features and limits of this memory."""
        return await (await self._open()).capabilities_of(self._scope())

    async def health(self) -> dict[str, Json]:
        """Check every store and return its state."""
        container = await self._open()
        store = await container.context.store.health()
        pending = Counter(debt.store for debt in await self.debts())
        has_replicas = isinstance(container.context.store, SupportsReplicas)
        each = store["stores"] if has_replicas else {container.context.store.name: store}
        return {
            "ok": store["ok"],
            "status": "ok" if store["ok"] else "failed",
            "stores": [{"name": name, **state, "debts": pending[name]} for name, state in each.items()],
            "embedding": str(container.context.embedder.space),
        }

    @property
    def kv(self) -> "KeyValue":
        """The keys and values of the agent; `kv.of` returns those of a user or of the tenant.

        A memory with a `user_id` needs `kv.of`, because the keys of an agent belong to no user.
        """
        from memorywire.client.kv import KeyValue

        owner = Owner(kind=OwnerKind.AGENT, id=self.agent_id, tenant=self.tenant)
        return KeyValue(self._open, owner, self._kv_limits, user=self.user_id)

    @property
    def layer(self) -> "Layer":
        """The conversations of the agent, or those with its user."""
        from memorywire.client.layer import Layer

        return Layer(self._open, self._scope())

    @property
    def harness(self) -> "Harness":
        """The memories as items to write, read, search and delete one by one."""
        from memorywire.client.harness import Harness

        return Harness(self._open, self._scope())

    @checks_arguments
    async def events(self, after: int | None = None) -> AsyncGenerator["Event", None]:
        """Yield the events of this agent from now on, or after event `after`, without content.

        A client of one user gets the events of that user.
        """
        from memorywire.client.events import Feed

        async for event in Feed(await self._open()).listen(after, tenant=self.tenant):
            if event.agent == self.agent_id and self.user_id in (None, event.user):
                yield event

    @checks_arguments
    async def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        """Run an operation of the wire format: JSON in, JSON out, as over HTTP and MCP."""
        answer = await dispatch(operation, payload, await self._open(), tenant=self.tenant)
        return cast(dict[str, Json], encode(answer))

    async def close(self) -> None:
        """Flush and close the store. A second call, or one in a forked process, does nothing."""
        if self._mooring.adrift:
            return
        await self.stop_consolidation()
        async with self._opening:
            self._closed = True
            container, self._container = self._container, None
        if container is not None:
            await container.close()

    def __del__(self) -> None:
        if self._container is not None and not self._mooring.adrift:
            warn_unclosed(self)

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _open(self) -> Container:
        if self._mooring.loop is not asyncio.get_running_loop():
            self._mooring.hold()
        if self._container is not None:
            return self._container
        async with self._opening:
            if self._closed:
                raise closed()
            if self._container is None:
                stores = self._stores
                journal = default_journal(os.environ, stores)  # of stores that cannot keep it themselves
                self._container = await open_container(
                    stores=stores,
                    embedder=self._embedder,
                    embedder_key=self._embedder_key,
                    floor=self._floor,
                    match=self._match,
                    governance=replace(self._governance, fallback=journal),
                    several=self._several,
                    reading=self._reading,
                    backends=self._backends or rules_from(os.environ),
                    clock=self._clock,
                )
        return self._container

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        try:
            answer = await dispatch(operation, payload, await self._open(), tenant=self.tenant)
        except MemorywireError as error:
            raise shorten_traceback(error) from error.__cause__
        assert isinstance(answer, kind)  # noqa: S101 - each operation has one kind of answer
        return answer

    def _payload(self, options: Mapping[str, Any], **fields: Any) -> dict[str, Json]:
        """Build the wire payload; arguments that are None are left out."""
        payload: dict[str, Json] = {"agent_id": self.agent_id}
        if self.user_id is not None:
            payload["user_id"] = self.user_id
        for name, value in (*options.items(), *fields.items()):
            if value is not None:
                payload[name] = plain(name, value) if isinstance(value, tuple | datetime) else value
        return payload


def shorten_traceback(error: MemorywireError) -> MemorywireError:
    """Drop the frames inside memorywire from the traceback, unless Python runs with `-X dev`.

    The text of the error says what was wrong with the request. The frames of the pipeline only push the line
    that made the request off the screen.
    """
    return error if sys.flags.dev_mode else error.with_traceback(None)


async def run_bound(memory: Memory, work: Coroutine[Any, Any, A]) -> A:
    """Run the coroutine on the event loop that the memory is bound to and return its result."""
    return await memory._mooring.run(work)


def _read_stores(stores: str | Sequence[str | Store]) -> tuple[Sequence[str | Store], str | Embedder | None]:
    """Return the stores as a sequence; raises InvalidRequest for anything else, such as a path.

    Stores of memorywire 0.5.0 have a URL, and may bring an embedder, which is returned too.
    """
    each = stores if isinstance(stores, Sequence) and not isinstance(stores, str) else (stores,)
    for one in each:
        if not isinstance(one, str) and not (hasattr(one, "features") or hasattr(one, "store_url")):
            raise InvalidRequest(
                f"expected a URL or a Store, not {type(one).__name__}",
                field="stores",
                fix="for a file write sqlite:////folder/memory.db, or sqlite:///./memory.db for one here",
            )
    embedders = filter(None, (getattr(one, "store_embedder", None) for one in each))
    return [getattr(one, "store_url", one) for one in each], next(embedders, None)


def configured(**given: Any) -> dict[str, Any]:
    """The arguments that the settings stand for. Deprecated: `Memory(...)` uses the settings itself."""
    return {**load_settings(env=os.environ).opening, **given}
