"""Transaction(context): commits changes to the store together with what the journal says of them.

Theory of operation
-------------------
What it must guarantee: a change that was acknowledged is in the store and in the ledger, also after a crash
at any point; a change that was not is in neither, or is finished later from the outbox; no crash leaves a
memory without its ledger entry.

How: there are three cases, and `commit` picks one.

1. *Store and journal share a database* (the default). The change and its act are written in one database
   transaction: both or neither. Many changes are one group: the database commits them with one sync of its
   log, and a change that fails is rolled back alone, by a savepoint.
2. *They do not share one.* The outbox comes first: the journal writes the change down as an outbox entry, the
   store writes the change, the journal writes the act and acknowledges the entry. A crash between two of
   these steps leaves an outbox entry, which `outbox.redeliver` delivers again; stores recognise a change by
   its id. A store that fails leaves the change in the outbox, and the result says `deferred`.
3. *There are several stores.* The replica that shares the journal's database decides, as in case 1; the
   outbox has an entry for each of the others until it holds the change. Without such a replica the first
   store that answers decides, as in case 2. See `outbox.replicate`.

Without a journal (policy off) the store alone commits, and nothing is recorded.

Texts are embedded before any transaction begins: an embedder may take seconds, and a transaction holds up
every other writer. The outbox keeps changes without their vectors, which are made again on delivery.

What it costs: a write to a store elsewhere takes two journal writes more than the write itself (decision 14).
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Act, Wanted
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError, StoreError
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.outbox import EARLIER, delay, mark_entry_late, mark_lagging, redeliver, replicate
from memorywire.pipeline.plan import (
    CommitResult,
    build_committed,
    build_untouched,
    count_memories,
    embed_changes,
)
from memorywire.stores.contract import Store, SupportsBulkWrite, SupportsHistory, SupportsReplicas

T = TypeVar("T")

Result: TypeAlias = CommitResult | Exception


class Write(Struct, frozen=True):
    """A change, and the act that the journal writes down with it."""

    change: Change
    act: Act


class Transaction(Struct, frozen=True):
    """A unit of work over the store and the journal of a context; see the head of this module."""

    context: Context

    async def commit_one(self, change: Change, act: Act) -> CommitResult:
        """Commit one change with its act; raises what stands in its way."""
        (result,) = await self.commit([Write(change, act)])
        if isinstance(result, Exception):
            raise result
        return result

    async def commit(self, writes: Sequence[Write]) -> list[Result]:
        """The result of each write, in order; a failure concerns its write alone.

        No two of the writes may touch the same memory. Raises when the embedder fails; then nothing is
        written.
        """
        context, store = self.context, self.context.store
        changes = await embed_changes([write.change for write in writes], context)
        now = asyncio.get_running_loop().time
        if context.governance is None:
            start = now()
            return self._build_results(changes, await _write_unrecorded(store, changes), now() - start)
        journal = context.governance.journal
        if isinstance(store, SupportsReplicas):
            return await gather_results(map(partial(self._commit_to_replicas, store), writes, changes))
        if not journal.backend.shares(store):
            return await gather_results(map(self._commit_outbox_first, writes, changes))
        acts, group, act_results = [], [], {}
        for at, (write, change) in enumerate(zip(writes, changes, strict=True)):
            if change.erase and await self._erases_proposals_only(change):
                (act_results[at],) = await catch_each([self._write_act_only(write)])
            else:
                acts.append(write.act)
                group.append(change)
        start = now()
        try:
            sequences = await journal.commit(acts, group) if group else []
        except MemorywireError as problem:
            sequences = [problem] * len(group)
        results = self._build_results(group, sequences, now() - start)
        for at in sorted(act_results):
            results.insert(at, act_results[at])
        return results

    def _build_results(
        self, changes: Sequence[Change], sequences: Sequence[int | Exception], seconds: float
    ) -> list[Result]:
        """A result for each change, from its commit sequence or its problem; reports the time they took."""
        context = self.context
        usual = build_committed("", 1, context)
        results: list[Result] = []
        for change, sequence in zip(changes, sequences, strict=True):
            context.took(context.store.name, seconds)
            if isinstance(sequence, Exception):
                results.append(sequence)
            elif len(change.put) == 1 and not change.end and not change.erase:
                results.append(
                    CommitResult(status=usual.status, outcomes=usual.outcomes, change_id=change.id)
                )
            else:
                results.append(build_committed(change.id, count_memories(change), context))
        return results

    async def _commit_outbox_first(self, write: Write, change: Change) -> CommitResult:
        """Case 2: an outbox entry, then the store, then the act with the acknowledgement."""
        context, store = self.context, self.context.store
        journal, name = context.require_governance().journal, store.name
        if change.erase and await self._erases_proposals_only(change):
            return await self._write_act_only(write)
        entry = OutboxEntry(store=name, change=write.change, at=context.clock())
        if not await redeliver(context):
            return await self._defer(entry, write.act, EARLIER)
        await journal.write(Act(outbox=(entry,)))
        acknowledgements = ((name, change.id),)
        try:
            await context.timed(name, store.write(change))
        except StoreError as error:
            return await self._defer(entry, write.act, error.detail)
        except MemorywireError:
            await journal.write(Act(acknowledged=acknowledgements))
            raise
        await journal.write(replace(write.act, acknowledged=(*write.act.acknowledged, *acknowledgements)))
        return build_committed(change.id, count_memories(change), context)

    async def _commit_to_replicas(
        self, store: SupportsReplicas, write: Write, change: Change
    ) -> CommitResult:
        """Case 3: one replica decides, the others follow, or are delivered later from the outbox."""
        context = self.context
        if change.erase and await self._erases_proposals_only(change):
            return await self._write_act_only(write)
        lagging = await mark_lagging(store, context)
        return await replicate(write.change, change, write.act, store, lagging, context)

    async def _defer(self, entry: OutboxEntry, act: Act, error: str) -> CommitResult:
        """Leave the change in the outbox, because the store failed; it is delivered later."""
        context = self.context
        entries = tuple(mark_entry_late(one, [entry.store], is_held=False) for one in act.entries)
        act = replace(act, outbox=(delay(entry, error, context),), entries=entries)
        await context.require_governance().journal.write(act)
        return CommitResult(
            status=Status.DEFERRED,
            outcomes=(Outcome(store=entry.store, error=error),),
            change_id=entry.change.id,
        )

    async def _write_act_only(self, write: Write) -> CommitResult:
        await self.context.require_governance().journal.write(write.act)
        return replace(build_untouched(self.context), change_id=write.change.id)

    async def _erases_proposals_only(self, change: Change) -> bool:
        """Whether a change only erases ids that no memory has, so that no store needs to write it."""
        if change.put or change.end:
            return False
        proposed_ids = await self.context.require_governance().journal.find_proposed(
            change.scope, change.erase
        )
        return proposed_ids.issuperset(change.erase) and not await _read_versions(change, self.context)


async def _write_unrecorded(store: Store, changes: Sequence[Change]) -> Sequence[int | Exception]:
    """The commit sequence or the problem of each change, where there is no journal."""
    if len(changes) == 1 or not isinstance(store, SupportsBulkWrite):
        return await gather_results([store.write(change) for change in changes])
    try:
        return await store.write_many(changes)
    except MemorywireError as problem:
        return [problem] * len(changes)


async def gather_results(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """What each coroutine returns, or the MemorywireError it raises; all of them run at once."""
    several = [*works]
    if len(several) == 1:
        return await catch_each(several)
    return [*chain.from_iterable(await asyncio.gather(*(catch_each([work]) for work in several)))]


async def catch_each(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """What each coroutine returns, or the MemorywireError it raises; one after the other."""
    results: list[T | Exception] = []
    for work in works:
        try:
            results.append(await work)
        except MemorywireError as problem:
            results.append(problem)
    return results


async def find_retractions(change: Change, context: Context) -> tuple[tuple[Scope, str], ...]:
    """The scopes and digests of all that the change erases, to remove proposals with the same words."""
    if not change.erase:
        return ()
    filter = Wanted(tenant=change.scope.tenant, agent=change.scope.agent)
    if not await context.require_governance().journal.count_proposals(filter):
        return ()
    return tuple({(record.scope, record.digest) for record in await _read_versions(change, context)})


async def _read_versions(change: Change, context: Context) -> list[Record]:
    """Every version of the memories that the change erases, or only the live ones without history."""
    store = context.store
    if not isinstance(store, SupportsHistory):
        return list(await store.get(change.scope, change.erase))
    chains = [await store.history(change.scope, id) for id in change.erase]
    return [version.record for chain in chains for version in chain if version.record is not None]
