"""The four operations of OpenWOP's MemoryAdapter, bound to a tenant and, while it lasts, to a run."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.journal.runs import Run, RunRead
from memorywire.model.answers import Forgotten
from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.errors import ApprovalPending, Forbidden, InvalidRequest, ValueTooLarge
from memorywire.model.query import Where
from memorywire.model.record import Json, MemoryType, Record, Scope
from memorywire.model.requests import Forget, Remember
from memorywire.pipeline.commit import commit_one
from memorywire.pipeline.context import Context
from memorywire.pipeline.perform import perform
from memorywire.pipeline.plan import Plan
from memorywire.pipeline.remember import draft_record, find_trust, redact
from memorywire_openwop.entries import LIMIT, LIMIT_MOST, Draft, Wanted
from memorywire_openwop.refs import CONVERSATION, SCRATCHPAD, is_of_a_run, locate, of_run
from memorywire_openwop.vault import Vault
from memorywire_openwop.view import one_standing, standing

Telling: TypeAlias = Callable[[str, Mapping[str, Json]], Awaitable[None]]
Showing: TypeAlias = Callable[[Sequence[RunRead]], Awaitable[None]]

SOURCE = "openwop"


async def untold(type: str, payload: Mapping[str, Json]) -> None:
    """The listener for when no run is told of what is done."""


async def unshown(reads: Sequence[RunRead]) -> None:
    """The note-taker for reads that nobody will replay."""


class Visitor(Struct, frozen=True, kw_only=True):
    """Who asks, of which tenant, and which agents' memories they may reach."""

    name: str
    tenant: str
    reaches: Callable[[str], bool] = lambda _: True


class _Place(Struct, frozen=True, kw_only=True):
    """A memory and the change behind which it is read; None for what is there now."""

    scope: Scope
    behind: str | None = None


