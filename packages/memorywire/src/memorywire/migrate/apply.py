"""Applies imported changes through the same commit pipeline as every write.

Changes keep their ids and times. A change that was applied before is skipped, so an import that was
interrupted is completed by running it again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal.acts import Act
from memorywire.journal.entries import Entry
from memorywire.migrate.conflicts import ConflictResolver, OnConflict, find_applied
from memorywire.migrate.history import build_entry, derive_id
from memorywire.migrate.proposals import HeldChanges
from memorywire.migrate.sanitize import (
    RedactedChange,
    TrustLimit,
    embed_changes,
    hold_change,
    judge_change,
    limit_trust,
    redact_changes,
    trust_nothing,
)
from memorywire.model.change import Base, Change
from memorywire.model.errors import Duplicate, InvalidRequest, MemorywireError, StoreError
from memorywire.model.record import Json, Scope
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import entry_of
from memorywire.pipeline.transaction import Transaction
from memorywire.policy.rules import Verdict
from memorywire.stores.sqlite import SqliteStore

GROUP = 128  # changes that are embedded in one call and written in one transaction where possible


class ApplyOptions(Struct, frozen=True, kw_only=True):
    """The tenant and batch of the changes, and the rule for ids that exist already.

    `agents` and `users` map old names of owners to new ones; `*` stands for all others. `trusting` limits the
    trust of each memory.
    """

    tenant: str
    batch: str
    on_conflict: OnConflict = OnConflict.SKIP
    agents: Mapping[str, str] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    dry_run: bool = False
    trusting: TrustLimit = trust_nothing

    def remap(self, change: Change) -> Change:
        """Return the change with its owners renamed."""
        if not (self.agents or self.users):
            return change

        def rename(scope: Scope) -> Scope:
            agent = self.agents.get(scope.agent, self.agents.get("*", scope.agent))
            user = scope.user
            if user is not None:
                user = self.users.get(user, self.users.get("*", user))
            return replace(scope, agent=agent, user=user)

        records = (replace(put.record, scope=rename(put.record.scope)) for put in change.put)
        puts = (replace(put, record=record) for put, record in zip(change.put, records, strict=True))
        return replace(change, scope=rename(change.scope), put=tuple(puts))


def parse_remap(pairs: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Parse `agent=OLD:NEW`, `agent=NEW`, `user=...` to maps of agents and users. Raises InvalidRequest."""
    maps: dict[str, dict[str, str]] = {"agent": {}, "user": {}}
    for pair in pairs:
        kind, _, names = pair.partition("=")
        old, colon, new = names.rpartition(":")
        if kind not in maps or not new:
            fix = "agent=NEW, agent=OLD:NEW or user=OLD:NEW"
            raise InvalidRequest(f"{pair!r} does not rename an agent or a user", field="remap", fix=fix)
        maps[kind][old if colon else "*"] = new
    return maps["agent"], maps["user"]


