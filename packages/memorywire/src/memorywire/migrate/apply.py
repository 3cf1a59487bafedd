"""Applies changes from elsewhere here, through the same corridor as everybody's.

They keep their ids and moments. What is there already is not done twice, so an import that was cut off is
finished by starting it again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.contract import Act
from memorywire.journal.entries import Entry
from memorywire.migrate.conflicts import OnConflict, Settling
from memorywire.migrate.existing import owners_of
from memorywire.migrate.names import derived
from memorywire.migrate.sanitize import (
    Clean,
    Trusting,
    as_untrusted,
    believed,
    cleaned,
    embedded,
    hold,
    weigh,
)
from memorywire.migrate.waiting import Waiting
from memorywire.model.change import Base, Change
from memorywire.model.errors import Duplicate, InvalidRequest, MemorywireError, StoreError
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.ledger import entry_of
from memorywire.pipeline.outbox import carry_out
from memorywire.policy.rules import Verdict
from memorywire.stores.sqlite import SqliteStore

GROUP = 128


class Landing(Struct, frozen=True, kw_only=True):
    """How changes land: in which tenant, as which batch, and what happens where an id is taken.

    `agents` and `users` give somebody's memories to somebody else, by name; `*` is everybody. `trusting`
    says how far each memory is trusted at most.
    """

    tenant: str
    batch: str
    on_conflict: OnConflict = OnConflict.SKIP
    agents: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    trusting: Trusting = as_untrusted


class Landed(Struct):
    """What became of the changes: `already` were there, `held` wait for a person, `problems` are others.

    `ended` would wait, had not a later change of the same import ended what they began.
    """

    batch: str
    changes: int = 0
    memories: int = 0
    already: int = 0
    conflicts: int = 0
    held: int = 0
    ended: int = 0
    refused: int = 0
    redacted: int = 0
    problems: list[dict[str, Json]] = field(default_factory=list)

    @property
    def seen(self) -> int:
        stayed_out = self.conflicts + self.held + self.ended + self.refused + len(self.problems)
        return self.changes + self.already + stayed_out


async def land(
    changes: AsyncIterator[Change],
    context: Context,
    landing: Landing,
    tell: Callable[[int], None] = lambda done: None,
) -> Landed:
    """Live through the changes, a group at a time. A failing store stops it, a failing change does not."""
    lander = _Lander(context, landing)
    try:
        async for group in _groups(changes):
            await lander.group(group)
            tell(lander.landed.seen)
        await lander.settled()
        await lander.reviewed()
    finally:
        await lander.halted()
    tell(lander.landed.seen)
    return lander.landed


async def _groups(changes: AsyncIterator[Change]) -> AsyncIterator[list[Change]]:
    group: list[Change] = []
    async for change in changes:
        group.append(change)
        if len(group) == GROUP:
            yield group
            group = []
    if group:
        yield group


class _Lander:
    def __init__(self, context: Context, landing: Landing) -> None:
        self._tools = context
        self._landing = landing
        self._settling = Settling(context, landing.on_conflict)
        self._waiting = Waiting(self._settling)
        self.landed = Landed(batch=landing.batch)
        self._writing: asyncio.Task[None] | None = None
        self._before: asyncio.Task[None] | None = None
        self._embedder = asyncio.Lock()

    async def group(self, group: Sequence[Change]) -> None:
        changes, known = await self._named([remapped(change, self._landing) for change in group])
        await self._settling.look(changes)
        pending: list[Change] = []
        for change in changes:
            if change.id in known:
                self.landed.already += 1
            elif not self._settling.concerns(change):
                pending.append(change)
            else:
                await self._flush(pending)
                pending = []
                await self._settle(change)
        await self._flush(pending)
        self._waiting.heard(changes)

    async def _named(self, changes: list[Change]) -> tuple[list[Change], Collection[str]]:
        """The changes, and the ids of those that are done; what others did gets a name of its own."""
        owners = await owners_of(changes, self._tools.store)
        foreign = {change.id for change in changes if owners.get(change.id) not in (None, change.scope.agent)}
        if not foreign:
            return changes, owners
        named = [
            replace(change, id=derived(change.id, change.scope.agent)) if change.id in foreign else change
            for change in changes
        ]
        return named, await owners_of(named, self._tools.store)

    async def _settle(self, change: Change) -> None:
        """Apply a change about memories that are in the way, as far as it can be done here."""
        await self.settled()  # it is decided by what is there
        settled = await self._settling.settle(change)
        if settled is None:
            self.landed.conflicts += 1
        else:
            await self._flush([settled])

    async def _flush(self, changes: Sequence[Change]) -> None:
        if not changes:
            return
        trusted: list[Change] = []
        for change in changes:
            weighed = await believed(change, self._tools, self._landing.trusting)
            if isinstance(weighed, MemorywireError):
                self._fault(weighed, change)
            else:
                trusted.append(weighed)
        ready = await asyncio.to_thread(cleaned, trusted, self._tools)
        allowed = [
            passed
            for clean in ready
            if isinstance(clean, Clean) and (passed := await self._passed(clean)) is not None
        ]
        for change, problem in zip(trusted, ready, strict=True):
            if isinstance(problem, MemorywireError):
                self._fault(problem, change)
        if self._landing.dry_run:
            self._count(allowed)
        elif allowed:
            await self._write(allowed)

    async def _passed(self, clean: Clean) -> Clean | None:
        """What policy lets pass; what it holds or refuses stays out, and so does what builds on that."""
        change = self._settling.standing(clean.change)
        if change is None:
            self.landed.conflicts += 1
            return None
        clean = replace(clean, change=change)
        verdict = await weigh(clean, self._tools)
        if verdict is Verdict.ALLOW:
            return clean
        self._settling.drop(change)
        if verdict is Verdict.REFUSE:
            self.landed.refused += 1
            return None
        try:
            proposal = None if self._landing.dry_run else await hold(clean, self._tools)
        except Duplicate:  # another memory says it here: nobody is asked for what is known
            self.landed.already += 1
            return None
        self.landed.held += 1
        self._waiting.left(change, proposal)
        return None

    async def reviewed(self) -> None:
        """Nobody is asked any more about what these same changes ended."""
        self.landed.ended = self._waiting.over()
        self.landed.held -= self.landed.ended
        if not self._landing.dry_run and self._tools.office is not None:
            await self._waiting.settle(self._tools, self._landing.tenant)

    def _count(self, done: Sequence[Clean]) -> None:
        self.landed.changes += len(done)
        self.landed.memories += sum(put.base is Base.NOTHING for clean in done for put in clean.change.put)
        self.landed.redacted += sum(bool(clean.secrets) for clean in done)

    async def _write(self, allowed: Sequence[Clean]) -> None:
        """Send them on their way: while the last two groups are on theirs, the embedder never waits."""
        if self._before is not None:
            await self._before
        self._before = self._writing
        self._writing = asyncio.create_task(self._sent(allowed, self._before))

    async def _sent(self, allowed: Sequence[Clean], before: asyncio.Task[None] | None) -> None:
        """Embed all of them at once, then write them behind the group before, in order."""
        async with self._embedder:
            ready = await embedded([clean.change for clean in allowed], self._tools)
        if before is not None:
            await before
        await self._written(allowed, ready)

    async def settled(self) -> None:
        """Everything that was begun is done; raises what was in its way."""
        writing, self._writing, self._before = self._writing, None, None
        if writing is not None:
            await writing

    async def halted(self) -> None:
        """Nothing is on its way any more; what was not settled is given up."""
        left = [task for task in (self._before, self._writing) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _written(self, allowed: Sequence[Clean], ready: Sequence[Change]) -> None:
        entries = [self._entries(clean, change) for clean, change in zip(allowed, ready, strict=True)]
        if entries and entries[0]:
            entries[0] = (self._batch_entry(ready), *entries[0])
        results = await self._commit(ready, entries)
        for clean, result in zip(allowed, results, strict=True):
            if isinstance(result, MemorywireError):
                self._fault(result, clean.change)
            else:
                self._count([clean])

    async def _commit(
        self, changes: Sequence[Change], entries: Sequence[tuple[Entry, ...]]
    ) -> list[MemorywireError | None]:
        context = self._tools
        writes = (
            self._attempt(change, Act(entries=said)) for change, said in zip(changes, entries, strict=True)
        )
        shared = context.office is not None and context.office.journal.shares(context.store)
        if shared and isinstance(context.store, SqliteStore):
            # One writer takes them in the order they were handed over, many to a transaction.
            return list(await asyncio.gather(*writes))
        return [await write for write in writes]

    async def _attempt(self, change: Change, act: Act) -> MemorywireError | None:
        try:
            if self._tools.office is None:
                await self._tools.store.write(change)
            else:
                await carry_out(change, act, self._tools)
        except StoreError:
            raise
        except MemorywireError as problem:
            return problem
        return None

    def _entries(self, clean: Clean, change: Change) -> tuple[Entry, ...]:
        if self._tools.office is None:
            return ()
        secrets = [list(found) for found in clean.secrets] or None
        entry = entry_of(change, "committed", self._tools, batch=self._landing.batch, secrets=secrets)
        return (replace(entry, at=self._tools.clock(), operation="import"),)

    def _batch_entry(self, changes: Sequence[Change]) -> Entry:
        """Which changes belong to the batch; written with the first of a group, for an undo to find."""
        return Entry(
            at=self._tools.clock(),
            operation="import",
            scope=Scope(tenant=self._landing.tenant, agent=changes[0].scope.agent),
            actor=self._tools.governance.caller,
            kind="batch",
            subject=self._landing.batch,
            details={"changes": [[change.scope.agent, change.id] for change in changes]},
        )

    def _fault(self, problem: MemorywireError, change: Change) -> None:
        self.landed.problems.append({"change_id": change.id, **problem.problem()})
        self._settling.drop(change)


def remapped(change: Change, landing: Landing) -> Change:
    """The change as somebody else's, where names were given to others."""
    if not (landing.agents or landing.users):
        return change
    return replace(
        change,
        scope=_given(change.scope, landing),
        put=tuple(
            replace(put, record=replace(put.record, scope=_given(put.record.scope, landing)))
            for put in change.put
        ),
    )


def _given(scope: Scope, landing: Landing) -> Scope:
    agents, users = landing.agents, landing.users
    user = scope.user
    return replace(
        scope,
        agent=agents.get(scope.agent, agents.get("*", scope.agent)),
        user=None if user is None else users.get(user, users.get("*", user)),
    )


def names_given(pairs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """What `agent=old:new`, `agent=new` and the same for users say: two maps, by the old name."""
    maps: dict[str, dict[str, str]] = {"agent": {}, "user": {}}
    for pair in pairs:
        kind, _, names = pair.partition("=")
        old, colon, new = names.rpartition(":")
        if kind not in maps or not new:
            raise InvalidRequest(
                f"{pair!r} gives no name to anybody",
                field="remap",
                fix="agent=NEW, agent=OLD:NEW or user=OLD:NEW",
            )
        maps[kind][old if colon else "*"] = new
    return maps["agent"], maps["user"]
