"""The journal of a memory: durable records about its changes, but never the memories themselves.

`Journal` is the interface. Other tables of the same database have separate classes that take a journal:
`operators`, `webhooks`, `definitions`, `ingest_queue`, `runs`. A backend (`journal.backend`) runs the
transactions.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal import acts, ledger, recall_log
from memorywire.journal.acts import Act, Edition, Known, Wanted
from memorywire.journal.backend import JournalBackend, Session, Work, bind_scope
from memorywire.journal.entries import Entry, build_draft
from memorywire.journal.ledger import Event, Filters, Person, Row, RowKey
from memorywire.journal.recall_log import RecallBuffer
from memorywire.journal.signer import Signer
from memorywire.model.change import Change
from memorywire.model.clock import Clock
from memorywire.model.errors import StoreError
from memorywire.model.proposal import ORIGIN, OutboxEntry, Proposal, RecallNote
from memorywire.model.record import Json, Scope

if TYPE_CHECKING:
    from memorywire.journal.state import StateReport


class Queue(Struct, frozen=True, kw_only=True):
    """The number of waiting items, and the time since which the oldest one waits (None if there is none)."""

    count: int = 0
    since: int | None = None

    def age(self, now: int) -> float:
        """Return how many seconds the oldest item has waited; 0 when nothing waits."""
        return 0.0 if self.since is None else max(0, now - self.since) / 1000


class Status(Struct, frozen=True, kw_only=True):
    """Counts over all tenants: ledger entries, unsigned entries, waiting proposals, outbox entries per
    store, webhooks whose last delivery failed, and dead letters (events whose delivery was given up)."""

    entries: int
    unsigned: Queue
    proposals: Queue
    outbox: Mapping[str, Queue]
    webhooks_failing: int
    dead_letters: int


def read_status(db: Session) -> Status:
    unsigned, since = ledger.count_unsigned(db)
    ((waiting, first),) = db.rows("waiting_proposals_status")
    ((failing, dead),) = db.rows("webhooks_status")
    return Status(
        entries=ledger.read_head(db)[0],
        unsigned=Queue(count=unsigned, since=since),
        proposals=Queue(count=waiting, since=first),
        outbox={store: Queue(count=count, since=at) for store, count, at in db.rows("outbox_status")},
        webhooks_failing=failing,
        dead_letters=dead,
    )


T = TypeVar("T")

_LAST_SECONDS = 0.5  # how long `close` waits for another process that is signing
EVERY_AGENT = "*"  # the agent of ledger entries that are about no single agent
_CHECK_EVERY = 64  # number of writes between two checks whether a signature is due


class Journal:
    """The ledger, proposals, outbox, rules, register and recall log of a memory, in one database.

    `signer` signs the ledger; it is None for a journal without a file.
    """

    def __init__(self, backend: JournalBackend, *, signer: Signer | None, clock: Clock) -> None:
        """Use a database whose tables exist already; `open_journal` creates them."""
        self.backend = backend
        self.signer = signer
        self._clock = clock
        path = backend.path
        name = None if path is None else path.with_name(f"{path.name}-recalls-{os.getpid()}-{id(self):x}")
        self._buffer = RecallBuffer(name)
        self._writes = 0
        self._signing: asyncio.Task[object] | None = None
        backend.add_buffer(self._buffer)

    async def write(self, act: Act, change: Change | None = None) -> int:
        """Commit an act, with `change` if its store shares this database; return the commit sequence or 0."""
        if change is not None:
            [result] = await self.commit([act], [change])
            if isinstance(result, Exception):
                raise result
            return result
        if act.erased:
            await self.settle()  # a recall in the buffer may name the user whom this erases
        prepared = acts.PreparedActs([act])
        await self.backend.write(lambda db: prepared.write(db, (0,)))
        self._count(1)
        return 0

    def commit(self, several: Sequence[Act], changes: Sequence[Change]) -> Awaitable[list[int | Exception]]:
        """Commit each change with its act, in order; return for each its commit sequence or its error.

        An error affects only its own change. The store of the changes must share this database.
        """
        self._count(len(changes))
        if any(map(attrgetter("erased"), several)):
            return self._settle_and_commit(several, changes)
        return self.backend.commit(changes, acts.PreparedActs(several).write)

    async def _settle_and_commit(
        self, several: Sequence[Act], changes: Sequence[Change]
    ) -> list[int | Exception]:
        await self.settle()  # a recall in the buffer may name the user whom this erases
        return await self.backend.commit(changes, acts.PreparedActs(several).write)

    async def write_with_entry(
        self, work: Work[T], entry: Entry, changed: Work[Sequence[RowKey]] = lambda _: ()
    ) -> T:
        """Run `work`, append its entry with the digests of the rows it `changed`, and return its result.

        A result of False means that `work` changed nothing: then no entry is appended.
        """
        draft = build_draft(entry)

        def work_and_append(db: Session) -> T:
            result = work(db)
            if result is not False:
                ledger.append_with_rows(db, [draft], changed(db))
            return result

        result = await self.backend.write(work_and_append)
        self._count(1)
        return result

    def _count(self, writes: int) -> None:
        """Count writes, and every `_CHECK_EVERY` writes start a task that signs the ledger if that is due."""
        checks = self._writes // _CHECK_EVERY
        self._writes += writes
        idle = self._signing is None or self._signing.done()
        if idle and self.signer is not None and self._writes // _CHECK_EVERY > checks:
            self._signing = asyncio.create_task(ledger.sign_if_due(self.backend, self.signer, self._clock()))

    async def sign(self, *, rotate: bool = False) -> str | None:
        """Sign the current ledger; return the note, or None if the ledger is empty or there is no signer.

        With `rotate`, the signer switches to a new key.
        """
        return None if self.signer is None else await ledger.sign(self.backend, self.signer, rotate=rotate)

    async def audit(self, work: Work[T]) -> T:
        """Run a function of `journal.audit` in one snapshot, after all buffered recalls are in the ledger."""
        await self.settle()
        return await self.backend.read(work)

    def note_recall(self, recall: RecallNote) -> None:
        """Add a recall to the buffer, which survives a crash of the process; the ledger gets it soon."""
        self.backend.collect(partial(self._buffer.add, recall))

    async def settle(self) -> None:
        """Wait until all recalls noted so far are in the ledger."""
        if self._buffer:
            await self.backend.write(_do_nothing)

    async def find_proposal(self, tenant: str, id: str) -> Proposal | None:
        return await self._find_proposal("proposal", tenant=tenant, id=id)

    async def list_proposals(self, filters: Wanted) -> list[Proposal]:
        statement = "proposals_by_risk" if filters.by_risk else "proposals"
        return await self._find_proposals(statement, **acts.bind_filter(filters))

    async def count_proposals(self, filters: Wanted) -> int:
        return int(await self._value("count_proposals", acts.bind_filter(filters)))

    async def list_overdue(self, now: int) -> list[Proposal]:
        """Return the waiting proposals whose deadline has passed."""
        return await self._find_proposals("overdue_proposals", now=now)

    async def list_expired_early(self, now: int) -> list[Proposal]:
        """Return proposals that were closed as expired although `now` is before their deadline."""
        return await self._find_proposals("proposals_expired_early", now=now)

    async def find_by_key(self, scope: Scope, key: str) -> Proposal | None:
        """The proposal that used this idempotency key in the scope's agent."""
        return await self._find_proposal("proposal_by_key", **bind_scope(scope), key=key)

    async def find_waiting(self, scope: Scope, digest: str) -> Proposal | None:
        """Return the waiting proposal of exactly this scope that would put the same words."""
        return await self._find_proposal("waiting_proposal_by_digest", **bind_scope(scope), digest=digest)

    async def read_words_key(self) -> bytes:
        """Return the key for the digests of words; creates it on first use."""
        key = await self.backend.read(acts.read_hash_key)
        if key is not None:
            return key
        return await self.backend.write(partial(acts.make_hash_key, entropy=os.urandom))

    async def read_rejected_position(self) -> tuple[int, int]:
        """A value that changes whenever words are rejected or accepted."""
        [(count, last)] = await self._rows("rejected_words_position")
        return int(count), int(last)

    async def list_rejected_digests(self) -> frozenset[bytes]:
        """The digests of all words that people rejected."""
        return frozenset(bytes(digest) for (digest,) in await self._rows("rejected_words"))

    async def find_proposed(self, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
        """Return those of the ids that a stored proposal of this scope, decided or not, refers to."""
        return await self.backend.read(partial(acts.find_proposed, scope=scope, ids=ids))

    async def drop_queries(self, before: int) -> None:
        """Delete the query texts of recalls before that time; the recalls themselves stay in the log."""
        if await self._value("old_queries", {"before": before}):
            await self.backend.write(partial(recall_log.drop_queries, before=before))

    async def verify_state(self) -> "StateReport":
        """Compare the part of the state that is due with the ledger, and store how far the comparison got."""
        from memorywire.journal.state import keep_verified, verify_state

        await self.settle()
        now = self._clock()
        report, full = await self.backend.read(partial(verify_state, now=now))
        if not self.backend.read_only:
            await self.backend.write(partial(keep_verified, report=report, now=now, full=full))
        return report

    async def forget_person(self, person: Person, *, actor: str, at: int) -> bool:
        """Replace a user's id by a mark in all rows; False, and no change, while content of theirs exists."""
        await self.settle()
        scope = Scope(agent=EVERY_AGENT, user=person[1], tenant=person[0])
        entry = Entry(at=at, operation="erase", scope=scope, actor=actor, kind="renamed")
        forgotten = await self.backend.write(
            partial(acts.forget_person, person=person, drafts=[build_draft(entry)])
        )
        self._count(1)
        return forgotten

    async def list_outbox(
        self, store: str | None = None, *, after: int = 0, limit: int | None = None
    ) -> list[OutboxEntry]:
        """Return the changes that stores have not written yet, oldest first, after position `after`."""
        return await self.backend.read(partial(acts.list_outbox, store=store, after=after, limit=limit))

    async def find_lagging(self, left: int) -> frozenset[str]:
        """Return the stores with an outbox entry that has failed, or that is pending since before `left`."""
        return frozenset(store for (store,) in await self._rows("lagging_stores", {"left": left}))

    async def find_registered(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
        """Return the register's rows of these memories; ids that are not registered are left out."""
        return await self.backend.read(partial(acts.find_registered, tenant=tenant, ids=ids))

    async def find_edition(self, tenant: str) -> Edition | None:
        """Return the rules of a tenant that are in force, or None if none were ever set."""
        editions = await self.backend.read(partial(acts.list_editions, tenant=tenant, limit=1))
        return next(iter(editions), None)

    async def list_editions(self, tenant: str) -> list[Edition]:
        return await self.backend.read(partial(acts.list_editions, tenant=tenant, limit=-1))

    async def list_ruled(self, tenant: str, rule: str) -> Sequence[tuple[Scope, str]]:
        """Return the changes of a tenant that this rule let pass, newest first."""
        rows = await self._rows("ruled_changes", {"tenant": tenant, "rule": rule})
        return [
            (Scope(tenant=tenant, agent=agent, user=user), change) for tenant, agent, user, change in rows
        ]

    async def list_loans(self, tenant: str) -> Sequence[acts.Loan]:
        """Return (borrower, lender, id) of every grant that was ever given in the tenant."""
        rows = await self._rows("loans", {"tenant": tenant})
        return [(borrower, lender, id) for borrower, lender, id in rows]

    async def find_recall(self, tenant: str, id: str) -> RecallNote | None:
        await self.settle()
        return await self.backend.read(partial(recall_log.find_recall, tenant=tenant, id=id))

    async def list_recalls(
        self,
        tenant: str,
        *,
        agent: str | None = None,
        user: str | None = None,
        memory: str | None = None,
        origin: Mapping[str, str | None] = {},
        before: str | None = None,
        limit: int,
    ) -> list[RecallNote]:
        """Return the newest recalls, those before the recall with the id `before` if given.

        `memory` selects recalls that returned this memory, `origin` a session, run and trace.
        """
        await self.settle()
        quoted = None if memory is None else json.dumps(memory)
        filters = {"tenant": tenant, "agent": agent, "user": user, "quoted": quoted}
        page = {"before": before, "limit": limit, **dict.fromkeys(ORIGIN), **origin}
        return await self.backend.read(partial(recall_log.list_recalls, filters=filters | page))

    async def count_recalled(
        self, tenant: str, since: int, *, agent: str | None = None, caller: str | None = None
    ) -> list[tuple[int, int]]:
        """Return (time, number of hits) of the recalls by an agent or a caller since then, oldest first."""
        await self.settle()
        filters = {"tenant": tenant, "agent": agent, "caller": caller, "since": since}
        return [(at, count) for at, count in await self._rows("recall_counts", filters)]

    async def find_entries(self, tenant: str, subject: str) -> list[dict[str, Json]]:
        """The ledger's entries about a change, a proposal or a recall, newest first."""
        return [row.said for row in await self.find_entries_about(tenant, subject)]

    async def find_entries_about(self, tenant: str, subject: str) -> list[Row]:
        """Like `find_entries`, but return rows of the ledger."""
        await self.settle()
        return await self.backend.read(partial(ledger.find_entries_about, tenant=tenant, subject=subject))

    async def filter_entries(
        self, filters: Filters, *, before: int | None = None, limit: int | None = None
    ) -> list[Row]:
        """The ledger's entries that match, newest first; `before` is the last of the previous page."""
        await self.settle()
        work = partial(ledger.filter_entries, filters=filters, before=before, limit=limit)
        return await self.backend.read(work)

    async def find_entry(self, sequence: int) -> Row | None:
        """One entry of the ledger by its number."""
        await self.settle()
        return await self.backend.read(partial(ledger.find_entry, sequence=sequence))

    async def count_operations_by_day(self, tenant: str, newest: int) -> list[tuple[int, str, int]]:
        """Count the operations among the newest entries, as (days since the epoch, operation, count)."""
        return await self.backend.read(partial(ledger.count_operations_by_day, tenant=tenant, newest=newest))

    async def read_last_sequence(self) -> int:
        """The number of the newest entry of the ledger."""
        return await self.backend.read(ledger.read_last_sequence)

    async def find_events(self, after: int, *, tenant: str | None, limit: int) -> tuple[list[Event], int]:
        """Return the next events after an entry, and the sequence number to continue from."""
        return await self.backend.read(partial(ledger.find_events, after=after, tenant=tenant, limit=limit))

    async def read_status(self) -> Status:
        """Return the counts of waiting items of all tenants together; see `Status`."""
        return await self.backend.read(read_status)

    async def list_tenants(self) -> list[str]:
        """Every tenant whose memory ever changed or was to be changed, by name."""
        return await self.backend.read(ledger.list_tenants)

    async def count_waiting(self, tenant: str) -> Mapping[str, int]:
        """Count the proposals of each agent that wait for review; agents without any are left out."""
        rows = await self._rows("waiting_by_agent", {"tenant": tenant})
        return {str(agent): int(count) for agent, count in rows}

    @property
    def heard(self) -> int:
        """How many commits of other processes the database has announced; a file announces none."""
        return self.backend.heard

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        """Wait until more than `heard` commits are announced, or `seconds` if the database announces none."""
        await self.backend.wait_for_news(heard, seconds)

    async def close(self) -> None:
        """Write the buffer and sign unsigned entries; the store that shares a file closes that file.

        Store errors are suppressed, since every caller already has its answer: recalls that cannot be written
        stay in the buffer's file for the next process, and unsigned entries are signed with the next ones.
        """
        self.backend.hurry()
        if self._signing is not None:
            with suppress(StoreError):
                await self._signing
        with suppress(StoreError):
            await self.settle()
        if self.signer is not None and self._writes:
            with suppress(StoreError):
                await ledger.sign(self.backend, replace(self.signer, seconds=_LAST_SECONDS))
        await self.backend.close()
        self._buffer.close()

    async def _find_proposal(self, statement: str, **bindings: object) -> Proposal | None:
        return next(iter(await self._find_proposals(statement, **bindings)), None)

    async def _find_proposals(self, statement: str, **bindings: object) -> list[Proposal]:
        return await self.backend.read(partial(acts.find_proposals, statement=statement, bindings=bindings))

    async def _rows(self, statement: str, bindings: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return await self.backend.read(lambda db: db.rows(statement, bindings or {}))

    async def _value(self, statement: str, bindings: Mapping[str, Any]) -> Any:
        return await self.backend.read(lambda db: db.value(statement, bindings))


def _do_nothing(_: Session) -> None:
    """An empty work: its transaction writes the buffer."""