class ApplyResult(Struct):
    """Counts of an import: `already` were applied before, `held` wait for review, `problems` failed.

    `ended` would wait for review, but a later change of the same import ended their memories.
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
    def total(self) -> int:
        skipped = self.conflicts + self.held + self.ended + self.refused + len(self.problems)
        return self.changes + self.already + skipped


async def apply_changes(
    changes: AsyncIterator[Change],
    context: Context,
    options: ApplyOptions,
    report: Callable[[int], None] = lambda count: None,
) -> ApplyResult:
    """Apply the changes in groups. An error of the store stops the import; an invalid change is skipped."""
    applier = _Applier(context, options)
    try:
        group: list[Change] = []
        async for change in changes:
            group.append(change)
            if len(group) == GROUP:
                await applier.apply_group(group)
                report(applier.result.total)
                group = []
        if group:
            await applier.apply_group(group)
        await applier.finish_writes()
        await applier.review_held()
    finally:
        await applier.cancel_writes()
    report(applier.result.total)
    return applier.result


class _Applier:
    """Applies groups of changes in order, and embeds the next group while the last two are written."""

    def __init__(self, context: Context, options: ApplyOptions) -> None:
        self._context = context
        self._options = options
        self._resolver = ConflictResolver(context, options.on_conflict)
        self._held = HeldChanges(self._resolver)
        self.result = ApplyResult(batch=options.batch)
        self._write: asyncio.Task[None] | None = None
        self._previous_write: asyncio.Task[None] | None = None
        self._embedder = asyncio.Lock()

    async def apply_group(self, group: Sequence[Change]) -> None:
        changes, applied_ids = await self._rename_foreign([self._options.remap(change) for change in group])
        await self._resolver.look(changes)
        pending: list[Change] = []
        for change in changes:
            if change.id in applied_ids:
                self.result.already += 1
            elif not self._resolver.concerns(change):
                pending.append(change)
            else:
                await self._submit(pending)
                pending = []
                await self._resolve(change)
        await self._submit(pending)
        self._held.record_ends(changes)

    async def _rename_foreign(self, changes: list[Change]) -> tuple[list[Change], Collection[str]]:
        """Return the changes, with a new id where another agent has it, and the ids applied before."""
        owners = await find_applied(changes, self._context.store)
        foreign = {change.id for change in changes if owners.get(change.id) not in (None, change.scope.agent)}
        if not foreign:
            return changes, owners
        changes = [
            replace(change, id=derive_id(change.id, change.scope.agent)) if change.id in foreign else change
            for change in changes
        ]
        return changes, await find_applied(changes, self._context.store)

    async def _resolve(self, change: Change) -> None:
        """Apply a change whose ids are taken, as far as the conflict rule allows."""
        await self.finish_writes()  # the rule depends on what is stored
        resolution = await self._resolver.resolve(change)
        if resolution is None:
            self.result.conflicts += 1
        else:
            await self._submit([resolution])

    async def _submit(self, changes: Sequence[Change]) -> None:
        """Limit trust, redact and judge the changes, then count them in a dry run or write them."""
        if not changes:
            return
        sound: list[Change] = []
        for change in changes:
            limited = await limit_trust(change, self._context, self._options.trusting)
            if isinstance(limited, MemorywireError):
                self._add_problem(limited, change)
            else:
                sound.append(limited)
        outcomes = await asyncio.to_thread(redact_changes, sound, self._context)
        accepted = [
            permitted
            for outcome in outcomes
            if isinstance(outcome, RedactedChange) and (permitted := await self._judge(outcome)) is not None
        ]
        for change, outcome in zip(sound, outcomes, strict=True):
            if isinstance(outcome, MemorywireError):
                self._add_problem(outcome, change)
        if self._options.dry_run:
            self._count(accepted)
        elif accepted:
            await self._begin_write(accepted)

    async def _judge(self, redacted: RedactedChange) -> RedactedChange | None:
        """Return the change if the policy allows it; None if it, or a change it builds on, is not applied."""
        change = self._resolver.drop_missing(redacted.change)
        if change is None:
            self.result.conflicts += 1
            return None
        redacted = replace(redacted, change=change)
        verdict = await judge_change(redacted, self._context)
        if verdict is Verdict.ALLOW:
            return redacted
        self._resolver.drop(change)
        if verdict is Verdict.REFUSE:
            self.result.refused += 1
            return None
        try:
            proposal = None if self._options.dry_run else await hold_change(redacted, self._context)
        except Duplicate:  # a memory with the same text exists: nothing to review
            self.result.already += 1
            return None
        self.result.held += 1
        self._held.add(change, proposal)
        return None

    async def review_held(self) -> None:
        """Close the proposals whose memories later changes of this import ended."""
        self.result.ended = self._held.count_ended()
        self.result.held -= self.result.ended
        if not self._options.dry_run and self._context.governance is not None:
            await self._held.close_ended(self._context, self._options.tenant)

    def _count(self, changes: Sequence[RedactedChange]) -> None:
        self.result.changes += len(changes)
        self.result.memories += sum(put.base is Base.NOTHING for one in changes for put in one.change.put)
        self.result.redacted += sum(bool(one.secrets) for one in changes)

    async def _begin_write(self, changes: Sequence[RedactedChange]) -> None:
        """Start a write; two may be in flight, so that the embedder does not wait for the disk."""
        if self._previous_write is not None:
            await self._previous_write
        self._previous_write = self._write
        self._write = asyncio.create_task(self._embed_and_write(changes, self._previous_write))

    async def _embed_and_write(
        self, redacted: Sequence[RedactedChange], previous: asyncio.Task[None] | None
    ) -> None:
        async with self._embedder:
            changes = await embed_changes([one.change for one in redacted], self._context)
        if previous is not None:
            await previous
        entries = [self._build_entries(one, change) for one, change in zip(redacted, changes, strict=True)]
        if entries and entries[0]:  # lists the changes of the group for an undo
            scope = Scope(tenant=self._options.tenant, agent=changes[0].scope.agent)
            details = {"changes": [[change.scope.agent, change.id] for change in changes]}
            group = build_entry(self._context, scope, "batch", subject=self._options.batch, details=details)
            entries[0] = (group, *entries[0])
        errors = await self._commit(changes, entries)
        for one, error in zip(redacted, errors, strict=True):
            if error is None:
                self._count([one])
            else:
                self._add_problem(error, one.change)

    async def finish_writes(self) -> None:
        """Wait for all submitted writes; raises the error of a failed one."""
        write, self._write, self._previous_write = self._write, None, None
        if write is not None:
            await write

    async def cancel_writes(self) -> None:
        tasks = [task for task in (self._previous_write, self._write) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _commit(
        self, changes: Sequence[Change], entries: Sequence[tuple[Entry, ...]]
    ) -> list[MemorywireError | None]:
        context = self._context
        acts = [Act(entries=own) for own in entries]
        writes = (self._write_change(change, act) for change, act in zip(changes, acts, strict=True))
        journal = None if context.governance is None else context.governance.journal
        is_shared = journal is not None and journal.backend.shares(context.store)
        if is_shared and isinstance(context.store, SqliteStore):
            # One writer commits them in the order of submission, many in a transaction.
            return list(await asyncio.gather(*writes))
        return [await write for write in writes]

    async def _write_change(self, change: Change, act: Act) -> MemorywireError | None:
        try:
            if self._context.governance is None:
                await self._context.store.write(change)
            else:
                await Transaction(self._context).commit_one(change, act)
        except StoreError:
            raise
        except MemorywireError as problem:
            return problem
        return None

    def _build_entries(self, redacted: RedactedChange, change: Change) -> tuple[Entry, ...]:
        if self._context.governance is None:
            return ()
        secrets = [list(secret) for secret in redacted.secrets] or None
        entry = entry_of(change, "committed", self._context, batch=self._options.batch, secrets=secrets)
        return (replace(entry, at=self._context.clock(), operation="import"),)

    def _add_problem(self, problem: MemorywireError, change: Change) -> None:
        self.result.problems.append({"change_id": change.id, **problem.problem()})
        self._resolver.drop(change)
