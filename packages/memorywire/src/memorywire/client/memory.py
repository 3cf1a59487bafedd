"""The async client: an agent's memory over a store, with the embedded default when none is named."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from msgspec.structs import replace

from memorywire.app import (
    DEFAULT_AGENT,
    DEFAULT_EMBEDDER,
    DEFAULT_POLICY,
    LOCAL,
    Container,
    Governance,
    Reading,
    Rules,
    Several,
    default_journal,
    default_store,
    load_settings,
    open_container,
    rules_from,
)
from memorywire.app.dispatch import dispatch
from memorywire.app.settings import write_policy
from memorywire.client.audit import Audited
from memorywire.client.bulk import Result, remember_each
from memorywire.client.contracts import Contracts
from memorywire.client.options import (
    ExpireOptions,
    ForgetOptions,
    ListOptions,
    MergeOptions,
    RecallOptions,
    RememberOptions,
    ScopeOption,
    check_opening,
    moments,
    plain,
)
from memorywire.client.oversight import Overseeing
from memorywire.model.answers import (
    Chain,
    ChangeLog,
    Expired,
    Forgotten,
    Merged,
    Page,
    Recalled,
    Remembered,
    Undone,
)
from memorywire.model.capabilities import Capabilities
from memorywire.model.change import Change, Version
from memorywire.model.clock import Clock, system_clock
from memorywire.model.errors import InvalidRequest
from memorywire.model.kv import Limits
from memorywire.model.proposal import Debt
from memorywire.model.record import DEFAULT_TENANT, Json, Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.outbox import repay, write_off
from memorywire.runtime.portal import Mooring, closed, warn_unclosed
from memorywire.search.embed import Embedder
from memorywire.stores.contract import Fanned, Store
from memorywire.wire.codec import encode

if TYPE_CHECKING:
    from memorywire.client.procedures import Procedure
    from memorywire.journal.events import Event
    from memorywire.model.findings import Cleared, Scanned
    from memorywire.model.recovery import Recovered


A = TypeVar("A")


class Memory(Audited, Overseeing, Contracts):
    """Remember, recall, forget, merge and expire for one agent.

    >>> import asyncio
    >>> async def story():
    ...     async with Memory(agent_id="demo", stores=["memory://"]) as memory:
    ...         await memory.remember("Ana prefers green tea to coffee")
    ...         found = await memory.recall("what does Ana like to drink?")
    ...         return found.verdict.value, [hit.content for hit in found]
    >>> asyncio.run(story())
    ('match', ['Ana prefers green tea to coffee'])

    Nothing is opened before the first call. Without `stores`, memories are kept in one SQLite file
    under MEMORYWIRE_HOME or the platform's data folder. `user_id` narrows every call to one user
    unless the call names another; None names nobody. `floor` is what `min_relevance="auto"` means and `match`
    the relevance from which the verdict is a match, as `memorywire calibrate` fitted them; without them, what
    was fitted for the default embedder.

    `policy` is a profile (`open`, `balanced`, `strict`), the path of a TOML file, or None: then nothing is
    judged, redacted or written down. `secrets` are values by label that must never be kept; with
    `redact_personal`, neither is personal data (cards, accounts, national ids, phones, e-mail). `caller` is
    who the ledger says asked. `journal` is the URL of the ledger of a store that cannot keep it beside
    its memories.

    Of several `stores` all keep everything, and `write` says who must hold a memory before its receipt says
    committed: `all`, `primary` or `quorum`. `several` has the rest of what can be said about that.
    `reading` says who reads conversations for facts, `kv_limits` how much is kept under keys, `backends` what
    definitions of backends may use. Each checkpoint of the ledger also goes to the `witnesses`: URLs of
    files, of addresses that take it by POST, or (`put+https:`) of object stores.
    """

    _house: Container | None = None  # of the class, because one that was not made ends, too

    def __init__(
        self,
        agent_id: str = DEFAULT_AGENT,
        stores: str | Sequence[str | Store] = (),
        *,
        user_id: str | None = None,
        tenant: str = DEFAULT_TENANT,
        embedder: str | Embedder = DEFAULT_EMBEDDER,
        embedder_key: str | None = None,
        floor: float | None = None,
        match: float | None = None,
        policy: str | None = DEFAULT_POLICY,
        journal: str | None = None,
        secrets: Mapping[str, str] | None = None,
        redact_personal: bool = False,
        caller: str = LOCAL,
        write: str | None = None,
        several: Several | None = None,
        reading: Reading | None = None,
        kv_limits: Limits | None = None,
        backends: Rules | None = None,
        witnesses: Sequence[str] = (),
        clock: Clock = system_clock,
    ) -> None:
        check_opening(tenant=tenant, floor=floor, match=match, secrets=secrets)
        self.agent_id = agent_id
        self.user_id = user_id
        self.tenant = tenant
        self._stores, self._embedder = _with_embedder(_named(stores), embedder)
        self._embedder_key = embedder_key
        self._floor, self._match = floor, match
        self._governance = Governance(
            policy=policy or DEFAULT_POLICY,
            journal=journal,
            secrets=dict(secrets or {}),
            redact_personal=redact_personal,
            caller=caller,
            on=policy is not None,
            witnesses=tuple(witnesses),
        )
        self._several = _writing(several or Several(), write)
        self._reading = reading
        self._kv_limits = kv_limits or Limits()
        self._backends = backends
        self._clock = clock
        self._opening = asyncio.Lock()
        self._mooring = Mooring()
        self._closed = False

    async def remember(
        self, content: str | Mapping[str, Any], **options: Unpack[RememberOptions]
    ) -> Remembered:
        """Keep one memory; the receipt says what happened to it.

        `status` is `committed`, or `duplicate` with the id of the memory that already says this.
        """
        given = {"type": "semantic", **options}
        return await self._ask(Remembered, "remember", self._payload(given, content=content))

    async def remember_many(
        self,
        items: Iterable[str | Mapping[str, Any]],
        *,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Result]:
        """Keep many memories; each item, text or the fields of a remember, gets a receipt or a problem.

        An item sees everything before it. `on_progress` is called with the number of items done so far.
        """
        if isinstance(items, str | bytes | Mapping):
            raise InvalidRequest("one item is not a list of items", field="items", fix="use remember")
        results: list[Result] = []
        async for batch in self._keep_each(self._item(item) for item in items):
            results.extend(batch)
            if on_progress is not None:
                on_progress(len(results))
        return results

    async def _keep_each(self, payloads: Iterable[Mapping[str, Json]]) -> AsyncIterator[Sequence[Result]]:
        async for batch in remember_each(payloads, (await self._open()).context, tenant=self.tenant):
            yield batch

    async def recall(self, query: str, **options: Unpack[RecallOptions]) -> Recalled:
        """What answers the query, best first; empty, with verdict `no_match`, when nothing does."""
        return await self._ask(Recalled, "recall", self._payload(options, query=query))

    async def forget(
        self, ids: str | Sequence[str] | None = None, **options: Unpack[ForgetOptions]
    ) -> Forgotten:
        """Forget by id, by filter, or by both; `hard_delete` leaves no trace of the content."""
        named = [ids] if isinstance(ids, str) else ids
        return await self._ask(Forgotten, "forget", self._payload(options, ids=named))

    async def merge(
        self, canonical: str, duplicates: Sequence[str], **options: Unpack[MergeOptions]
    ) -> Merged:
        """Fold duplicates into one surviving memory."""
        payload = self._payload(options, canonical=canonical, duplicates=duplicates)
        return await self._ask(Merged, "merge", payload)

    async def expire(self, policy: Mapping[str, Any], **options: Unpack[ExpireOptions]) -> Expired:
        """Forget, archive or demote what meets every condition of a policy that is not empty."""
        return await self._ask(Expired, "expire", self._payload(options, policy=policy))

    async def get(self, id: str, **options: Unpack[ScopeOption]) -> Record:
        """One memory as it is now; raises NotFound."""
        return await self._ask(Record, "get", self._payload(options, id=id))

    async def list(self, **options: Unpack[ListOptions]) -> Page:
        """A page of memories in id order, with the total; pass its `next` as `after` to go on."""
        return await self._ask(Page, "list", self._payload(options))

    async def history(self, id: str, **options: Unpack[ScopeOption]) -> "tuple[Version, ...]":
        """All versions of a memory, oldest first."""
        return (await self._ask(Chain, "history", self._payload(options, id=id))).versions

    async def procedure(self, id: str, **options: Unpack[ScopeOption]) -> "Procedure":
        """The state machine that a procedural memory is, ready to be moved and saved."""
        from memorywire.client.procedures import Procedure

        return await Procedure.load(self, id, **options)

    async def undo(self, change_id: str, **options: Unpack[ScopeOption]) -> Undone:
        """Take back a change; an undo is a change too."""
        return await self._ask(Undone, "undo", self._payload(options, change_id=change_id))

    async def changes(self, limit: int = 20, **options: Unpack[ScopeOption]) -> "tuple[Change, ...]":
        """The newest changes, newest first."""
        return (await self._ask(ChangeLog, "changes", self._payload(options, limit=limit))).changes

    async def debts(self) -> tuple[Debt, ...]:
        """Changes that were promised and that a store has still to write, oldest first."""
        office = (await self._open()).context.office
        return () if office is None else tuple(await office.journal.debts())

    async def pay_debts(self) -> bool:
        """Try now to write what the store is owed, in order; whether nothing is owed any more."""
        return await repay((await self._open()).context, all_of_them=True)

    async def write_off(self, change_id: str, *, why: str, store: str | None = None) -> Debt:
        """Give up a change that a store is owed, `store` if several are; the ledger says who did, and why."""
        return await write_off(change_id, why, (await self._open()).context, store=store)

    async def scan(self, **options: Unpack[ScopeOption]) -> "Scanned":
        """Secrets and instructions in the memories that are kept, by kind and place; never a value."""
        from memorywire.pipeline.scan import scan

        return await scan(self._scope(**options), await self._tools())

    async def clear(
        self, ids: str | Sequence[str], *, hold: bool = True, **options: Unpack[ScopeOption]
    ) -> "tuple[Cleared, ...]":
        """New versions without secrets of those that hold some: proposed, or at once without `hold`."""
        from memorywire.pipeline.scan import clear

        each = [ids] if isinstance(ids, str) else ids
        return await clear(self._scope(**options), each, await self._tools(), hold=hold)

    async def recover(
        self, source: str, *, since: int | datetime, dry_run: bool = False, **options: Unpack[ScopeOption]
    ) -> "Recovered":
        """Take out what a source (a pattern) said since then and all that was made of it, as one change."""
        from memorywire.model.recovery import Recover
        from memorywire.pipeline.recover import recover

        given = moments(since=since)
        asked = Recover(scope=self._scope(**options), source=source, dry_run=dry_run, **given)
        return await recover(asked, await self._tools())

    def _scope(self, **options: Unpack[ScopeOption]) -> Scope:
        user = options.get("user_id")
        return Scope(tenant=self.tenant, agent=self.agent_id, user=self.user_id if user is None else user)

    async def _tools(self) -> Context:
        """The tools, with the store that keeps this agent's memories."""
        return await (await self._open()).context.serving(self._scope())

    async def capabilities(self) -> Capabilities:
        """What is wired here."""
        return (await self._open()).capabilities

    async def health(self) -> dict[str, Json]:
        """Whether every store is fit for use, and what each knows about itself."""
        container = await self._open()
        store = await container.context.store.health()
        owed = Counter(debt.store for debt in await self.debts())
        each = (
            store["stores"]
            if isinstance(container.context.store, Fanned)
            else {container.context.store.name: store}
        )
        named = [{"name": name, **said, "debts": owed[name]} for name, said in each.items()]
        status = "ok" if store["ok"] else "failed"
        space = str(container.context.embedder.space)
        return {"ok": store["ok"], "status": status, "stores": named, "embedding": space}

    async def events(self, after: int | None = None) -> AsyncGenerator["Event", None]:
        """What happens to this agent's memory from now on, or behind event `after`, content left out.

        A client of one user hears of that user alone.
        """
        from memorywire.client.events import Feed

        async for event in Feed(await self._open()).listen(after, tenant=self.tenant):
            if event.agent == self.agent_id and self.user_id in (None, event.user):
                yield event

    async def call(self, operation: str, payload: Mapping[str, Json]) -> dict[str, Json]:
        """Plain JSON in, plain JSON out: exactly what the other doors do."""
        container = await self._open()
        answer: dict[str, Json] = encode(await dispatch(operation, payload, container, tenant=self.tenant))
        return answer

    async def close(self) -> None:
        """Flush and close the store; closing twice is fine, and a forked process closes nothing."""
        if self._mooring.adrift:
            return
        async with self._opening:
            self._closed = True
            container, self._house = self._house, None
        if container is not None:
            await container.close()

    def __del__(self) -> None:
        if self._house is not None and not self._mooring.adrift:
            warn_unclosed(self)

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _open(self) -> Container:
        self._mooring.hold()
        if self._house is not None:
            return self._house
        async with self._opening:
            if self._closed:
                raise closed()
            if self._house is None:
                stores = self._stores or (default_store(os.environ),)
                journal = default_journal(os.environ, stores)  # of stores that cannot keep it themselves
                self._house = await open_container(
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
        return self._house

    async def _ask(self, kind: type[A], operation: str, payload: Mapping[str, Json]) -> A:
        answer = await dispatch(operation, payload, await self._open(), tenant=self.tenant)
        assert isinstance(answer, kind)  # noqa: S101 - each operation has one kind of answer
        return answer

    def _item(self, item: str | Mapping[str, Any]) -> dict[str, Json]:
        fields = item if isinstance(item, Mapping) else {"content": item}
        return self._payload({"type": "semantic", **fields})

    def _payload(self, options: Mapping[str, Any], **named: Any) -> dict[str, Json]:
        """The wire payload; arguments that are None are left out."""
        owner = {"agent_id": self.agent_id, "user_id": self.user_id}
        said = {**owner, **{name: value for name, value in options.items() if value is not None}, **named}
        return {name: plain(name, value) for name, value in said.items() if value is not None}


async def run_bound(memory: Memory, work: Coroutine[Any, Any, A]) -> A:
    """What the work gives, run on the event loop that the memory is bound to, whichever runs here."""
    return await memory._mooring.run(work)


def _with_embedder(
    stores: Sequence[str | Store], embedder: str | Embedder
) -> tuple[Sequence[str | Store], str | Embedder]:
    """The stores as URLs and the embedder, where a store of memorywire 0.5.0 was given with its own."""
    embedders = [getattr(one, "store_embedder", None) for one in stores]
    own = next((one for one in embedders if one is not None), None)
    return [getattr(one, "store_url", one) for one in stores], own or embedder


def _named(stores: str | Sequence[str | Store]) -> Sequence[str | Store]:
    """The stores that were named; anything that cannot name one, such as a path, is refused at once."""
    each = stores if isinstance(stores, Sequence) and not isinstance(stores, str) else (stores,)
    for one in each:
        if not isinstance(one, str) and not (hasattr(one, "features") or hasattr(one, "store_url")):
            raise InvalidRequest(
                f"a store is a URL or a Store, not {type(one).__name__}",
                field="stores",
                fix="for a file write sqlite:///folder/memory.db, or sqlite:///./memory.db for one here",
            )
    return each


def _writing(several: Several, write: str | None) -> Several:
    """With the write policy that was named, if one was."""
    if write is None:
        return several
    return replace(several, routing=replace(several.routing, write=write_policy(write)))


def configured(**given: Any) -> dict[str, Any]:
    """The arguments of a `Memory`, async or blocking: MEMORYWIRE_ variables over a file; what is given wins.

    `Memory(**configured(agent_id="assistant"))` opens the store that the commands open here, under the same
    policy. `Memory()` goes by its arguments alone.
    """
    return {**load_settings(env=os.environ).opening, **given}
