"""The operations of OpenWOP's MemoryAdapter for one caller and, optionally, one run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.app.dispatch import perform
from memorywire.journal.runs import Run, RunRead
from memorywire.model.answers import Forgotten, Recalled
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import ApprovalPending, Forbidden, InvalidRequest, ValueTooLarge
from memorywire.model.query import Where
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.model.requests import Forget, Recall, Remember
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.plan import Plan
from memorywire.pipeline.remember import draft_record, find_trust, redact
from memorywire_openwop.entries import LIMIT, LIMIT_MOST, Draft, Listing, Search
from memorywire_openwop.refs import CONVERSATION, SCRATCHPAD, is_run_memory, parse_ref, run_scope
from memorywire_openwop.snapshot import find_moment, get_matching, list_matching
from memorywire_openwop.vault import Vault

ReportEvent: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[None]]
RecordReads: TypeAlias = Callable[[Sequence[RunRead]], Awaitable[None]]

SOURCE = "openwop"
_RANKED_MOST = 1_000  # the most hits of a recall


async def ignore_event(type: str, payload: Mapping[str, Json]) -> None:
    """Drops events of an adapter without a run."""


async def ignore_reads(reads: Sequence[RunRead]) -> None:
    """Drops the reads of an adapter without a run: they are not replayed."""


class Requester(Struct, frozen=True, kw_only=True):
    """The caller, its tenant, and which agents' memories it may access."""

    name: str
    tenant: str
    reaches: Callable[[str], bool] = lambda _: True


class _Place(Struct, frozen=True, kw_only=True):
    """A scope, and the change as of which it is read; None for the current state."""

    scope: Scope
    behind: str | None = None


