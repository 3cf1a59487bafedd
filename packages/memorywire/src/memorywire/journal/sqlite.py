"""The journal in SQLite: beside the memories, so that a change and its ledger entry are one transaction, or
in a file of its own when the memories live elsewhere."""

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import apsw
from msgspec.structs import replace

from memorywire.journal import ledger, operators, people, register, rejected
from memorywire.journal.contract import Act, Edition, Known, Wanted
from memorywire.journal.entries import Entry, draft, drafts
from memorywire.journal.ledger import Person
from memorywire.journal.recall_buffer import RecallBuffer
from memorywire.journal.rows import (
    QUERIES,
    debt_from,
    edition_from,
    proposal_from,
    recall_from,
    wanted_row,
)
from memorywire.journal.sealing import seal, seal_if_due
from memorywire.journal.signer import Notary
from memorywire.journal.write_act import Prepared, apply_apart, apply_together
from memorywire.model.change import Change
from memorywire.model.clock import Clock
from memorywire.model.errors import StoreError, StoreUnavailable
from memorywire.model.proposal import Debt, Proposal, RecallNote
from memorywire.model.record import Json, Scope
from memorywire.stores.contract import Store
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.apply import is_brief
from memorywire.stores.sqlite.file import SqliteFile, owe_scrub
from memorywire.stores.sqlite.rows import scope_row
from memorywire.stores.sqlite.writer import Work

if TYPE_CHECKING:  # proofs are loaded by those who ask for one
    from memorywire.journal.state import StateReport

T = TypeVar("T")

_LAST_SECONDS = 0.5  # to wait for another process that signs, when this one ends
EVERY_AGENT = "*"  # in the ledger: what concerns no single agent
_LOOK_EVERY = 64  # writes between two looks whether a signature is due


