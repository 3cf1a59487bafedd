"""Transaction(context): commits changes to the store together with their journal records.

Theory of operation
-------------------
What it must guarantee: a change that was acknowledged is in the store and in the ledger, also after a crash
at any point; a change that was not is in neither, or is finished later from the outbox; no crash leaves a
memory without its ledger entry.

How: there are three cases, and `commit` picks one.

1. *Store and journal share a database* (the default). The change and its act are written in one database
   transaction: both or neither. Many changes form one group: the database commits them with one sync of its
   log, and a savepoint rolls back a failed change alone.
2. *They do not share one.* The outbox comes first: the journal writes the change down as an outbox entry, the
   store writes the change, the journal writes the act and acknowledges the entry. A crash between two of
   these steps leaves an outbox entry, which `redeliver` delivers again; stores recognise a change by
   its id. A store that fails leaves the change in the outbox, and the result says `deferred`.
3. *There are several stores.* The replica that shares the journal's database decides, as in case 1; the
   outbox has an entry for each of the others until it holds the change. Without such a replica the first
   store that answers decides, as in case 2. See `replicate`.

Without a journal (policy off) the store alone commits, and nothing is recorded.

Texts are embedded before any transaction begins: an embedder may take seconds, and a transaction blocks
every other writer. The outbox stores changes without their vectors, which are computed again on delivery.

What it costs: a write to a store in another database takes two extra journal writes (decision 14).

The outbox
----------
What it must guarantee: a store that was unavailable, or missed changes in a crash, ends up with every
acknowledged change, in order and exactly once.

How: before a store that does not share the journal's database is asked to write a change, the journal keeps
an outbox entry with the change. The entry is acknowledged in the same journal write as the
ledger entry that says the store holds the change. `redeliver` walks the entries of a
store in order:

- An entry younger than `_IN_FLIGHT_MS` that never failed is probably being written by some process now. It
  is skipped, and so are all later entries, which may depend on it.
- A failed delivery is tried again after 1 s, 2 s, 4 s, up to a minute. It blocks the entries after it.
- If a store refuses a change because its state has changed, the entry lapses; the ledger records that.
- Two processes may deliver the same entry. Stores recognise a change by its id, and only one of the two
  acknowledgements finds the entry (`if_pending`).

With several replicas (`replicate`), one decides whether a change is possible: the one that shares the
journal's database, if there is one (the primary), else the first that answers. Each of the others has an
outbox entry until it holds the change. A replica with older entries is lagging: it is sent nothing new until
those are delivered.

What was tried: a fan-out to all replicas that only logs failures. It loses writes while a replica is
unavailable, and forgotten memories reappear when the replica returns (decision 18).
"""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, NoReturn, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.acts import Act, Wanted
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.model.answers import Outcome, Status
from memorywire.model.change import Change
from memorywire.model.errors import (
    Conflict,
    EmbedderFailed,
    InvalidRequest,
    MemorywireError,
    NotFound,
    StoreError,
)
from memorywire.model.proposal import OutboxEntry
from memorywire.model.record import Record, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import (
    CommitResult,
    build_committed,
    build_untouched,
    count_memories,
    embed_changes,
    entry_of,
)
from memorywire.stores.contract import Store, SupportsBulkWrite, SupportsHistory, SupportsReplicas, Written

_FIRST_WAIT_MS = 1_000
_LONGEST_WAIT_MS = 60_000
_IN_FLIGHT_MS = 30_000  # longer than any deadline of a write, so no process still works on an older entry
_LOOK_SECONDS = 1.0
_PAGE = 50
EARLIER = "earlier changes wait for this store"


def find_primary(replicas: SupportsReplicas, journal: Journal) -> str | None:
    """Return the authoritative replica, which commits together with the journal and never lags, if any."""
    return next(
        (name for name in replicas.replica_names if journal.backend.shares(replicas.replica(name))), None
    )


def delay(entry: OutboxEntry, error: str, context: Context) -> OutboxEntry:
    """Return the outbox entry after another failed try; the wait doubles each time."""
    wait = min(_FIRST_WAIT_MS * 2**entry.tries, _LONGEST_WAIT_MS)
    return replace(entry, tries=entry.tries + 1, due_at=context.clock() + wait, error=error)


def mark_entry_late(entry: Entry, stores: Sequence[str], *, is_held: bool) -> Entry:
    """Add to a ledger entry the stores that miss the change; its kind is `deferred` if no store holds it."""
    if entry.kind != "committed" or not stores:
        return entry
    details = {**entry.details, "deferred": list(stores)}
    return replace(entry, kind="committed" if is_held else "deferred", details=details)