class Adapter(Struct, frozen=True, kw_only=True):
    """Lists, gets, puts and deletes entries. What is out of reach reads as empty and cannot be written.

    Bound to a run, it shows memory as it stood when the run began, except for the run's own memories.
    """

    context: Context
    visitor: Visitor
    vault: Vault
    max_bytes: int
    run: Run | None = None
    tell: Telling = untold
    show: Showing = unshown

    async def list(self, ref: str, wanted: Wanted) -> list[Record]:
        """The newest entries first."""
        place = self._readable(ref)
        if place is None:
            return []
        context = await self.context.serving(place.scope)
        found = await standing(self._where(place.scope), place.behind, context)
        tagged = [record for record in found if wanted.tag is None or wanted.tag in record.tags]
        shown = _sort_newest_first(tagged)[: min(wanted.limit or LIMIT, LIMIT_MOST)]
        await self._note(shown)
        return shown

    async def get(self, ref: str, id: str) -> Record | None:
        """The entry; None when there is none to be seen from here."""
        place = self._readable(ref)
        if place is None:
            return None
        context = await self.context.serving(place.scope)
        found = await one_standing(self._where(place.scope), id, place.behind, context)
        await self._note([] if found is None else [found])
        return found

    async def put(self, ref: str, entry: Draft) -> Record:
        """Keep an entry under an id of the host's; what is kept is what comes back."""
        return await self._put(ref, self.writable(ref), entry)

    async def fold(self, ref: str, entry: Draft, sources: Sequence[Record]) -> Record:
        """Keep an entry in the place of those it was made of."""
        return await self._put(ref, self.writable(ref), entry, sources)

    async def delete(self, ref: str, id: str) -> bool:
        """End an entry, for those who look from now on; whether there was one."""
        scope = self.writable(ref)
        context = await self.context.serving(scope)
        if await one_standing(self._where(scope), id, None, context) is None:
            return False
        done = await perform(Forget(scope=scope, ids=(id,)), self.context)
        if isinstance(done, Forgotten) and done.proposal_id is not None:
            raise _held(done.proposal_id)
        return True

    def place(self, ref: str) -> Scope | None:
        """The memory that is meant, if it is in reach."""
        scope = locate(ref, self.visitor.tenant)
        return scope if scope is not None and self._in_reach(scope) else None

    def writable(self, ref: str) -> Scope:
        """The memory that is meant; raises Forbidden when it is not to be written from here."""
        scope = locate(ref, self.visitor.tenant)
        if scope is None:
            raise InvalidRequest("this is no reference to a memory", field="memoryRef")
        if not self._in_reach(scope) or not self._is_bound(ref, scope):
            raise Forbidden("this memory cannot be written from here", field="memoryRef")
        return scope

    async def _put(self, ref: str, scope: Scope, entry: Draft, sources: Sequence[Record] = ()) -> Record:
        self._check_size(entry)
        self._check_expiry(entry)
        context = await self.context.serving(scope)
        clean, resolved = self.vault.cleaned(self._request(scope, entry, sources))
        asked = redact(clean, context)
        now = context.clock()
        trust = await find_trust(asked.request, context)
        fresh = draft_record(asked.request)
        record = replace(fresh, id=context.mint(), created_at=now, updated_at=now, trust=trust)
        change = Change(
            id=context.mint(),
            operation="remember",
            scope=scope,
            at=now,
            put=(Put(record=record, base=Base.NOTHING, unique=False),),
            end=tuple(_folded(source, record) for source in sources),
        )
        request = replace(asked.request, id=record.id)
        plan = Plan(change=change, request=request, secrets=(*resolved, *asked.secrets))
        done = await commit_one(plan, context)
        if done.proposal_id is not None:
            raise _held(done.proposal_id)
        await self._report_write(ref, record)
        return record

    async def _note(self, found: Sequence[Record]) -> None:
        """Note what a replay will need; the run's own memories are erased with it, so they are not noted."""
        lasting = [record for record in found if not is_of_a_run(record.scope)]
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
        """Tell the run about a write, without its content."""
        await self.tell("memory.written", {"memoryRef": ref, "memoryId": record.id})

    def _check_size(self, entry: Draft) -> None:
        size = len(entry.content.encode())
        if size > self.max_bytes:
            raise ValueTooLarge(
                f"the entry is {size} bytes, {self.max_bytes} are allowed",
                field="entry.content",
                fix="keep large things elsewhere and refer to them",
            )

    def _check_expiry(self, entry: Draft) -> None:
        if entry.expires_at is not None and entry.expires_at <= self.context.clock():
            raise InvalidRequest("expiresAt is not in the future", field="entry.expiresAt")

    def _readable(self, ref: str) -> _Place | None:
        scope = self.place(ref)
        if scope is None or not self._is_bound(ref, scope):
            return None
        if self.run is None or is_of_a_run(scope):
            return _Place(scope=scope)
        return _Place(scope=scope, behind=self.run.moments.get(ref))

    def _in_reach(self, scope: Scope) -> bool:
        if is_of_a_run(scope):
            return self.run is not None and scope in own_memories(self.run).values()
        return self._is_own(scope) and self.visitor.reaches(scope.agent)

    def _is_own(self, scope: Scope) -> bool:
        return scope.tenant == self.visitor.tenant

    def _is_bound(self, ref: str, scope: Scope) -> bool:
        return self.run is None or ref in self.run.moments or is_of_a_run(scope)

    def _where(self, scope: Scope) -> Where:
        return Where(scope=scope, alive_at=self.context.clock())


def own_memories(run: Run) -> dict[str, Scope]:
    """The memories that belong to a run alone while it lasts, by purpose."""
    return {kind: of_run(run.id, run.tenant, kind) for kind in (SCRATCHPAD, CONVERSATION)}


def _sort_newest_first(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.created_at, record.id), reverse=True)


def _clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags, each once, without empty ones."""
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _folded(source: Record, into: Record) -> End:
    return End(id=source.id, version=source.version, reason=EndReason.SUPERSEDED, into=into.id)


def _held(proposal_id: str) -> ApprovalPending:
    return ApprovalPending(
        "a person has to agree first; nothing has changed until then",
        proposal_id=proposal_id,
        fix="wait for the decision, and look again in a later run",
    )
