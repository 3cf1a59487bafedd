"""The journal of a memory: what must not be lost about changes, and never the memories themselves.

`Journal` has the verbs. Other subjects that are rows of the same database have classes of their own over a
journal: `operators`, `webhooks`, `definitions`, `ingest_queue`, `runs`. A backend (`journal.backend`) runs
the transactions.
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
    """How many wait, and since when the first of them does."""

    count: int = 0
    since: int | None = None

    def age(self, now: int) -> float:
        """How many seconds the first has waited; 0 when nothing waits."""
        return 0.0 if self.since is None else max(0, now - self.since) / 1000


class Status(Struct, frozen=True, kw_only=True):
    """Of all tenants together: entries of the ledger, those not signed yet, waiting proposals,
    outbox entries of each store, webhooks whose last try failed, and events that were given up."""

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

_LAST_SECONDS = 0.5  # to wait for another process that signs, when this one ends
EVERY_AGENT = "*"  # in the ledger: what concerns no single agent
_CHECK_EVERY = 64  # writes between two checks whether a signature is due


class Journal:
    """The ledger, proposals, outbox, rules, register and recall log of a memory, in one database.

    `signer` signs the ledger; a journal that is in no file has none.
    """

    def __init__(self, backend: JournalBackend, *, signer: Signer | None, clock: Clock) -> None:
        """The tables must be there already: `open_journal` creates them."""
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
        """Commit an act, and the change with it, which only a store that shares can have; its sequence."""
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
        """Commit each change with its act, in order: the commit sequence of each, or what stood in its way.

        An error concerns its change alone. Only a store that shares can have the changes.
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
        """The result of `work`, with an entry about it and the digests of the rows that it `changed`.

        A work that gives False did nothing, and gets no entry.
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
        """Count what was written, and have it signed now and then."""
        checks = self._writes // _CHECK_EVERY
        self._writes += writes
        idle = self._signing is None or self._signing.done()
        if idle and self.signer is not None and self._writes // _CHECK_EVERY > checks:
            self._signing = asyncio.create_task(ledger.sign_if_due(self.backend, self.signer, self._clock()))

    async def sign(self, *, rotate: bool = False) -> str | None:
        """Sign the ledger as it is; the note, or None when there is nothing to sign or no signer.

        With `rotate` the signer goes on with a new key.
        """
        return None if self.signer is None else await ledger.sign(self.backend, self.signer, rotate=rotate)

    async def audit(self, work: Work[T]) -> T:
        """The result of a function of `journal.audit` in one snapshot, once all recalls are in the ledger."""
        await self.settle()
        return await self.backend.read(work)

    def note_recall(self, recall: RecallNote) -> None:
        """Add to the recall log: safe against the end of this process at once, in the ledger soon after."""
        self.backend.collect(partial(self._buffer.add, recall))

    async def settle(self) -> None:
        """Wait until everything noted so far is in the ledger."""
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
        """Proposals that waited too long."""
        return await self._find_proposals("overdue_proposals", now=now)

    async def list_expired_early(self, now: int) -> list[Proposal]:
        """Proposals that were closed as expired, and would not be yet by this clock."""
        return await self._find_proposals("proposals_expired_early", now=now)

    async def find_by_key(self, scope: Scope, key: str) -> Proposal | None:
        """The proposal that used this idempotency key in the scope's agent."""
        return await self._find_proposal("proposal_by_key", **bind_scope(scope), key=key)

    async def find_waiting(self, scope: Scope, digest: str) -> Proposal | None:
        """The waiting proposal of exactly this scope that would put the same words."""
        return await self._find_proposal("waiting_proposal_by_digest", **bind_scope(scope), digest=digest)

    async def read_words_key(self) -> bytes:
        """The key under which words are digested; made when it is first needed."""
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
        """Those of the ids that a proposal of this scope, decided or not, still says something about."""
        return await self.backend.read(partial(acts.find_proposed, scope=scope, ids=ids))

    async def drop_queries(self, before: int) -> None:
        """Forget what recalls before that moment asked; that they were made stays known."""
        if await self._value("old_queries", {"before": before}):
            await self.backend.write(partial(recall_log.drop_queries, before=before))

    async def verify_state(self) -> "StateReport":
        """Compare the state with the ledger as far as it is due, and remember how far that was."""
        from memorywire.journal.state import keep_verified, verify_state

        await self.settle()
        now = self._clock()
        report, full = await self.backend.read(partial(verify_state, now=now))
        if not self.backend.read_only:
            await self.backend.write(partial(keep_verified, report=report, now=now, full=full))
        return report

    async def forget_person(self, person: Person, *, actor: str, at: int) -> bool:
        """Take the id of a user out of every row that stays; False while something they said is kept."""
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
        """The outbox: changes that stores have still to write, oldest first, behind the position `after`."""
        return await self.backend.read(partial(acts.list_outbox, store=store, after=after, limit=limit))

    async def find_lagging(self, left: int) -> frozenset[str]:
        """The stores with an outbox entry that failed before, or is pending since before `left`."""
        return frozenset(store for (store,) in await self._rows("lagging_stores", {"left": left}))

    async def find_registered(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
        """What the register says of these memories; a memory that it does not have is left out."""
        return await self.backend.read(partial(acts.find_registered, tenant=tenant, ids=ids))

    async def find_edition(self, tenant: str) -> Edition | None:
        """The rules of a tenant in force, if a person ever gave it any."""
        editions = await self.backend.read(partial(acts.list_editions, tenant=tenant, limit=1))
        return next(iter(editions), None)

    async def list_editions(self, tenant: str) -> list[Edition]:
        return await self.backend.read(partial(acts.list_editions, tenant=tenant, limit=-1))

    async def list_ruled(self, tenant: str, rule: str) -> Sequence[tuple[Scope, str]]:
        """The changes of a tenant that this rule let pass, newest first."""
        rows = await self._rows("ruled_changes", {"tenant": tenant, "rule": rule})
        return [
            (Scope(tenant=tenant, agent=agent, user=user), change) for tenant, agent, user, change in rows
        ]

    async def list_loans(self, tenant: str) -> Sequence[acts.Loan]:
        """Borrower, lender and id of every grant that was ever given in the tenant."""
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
        """The newest recalls, before the one of that id.

        Only those that handed out `memory`, and of the session, run and trace of `origin`, if named.
        """
        await self.settle()
        quoted = None if memory is None else json.dumps(memory)
        filters = {"tenant": tenant, "agent": agent, "user": user, "quoted": quoted}
        page = {"before": before, "limit": limit, **dict.fromkeys(ORIGIN), **origin}
        return await self.backend.read(partial(recall_log.list_recalls, filters=filters | page))

    async def count_recalled(
        self, tenant: str, since: int, *, agent: str | None = None, caller: str | None = None
    ) -> list[tuple[int, int]]:
        """When an agent's recalls, or a caller's, handed memories out since then, and how many; in order."""
        await self.settle()
        filters = {"tenant": tenant, "agent": agent, "caller": caller, "since": since}
        return [(at, count) for at, count in await self._rows("recall_counts", filters)]

    async def find_entries(self, tenant: str, subject: str) -> list[dict[str, Json]]:
        """The ledger's entries about a change, a proposal or a recall, newest first."""
        return [row.said for row in await self.find_entries_about(tenant, subject)]

    async def find_entries_about(self, tenant: str, subject: str) -> list[Row]:
        """As `find_entries`, as rows of the ledger."""
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
        """How often each operation is among the newest entries, as (days since the epoch, operation,
        count).
        """
        return await self.backend.read(partial(ledger.count_operations_by_day, tenant=tenant, newest=newest))

    async def read_last_sequence(self) -> int:
        """The number of the newest entry of the ledger."""
        return await self.backend.read(ledger.read_last_sequence)

    async def find_events(self, after: int, *, tenant: str | None, limit: int) -> tuple[list[Event], int]:
        """The next events behind an entry, and where to go on."""
        return await self.backend.read(partial(ledger.find_events, after=after, tenant=tenant, limit=limit))

    async def read_status(self) -> Status:
        """How much waits, and since when, of all tenants together."""
        return await self.backend.read(read_status)

    async def list_tenants(self) -> list[str]:
        """Every tenant whose memory ever changed or was to be changed, by name."""
        return await self.backend.read(ledger.list_tenants)

    async def count_waiting(self, tenant: str) -> Mapping[str, int]:
        """How many proposals of each agent wait for a person; agents without any are left out."""
        rows = await self._rows("waiting_by_agent", {"tenant": tenant})
        return {str(agent): int(count) for agent, count in rows}

    @property
    def heard(self) -> int:
        """How many commits of other processes the database has announced; a file announces none."""
        return self.backend.heard

    async def wait_for_news(self, heard: int, seconds: float) -> None:
        """Wait until more than `heard` is announced; `seconds` where nothing is."""
        await self.backend.wait_for_news(heard, seconds)

    async def close(self) -> None:
        """Write what is in the buffer and sign what is not signed; a shared file is closed by its store.

        Every caller has its answer already, so nothing fails here: recalls that cannot be written stay in the
        buffer's file for the next process, and entries that cannot be signed are signed with the next ones.
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
    """A work that only takes along what is in the buffer."""