async def replicate(
    change: Change,
    ready: Change,
    act: Act,
    replicas: SupportsReplicas,
    lagging: Collection[str],
    context: Context,
) -> CommitResult:
    """Write the change to every replica; a replica that fails gets it later from the outbox.

    `ready` is the change with its vectors, `lagging` names the replicas that must get earlier changes first.
    Raises the error of the deciding replica if it refuses; then no replica has the change.
    """
    journal = context.require_governance().journal
    primary = find_primary(replicas, journal)
    outbox = {
        name: OutboxEntry(store=name, change=change, at=context.clock())
        for name in replicas.replica_names
        if name != primary
    }
    outbox |= {name: delay(outbox[name], EARLIER, context) for name in sorted(lagging)}
    entries_due = (*outbox.values(), *await _rewrite_erased(change, lagging, journal))
    current = [name for name in outbox if name not in lagging]
    failures = dict.fromkeys(lagging, EARLIER)
    if primary is not None:
        entries = tuple(mark_entry_late(entry, sorted(lagging), is_held=True) for entry in act.entries)
        write = journal.write(replace(act, outbox=(*act.outbox, *entries_due), entries=entries), ready)
        await context.timed(primary, write)
        failures |= await _write_followers(ready, current, replicas, context)
        rest = Act()
    else:
        safe_change = await _without_proposed_ids(change, journal)
        await journal.write(Act(outbox=entries_due))
        failures |= await _write_until_accepted(ready, current, replicas, context)
        rest = replace(act, registered=safe_change)
    return await _finish(change, rest, outbox, failures, replicas, context)


async def _rewrite_erased(change: Change, lagging: Collection[str], journal: Journal) -> list[OutboxEntry]:
    """Return earlier outbox entries that contain memories this change erases, rewritten without them."""
    erased_ids = frozenset(change.erase)
    if not erased_ids:
        return []
    rewritten = []
    for entry in [entry for name in lagging for entry in await journal.list_outbox(name)]:
        change = entry.change
        if any(put.record.id in erased_ids for put in change.put):
            puts = tuple(put for put in change.put if put.record.id not in erased_ids)
            ends = tuple(end for end in change.end if end.id not in erased_ids)
            rewritten.append(replace(entry, change=replace(change, put=puts, end=ends)))
    return rewritten


async def _without_proposed_ids(change: Change, journal: Journal) -> Change:
    """Drop erased ids that only proposals have: no memory had them, so a memory may still get them."""
    known_ids = await journal.find_registered(change.scope.tenant, change.erase)
    unheard = [id for id in change.erase if id not in known_ids]
    proposed_ids = await journal.find_proposed(change.scope, unheard) if unheard else frozenset()
    return replace(change, erase=tuple(id for id in change.erase if id not in proposed_ids))


async def _write_followers(
    ready: Change, names: Sequence[str], replicas: SupportsReplicas, context: Context
) -> dict[str, str]:
    """Write to the followers; returns the error of each follower that failed, by name.

    A refusal counts as a failure, because the follower may still miss an earlier change.
    """
    results = await _write_to(ready, names, replicas, context) if names else []
    return {result.store: result.error.detail for result in results if result.error is not None}


async def _write_to(
    ready: Change, names: Sequence[str], replicas: SupportsReplicas, context: Context
) -> list[Written]:
    results = await replicas.write_each(ready, names)
    for result in results:
        context.took(result.store, result.elapsed)
    return results


async def _write_until_accepted(
    ready: Change, names: Sequence[str], replicas: SupportsReplicas, context: Context
) -> dict[str, str]:
    """Write to replicas until one answers: it accepts or refuses the change, and the others follow."""
    failures: dict[str, str] = {}
    for place, name in enumerate(names):
        (result,) = await _write_to(ready, [name], replicas, context)
        if result.error is None:
            return failures | await _write_followers(ready, names[place + 1 :], replicas, context)
        if not isinstance(result.error, StoreError):
            await context.require_governance().journal.write(
                Act(acknowledged=tuple((child, ready.id) for child in replicas.replica_names))
            )
            raise result.error
        failures[name] = result.error.detail
    return failures


async def _finish(
    change: Change,
    rest: Act,
    outbox: Mapping[str, OutboxEntry],
    failures: Mapping[str, str],
    replicas: SupportsReplicas,
    context: Context,
) -> CommitResult:
    """Record which replicas hold the change and which get it from the outbox."""
    holders = frozenset(replicas.replica_names) - failures.keys()
    is_committed = context.routing.satisfied(holders, replicas.replica_names)
    entries = tuple(mark_entry_late(entry, sorted(failures), is_held=bool(holders)) for entry in rest.entries)
    entries_due = tuple(
        delay(outbox[name], error, context) for name, error in failures.items() if not outbox[name].tries
    )
    acknowledgements = tuple((name, change.id) for name in outbox if name in holders)
    outbox_entries, acknowledged = (*rest.outbox, *entries_due), (*rest.acknowledged, *acknowledgements)
    act = replace(rest, entries=entries, outbox=outbox_entries, acknowledged=acknowledged)
    await context.require_governance().journal.write(act)
    replicas.mark_lagging(failures)
    count = count_memories(change)
    return CommitResult(
        status=Status.COMMITTED if is_committed else Status.DEFERRED,
        outcomes=tuple(
            Outcome(store=name, error=failures[name])
            if name in failures
            else Outcome(store=name, count=count)
            for name in replicas.replica_names
        ),
        change_id=change.id,
    )