class SqliteJournal:
    """Satisfies Journal. `store` is the store that shares this file, if one does."""

    def __init__(
        self, file: SqliteFile, *, store: SqliteStore | None, notary: Notary | None, clock: Clock
    ) -> None:
        """The tables must be there already: `open_journal` sees to it."""
        self.file = file
        self.notary = notary
        self._store = store
        self._clock = clock
        path = file.location.path
        name = None if path is None else path.with_name(f"{path.name}-recalls-{os.getpid()}-{id(self):x}")
        self._spool = RecallBuffer(name)
        self._written = 0
        self._sealing: asyncio.Task[object] | None = None
        file.defer(self._spool)

    def shares(self, store: Store) -> bool:
        return store is self._store

    async def write(self, act: Act, change: Change | None = None) -> int:
        if act.erased:
            await self.settle()  # a recall that is noted and not yet written may name whom this erases
        prepared = Prepared(
            act=act,
            drafts=[draft(entry) for entry in act.entries],
            apply=self._store.applying(change) if change is not None and self._store is not None else None,
        )
        brief = change is not None and is_brief(change)
        sequence = await self.file.write(prepared.write, brief=brief)
        self._count(1)
        return sequence

    async def write_by(self, work: Work[T]) -> T:
        """The answer of `work`, which writes entries of its own: they are signed like others."""
        done = await self.file.write(work)
        self._count(1)
        return done

    async def write_many(self, changes: Sequence[Change], entries: Sequence[Entry]) -> list[int | Exception]:
        store = self._store
        if store is None:
            raise StoreUnavailable(
                "the journal has no store in its file, so no change can be written with it"
            )
        drafted = drafts(entries)
        del entries  # a group of them is many values for the collector to look at while it is written
        apart = partial(apply_apart, store=store, changes=changes, drafts=drafted)
        apply = store.applying_each(changes)
        together = apart if apply is None else partial(apply_together, apply=apply, drafts=drafted)
        done = await self.file.write(together, len(changes), alone=apart)
        self._count(len(changes))
        return done

    def _count(self, written: int) -> None:
        """Count what was written, and have it signed now and then."""
        looked = self._written // _LOOK_EVERY
        self._written += written
        idle = self._sealing is None or self._sealing.done()
        if idle and self.notary is not None and self._written // _LOOK_EVERY > looked:
            self._sealing = asyncio.create_task(seal_if_due(self.file, self.notary, self._clock()))

    def note(self, recall: RecallNote) -> None:
        self.file.later(partial(self._spool.add, recall))

    async def settle(self) -> None:
        if self._spool:
            await self.file.write(_nothing)

    async def proposal(self, tenant: str, id: str) -> Proposal | None:
        return await self._one("proposal", tenant=tenant, id=id)

    async def proposals(self, wanted: Wanted) -> list[Proposal]:
        return await self._many("proposals_by_risk" if wanted.by_risk else "proposals", **wanted_row(wanted))

    async def count(self, wanted: Wanted) -> int:
        return await self.file.read(
            lambda db: int(db.execute(QUERIES["count_proposals"], wanted_row(wanted)).get)
        )

    async def overdue(self, now: int) -> list[Proposal]:
        return await self._many("overdue_proposals", now=now)

    async def expired_early(self, now: int) -> list[Proposal]:
        return await self._many("expired_early", now=now)

    async def keyed(self, scope: Scope, key: str) -> Proposal | None:
        return await self._one("held_by_key", **scope_row(scope), key=key)

    async def held(self, scope: Scope, digest: str) -> Proposal | None:
        return await self._one("held_by_digest", **scope_row(scope), digest=digest)

    async def words_key(self) -> bytes:
        key = await self.file.read(operators.key)
        if key is not None:
            return key
        return await self.file.write(partial(operators.make_key, entropy=os.urandom))

    async def rejected_mark(self) -> tuple[int, int]:
        return await self.file.read(rejected.mark)

    async def rejected_digests(self) -> frozenset[bytes]:
        return await self.file.read(rejected.digests)

    async def proposed(self, scope: Scope, ids: Sequence[str]) -> frozenset[str]:
        wanted = scope_row(scope) | {"ids": json.dumps(list(ids))}
        return await self.file.read(
            lambda db: frozenset(id for (id,) in db.execute(QUERIES["proposed"], wanted))
        )

    async def drop_queries(self, before: int) -> None:
        if await self.file.read(lambda db: bool(db.execute(QUERIES["old_queries"], {"before": before}).get)):
            await self.file.write(partial(_drop_queries, before=before))

    async def verify_state(self) -> "StateReport":
        """Compare the state with the ledger as far as it is due, and remember how far that was."""
        from memorywire.journal.state import keep_verified, verify_state

        await self.settle()
        now = self._clock()
        report, full = await self.file.read(partial(verify_state, now=now))
        if not self.file.read_only:
            await self.file.write(partial(keep_verified, report=report, now=now, full=full))
        return report

    async def forget_person(self, person: Person, *, actor: str, at: int) -> bool:
        """Take the id of a user out of every row that stays; False while something they said is kept."""
        await self.settle()
        scope = Scope(agent=EVERY_AGENT, user=person[1], tenant=person[0])
        entry = Entry(at=at, operation="erase", scope=scope, actor=actor, kind="renamed")
        return await self.write_by(partial(people.forget, person=person, drafts=[draft(entry)]))

    async def debts(
        self, store: str | None = None, *, after: int = 0, limit: int | None = None
    ) -> list[Debt]:
        return await self.file.read(lambda db: owed(db, store, after=after, limit=limit))

    async def behind(self, left: int) -> frozenset[str]:
        def work(db: apsw.Connection) -> frozenset[str]:
            return frozenset(store for (store,) in db.execute(QUERIES["stores_behind"], {"left": left}))

        return await self.file.read(work)

    async def known(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Known]:
        return await self.file.read(lambda db: register.known(db, tenant, ids))

    async def edition(self, tenant: str) -> Edition | None:
        return next(iter(await self._editions(tenant, 1)), None)

    async def editions(self, tenant: str) -> list[Edition]:
        return await self._editions(tenant, -1)

    async def ruled(self, tenant: str, rule: str) -> Sequence[tuple[Scope, str]]:
        def work(db: apsw.Connection) -> list[tuple[Scope, str]]:
            found = db.execute(QUERIES["ruled"], {"tenant": tenant, "rule": rule})
            return [
                (Scope(tenant=tenant, agent=agent, user=user), change)
                for tenant, agent, user, change in found
            ]

        return await self.file.read(work)

    async def recall(self, tenant: str, id: str) -> RecallNote | None:
        await self.settle()

        def work(db: apsw.Connection) -> RecallNote | None:
            row = db.execute(QUERIES["recall"], {"tenant": tenant, "id": id}).fetchone()
            return None if row is None else recall_from(row)

        return await self.file.read(work)

    async def recalls(
        self,
        tenant: str,
        *,
        agent: str | None = None,
        user: str | None = None,
        memory: str | None = None,
        before: str | None = None,
        limit: int,
    ) -> list[RecallNote]:
        await self.settle()
        quoted = None if memory is None else json.dumps(memory)
        asked = {"tenant": tenant, "agent": agent, "user": user, "quoted": quoted}
        wanted = asked | {"before": before, "limit": limit}
        return await self.file.read(
            lambda db: [recall_from(row) for row in db.execute(QUERIES["recalls"], wanted)]
        )

    async def about(self, tenant: str, subject: str) -> list[dict[str, Json]]:
        await self.settle()
        found = await self.file.read(partial(ledger.about, tenant=tenant, subject=subject))
        return [row.said for row in found]

    async def waiting(self, tenant: str) -> Mapping[str, int]:
        def work(db: apsw.Connection) -> dict[str, int]:
            return {
                str(agent): int(count) for agent, count in db.execute(QUERIES["waiting"], {"tenant": tenant})
            }

        return await self.file.read(work)

    async def recalled(
        self, tenant: str, since: int, *, agent: str | None = None, caller: str | None = None
    ) -> list[tuple[int, int]]:
        await self.settle()
        wanted = {"tenant": tenant, "agent": agent, "caller": caller, "since": since}
        return await self.file.read(
            lambda db: [(at, count) for at, count in db.execute(QUERIES["handed_out"], wanted)]
        )

    @property
    def heard(self) -> int:
        """How many commits of other processes were announced; a file announces none."""
        return 0

    async def news(self, heard: int, seconds: float) -> None:
        """Wait until more than that is heard; a file announces nothing, so just wait."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Write what is noted and sign what is not signed; a shared file is closed by its store.

        Everything was answered already, so nothing fails here: notes that cannot be written stay in the spool
        for the next process, and entries that cannot be signed are signed with the next ones.
        """
        self.file.hurry()
        if self._sealing is not None:
            with suppress(StoreError):
                await self._sealing
        with suppress(StoreError):
            await self.settle()
        if self.notary is not None and self._written:
            with suppress(StoreError):
                await seal(self.file, replace(self.notary, seconds=_LAST_SECONDS))
        if self._store is None:
            await self.file.close()
        self._spool.close()

    async def _one(self, query: str, **wanted: object) -> Proposal | None:
        return next(iter(await self._many(query, **wanted)), None)

    async def _many(self, query: str, **wanted: object) -> list[Proposal]:
        return await self.file.read(
            lambda db: [proposal_from(row) for row in db.execute(QUERIES[query], wanted)]
        )

    async def _editions(self, tenant: str, limit: int) -> list[Edition]:
        wanted = {"tenant": tenant, "limit": limit}
        return await self.file.read(
            lambda db: [edition_from(row) for row in db.execute(QUERIES["editions"], wanted)]
        )


def owed(
    db: apsw.Connection, store: str | None = None, *, after: int = 0, limit: int | None = None
) -> list[Debt]:
    """What stores are owed, oldest first."""
    wanted = {"store": store, "after": after, "limit": -1 if limit is None else limit}
    return [debt_from(row) for row in db.execute(QUERIES["debts"], wanted)]


def _drop_queries(db: apsw.Connection, before: int) -> None:
    db.execute(QUERIES["drop_queries"], {"before": before})
    owe_scrub(db)


def _nothing(_: apsw.Connection) -> None:
    """A work that only takes along what is deferred."""