class Adapter(Struct, frozen=True, kw_only=True):
    """Lists, gets, puts and deletes entries. An inaccessible memory reads as empty and cannot be written.

    An adapter of a run shows memory as of the start of the run, except for the run's own memories.
    """

    context: Context
    caller: Requester
    vault: Vault
    max_bytes: int
    run: Run | None = None
    tell: ReportEvent = ignore_event
    show: RecordReads = ignore_reads

    async def list(self, ref: str, wanted: Listing) -> list[Record]:
        """Return entries, newest first."""
        place = self._readable(ref)
        if place is None:
            return []
        context = await self.context.serving(place.scope)
        records = await list_matching(self._where(place.scope), place.behind, context)
        tagged = [record for record in records if wanted.tag is None or wanted.tag in record.tags]
        entries = _sort_newest_first(tagged)[: min(wanted.limit or LIMIT, LIMIT_MOST)]
        await self._note(entries)
        return entries

    async def get(self, ref: str, id: str) -> Record | None:
        """Return the entry; None if it does not exist or is not visible."""
        place = self._readable(ref)
        if place is None:
            return None
        context = await self.context.serving(place.scope)
        record = await get_matching(self._where(place.scope), id, place.behind, context)
        await self._note([] if record is None else [record])
        return record

    async def search(self, ref: str, wanted: Search) -> Sequence[Record]:
        """Return the entries that match, best first; without a query, newest first.

        In a run, these are the entries of its snapshot.
        """
        place = self._readable(ref)
        if place is None:
            return []
        context = await self.context.serving(place.scope)
        where = replace(self._where(place.scope), filter=wanted.filter)
        records = await list_matching(where, place.behind, context)
        ranked: Sequence[Record] = _sort_newest_first(records)
        if wanted.query is not None and records:
            ranked = await self._rank(wanted, place, {one.id: one for one in records}, context)
        entries = ranked[: wanted.limit]
        await self._note(entries)
        return entries

    async def _rank(
        self, wanted: Search, place: _Place, records: Mapping[str, Record], context: Context
    ) -> Sequence[Record]:
        """Return the records that a recall finds, in its order, with their content from the snapshot."""
        moment = await find_moment(place.scope, place.behind, context)
        request = Recall(
            scope=place.scope,
            query=wanted.query or "",
            k=_RANKED_MOST,
            filter=wanted.filter,
            as_of=moment,
        )
        answer = await perform(request, context)
        hits = answer.hits if isinstance(answer, Recalled) else ()
        return [records[hit.id] for hit in hits if hit.id in records]

    async def put(self, ref: str, entry: Draft) -> Record:
        """Store an entry under a new id and return it as stored."""
        return await self._write(ref, self.writable(ref), entry)

    async def fold(self, ref: str, entry: Draft, sources: Sequence[Record]) -> Record:
        """Store an entry that replaces its sources."""
        return await self._write(ref, self.writable(ref), entry, sources)

    async def delete(self, ref: str, id: str) -> bool:
        """End an entry; returns whether it existed. Runs that started earlier still see it."""
        scope = self.writable(ref)
        context = await self.context.serving(scope)
        if await get_matching(self._where(scope), id, None, context) is None:
            return False
        receipt = await perform(Forget(scope=scope, ids=(id,)), context)
        if isinstance(receipt, Forgotten) and receipt.proposal_id is not None:
            raise _pending_error(receipt.proposal_id)
        return True

    def place(self, ref: str) -> Scope | None:
        """Return the scope of a reference; None if it is not accessible."""
        scope = parse_ref(ref, self.caller.tenant)
        return scope if scope is not None and self._in_reach(scope) else None

    def writable(self, ref: str) -> Scope:
        """Return the scope of a reference; raises Forbidden if it cannot be written."""
        scope = parse_ref(ref, self.caller.tenant)
        if scope is None:
            raise InvalidRequest("this is not a memory reference", field="memoryRef")
        if not self._in_reach(scope) or not self._is_bound(ref, scope):
            raise Forbidden("this memory is read-only for this run", field="memoryRef")
        return scope

    async def _write(self, ref: str, scope: Scope, entry: Draft, sources: Sequence[Record] = ()) -> Record:
        self._check_size(entry)
        self._check_expiry(entry)
        context = await self.context.serving(scope)
        clean, resolved = self.vault.redact(self._request(scope, entry, sources))
        redaction = redact(clean, context)
        now = context.clock()
        trust = await find_trust(redaction.request, context)
        fresh = draft_record(redaction.request)
        record = replace(fresh, id=context.mint(), created_at=now, updated_at=now, trust=trust)
        change = Change(
            id=context.mint(),
            operation="remember",
            scope=scope,
            at=now,
            put=(Put(record=record, base=Base.NOTHING, unique=False),),
            end=tuple(_merge_group(source, record) for source in sources),
        )
        request = replace(redaction.request, id=record.id)
        plan = Plan(change=change, request=request, secrets=(*resolved, *redaction.secrets))
        receipt = await commit_one(plan, context)
        if receipt.proposal_id is not None:
            raise _pending_error(receipt.proposal_id)
        await self._report_write(ref, record)
        return record

    async def _note(self, found: Sequence[Record]) -> None:
        """Record reads for a replay, except those of the run's own memories, which are erased at its end."""
        lasting = [record for record in found if not is_run_memory(record.scope)]
        await self.show([RunRead(scope=one.scope, id=one.id, version=one.version) for one in lasting])

    def _request(self, scope: Scope, entry: Draft, sources: Sequence[Record]) -> Remember:
        return Remember(
            scope=scope,
            type=MemoryType.SEMANTIC,
            content=entry.content,
            tags=_clean_tags(entry.tags),
            expires_at=entry.expires_at,
            source=SOURCE,
            session_id=None if self.run is None else self.run.id,
            supersedes=tuple(source.id for source in sources),
            derived_from=tuple(source.id for source in sources),
        )

    async def _report_write(self, ref: str, record: Record) -> None:
        """Report a write as an event of the run, without its content."""
        await self.tell("memory.written", {"memoryRef": ref, "memoryId": record.id})

    def _check_size(self, entry: Draft) -> None:
        size = len(entry.content.encode())
        if size > self.max_bytes:
            raise ValueTooLarge(
                f"the entry is {size} bytes, {self.max_bytes} are allowed",
                field="entry.content",
                fix="store large values elsewhere and keep a reference",
            )

    def _check_expiry(self, entry: Draft) -> None:
        if entry.expires_at is not None and entry.expires_at <= self.context.clock():
            raise InvalidRequest("expiresAt is not in the future", field="entry.expiresAt")

    def _readable(self, ref: str) -> _Place | None:
        scope = self.place(ref)
        if scope is None or not self._is_bound(ref, scope):
            return None
        if self.run is None or is_run_memory(scope):
            return _Place(scope=scope)
        return _Place(scope=scope, behind=self.run.moments.get(ref))

    def _in_reach(self, scope: Scope) -> bool:
        if is_run_memory(scope):
            return self.run is not None and scope in list_run_memories(self.run).values()
        return self._is_own(scope) and self.caller.reaches(scope.agent)

    def _is_own(self, scope: Scope) -> bool:
        return scope.tenant == self.caller.tenant

    def _is_bound(self, ref: str, scope: Scope) -> bool:
        return self.run is None or ref in self.run.moments or is_run_memory(scope)

    def _where(self, scope: Scope) -> Where:
        return Where(scope=scope, alive_at=self.context.clock())


def list_run_memories(run: Run) -> dict[str, Scope]:
    """Return the scopes of the run's own memories, which are erased at its end, by purpose."""
    return {kind: run_scope(run.id, run.tenant, kind) for kind in (SCRATCHPAD, CONVERSATION)}


def _sort_newest_first(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.created_at, record.id), reverse=True)


def _clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Remove duplicate and empty tags."""
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _merge_group(source: Record, into: Record) -> End:
    return End(id=source.id, version=source.version, reason=EndReason.SUPERSEDED, into=into.id)


def _pending_error(proposal_id: str) -> ApprovalPending:
    return ApprovalPending(
        "a person must approve this first; nothing has changed yet",
        proposal_id=proposal_id,
        fix="wait for the decision and read again in a later run",
    )