async def keep_redelivering(context: Context) -> NoReturn:
    """Deliver outbox entries as they fall due, until cancelled."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        with suppress(StoreError):  # the journal did not answer: the next round tries again
            await redeliver(context)


async def redeliver(context: Context, *, all_of_them: bool = False) -> bool:
    """Deliver the entries of the outbox, in order; True if none is left.

    An entry is delivered when it is due, after a failed try or once it is too old to be in flight;
    `all_of_them` delivers all entries now. An entry that cannot be delivered blocks the entries after it.
    """
    replicas = context.store
    if not isinstance(replicas, SupportsReplicas):
        return await _redeliver_to(replicas.name, replicas, context, all_of_them=all_of_them)
    primary = find_primary(replicas, context.require_governance().journal)
    flags = await asyncio.gather(
        *(
            _redeliver_to(name, replicas.replica(name), context, all_of_them=all_of_them)
            for name in replicas.replica_names
            if name != primary
        )
    )
    await mark_lagging(replicas, context)
    return all(flags)


async def mark_lagging(replicas: SupportsReplicas, context: Context) -> frozenset[str]:
    """Mark and return the replicas with pending outbox entries: later changes wait for those."""
    behind = await context.require_governance().journal.find_lagging(context.clock() - _IN_FLIGHT_MS)
    lagging = behind & frozenset(replicas.replica_names)
    replicas.mark_lagging(lagging)
    return lagging


async def _redeliver_to(name: str, store: Store, context: Context, *, all_of_them: bool) -> bool:
    journal = context.require_governance().journal
    in_flight_since, after, is_blocked = context.clock() - _IN_FLIGHT_MS, 0, False
    while entries_due := await journal.list_outbox(name, after=after, limit=_PAGE):
        for entry in entries_due:
            if not (all_of_them or entry.tries or entry.at < in_flight_since):
                is_blocked = True  # later entries may depend on it
                continue
            if is_blocked or (not all_of_them and entry.due_at > context.clock()):
                return False
            if not await _deliver(entry, store, context):
                return False
        after = entries_due[-1].position
    return True


async def _deliver(pending: OutboxEntry, store: Store, context: Context) -> bool:
    journal = context.require_governance().journal
    try:
        (change,) = await embed_changes([pending.change], context)
        await store.write(change)
        entry = entry_of(pending.change, "paid", context)
    except (StoreError, EmbedderFailed) as error:
        # If the request never reached the store, the store did not fail, so the wait does not double.
        if not isinstance(error, StoreError) or error.asked:
            await journal.write(Act(outbox=(delay(pending, error.detail, context),)))
        return False
    except MemorywireError as refusal:  # the state of the store has changed: the change is no longer possible
        entry = replace(entry_of(pending.change, "lapsed", context, why=refusal.code), contents=())
    entry = replace(entry, at=context.clock())
    acknowledged = ((pending.store, pending.change.id),)
    with suppress(Conflict):  # another process was faster and has recorded it
        await journal.write(Act(entries=(entry,), acknowledged=acknowledged, if_pending=True))
    return True


async def write_off(change_id: str, why: str, context: Context, *, store: str | None = None) -> OutboxEntry:
    """Drop an outbox entry (of `store`, if several have it) for a person; the ledger records who and why."""
    journal = context.require_governance().journal
    entries = [entry for entry in await journal.list_outbox(store) if entry.change.id == change_id]
    if not entries:
        raise NotFound(f"no debt of change {change_id}", field="change_id", fix="see: memorywire debts")
    if len(entries) > 1:
        names = ", ".join(entry.store for entry in entries)
        raise InvalidRequest("several stores are owed that change", field="store", fix=f"name one of {names}")
    [pending] = entries
    reason = context.without_secrets(why)
    entry = entry_of(pending.change, "written_off", context, store=pending.store, why=reason)
    entry = replace(entry, contents=(), at=context.clock())
    await journal.write(Act(entries=(entry,), acknowledged=((pending.store, change_id),), if_pending=True))
    return pending


T = TypeVar("T")

Result: TypeAlias = CommitResult | Exception


class Write(Struct, frozen=True, gc=False):
    """A change, and the act that the journal records with it."""

    change: Change
    act: Act


class Transaction(Struct, frozen=True):
    """A unit of work over the store and the journal of a context; see the module docstring."""

    context: Context

    async def commit_one(self, change: Change, act: Act) -> CommitResult:
        """Commit one change with its act; raises the error that prevents it."""
        (result,) = await self.commit([Write(change, act)])
        if isinstance(result, Exception):
            raise result
        return result

    async def commit(self, writes: Sequence[Write]) -> list[Result]:
        """Commit the writes and return their results, in order; a failure affects only its own write.

        No two of the writes may touch the same memory. Raises when the embedder fails; then nothing is
        written.
        """
        context, store = self.context, self.context.store
        changes = await embed_changes([*map(attrgetter("change"), writes)], context)
        now = asyncio.get_running_loop().time
        if context.governance is None:
            start = now()
            sequences = await _write_unrecorded(store, changes)
            return self._build_results(changes, sequences, now() - start, context.names)
        journal = context.governance.journal
        if not journal.backend.shares(store):
            if isinstance(store, SupportsReplicas):
                return await gather_results(map(partial(self._commit_to_replicas, store), writes, changes))
            return await gather_results(map(self._commit_outbox_first, writes, changes))
        acts, group, act_results = [], list[Change](), {}
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
        results = self._build_results(group, sequences, now() - start, (store.name,))
        for at in sorted(act_results):
            results.insert(at, act_results[at])
        return results

    def _build_results(
        self,
        changes: Sequence[Change],
        sequences: Sequence[int | Exception],
        seconds: float,
        names: Sequence[str],
    ) -> list[Result]:
        """Build a result for each change from its commit sequence or its error; reports the duration.

        `names` are the names of the store or of its replicas.
        """
        context, results = self.context, list[Result]()
        for change, sequence in zip(changes, sequences, strict=True):
            if context.watching is not None:
                context.took(context.store.name, seconds)
            if isinstance(sequence, Exception):
                results.append(sequence)
            else:
                results.append(build_committed(change.id, count_memories(change), names))
        return results

    async def _commit_outbox_first(self, write: Write, change: Change) -> CommitResult:
        """Case 2: write an outbox entry, then the store, then the act with the acknowledgement."""
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
        return build_committed(change.id, count_memories(change), context.names)

    async def _commit_to_replicas(
        self, store: SupportsReplicas, write: Write, change: Change
    ) -> CommitResult:
        """Case 3: one replica decides; the others follow, now or later from the outbox."""
        context = self.context
        if change.erase and await self._erases_proposals_only(change):
            return await self._write_act_only(write)
        lagging = await mark_lagging(store, context)
        return await replicate(write.change, change, write.act, store, lagging, context)

    async def _defer(self, entry: OutboxEntry, act: Act, error: str) -> CommitResult:
        """Leave the change in the outbox for later delivery, because the store failed."""
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
    """Write the changes without a journal; returns the commit sequence or the error of each."""
    if len(changes) == 1 or not isinstance(store, SupportsBulkWrite):
        return await gather_results([store.write(change) for change in changes])
    try:
        return await store.write_many(changes)
    except MemorywireError as problem:
        return [problem] * len(changes)


async def gather_results(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """Run the coroutines concurrently; return the result of each, or the MemorywireError it raises."""
    several = [*works]
    if len(several) == 1:
        return await catch_each(several)
    return [*chain.from_iterable(await asyncio.gather(*(catch_each([work]) for work in several)))]


async def catch_each(works: Iterable[Coroutine[Any, Any, T]]) -> list[T | Exception]:
    """Run the coroutines in sequence; return the result of each, or the MemorywireError it raises."""
    results: list[T | Exception] = []
    for work in works:
        try:
            results.append(await work)
        except MemorywireError as problem:
            results.append(problem)
    return results


async def find_retractions(change: Change, context: Context) -> tuple[tuple[Scope, str], ...]:
    """Return scope and digest of every erased version, so that proposals with the same text are removed."""
    if not change.erase:
        return ()
    filter = Wanted(tenant=change.scope.tenant, agent=change.scope.agent)
    if not await context.require_governance().journal.count_proposals(filter):
        return ()
    return tuple({(record.scope, record.digest) for record in await _read_versions(change, context)})


async def _read_versions(change: Change, context: Context) -> list[Record]:
    """Read all versions of the memories the change erases; only live ones if the store has no history."""
    store = context.store
    if not isinstance(store, SupportsHistory):
        return list(await store.get(change.scope, change.erase))
    chains = [await store.history(change.scope, id) for id in change.erase]
    return [version.record for chain in chains for version in chain if version.record is not None]
