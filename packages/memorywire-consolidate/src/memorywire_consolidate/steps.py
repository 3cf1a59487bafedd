"""The draft to which the steps of a consolidation run are applied."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.consolidation import DREAM, Pass, Step
from memorywire.model.record import Record, Scope, Standing
from memorywire.model.requests import Action, Expire, Forget, Merge, Policy, Strategy, Write
from memorywire.pipeline.merge import merged_record
from memorywire.pipeline.plan import Plan

OPERATIONS: Mapping[Pass, str] = {
    Pass.EXACT: "merge",
    Pass.NEAR: "merge",
    Pass.SEMANTIC: "merge",
    Pass.CONFLICT: "forget",
    Pass.RETENTION: "expire",
    Pass.CAP: "expire",
}
"""The operation as which the policy judges the steps of each pass."""


Wording: TypeAlias = tuple[Record, Record]
"""A record, and the memory that represents it now: itself, or the memory it was merged into."""

_MERGES = frozenset({Pass.EXACT, Pass.NEAR, Pass.SEMANTIC})
_ARCHIVES = frozenset({Pass.RETENTION, Pass.CAP})


class Draft:
    """Memory after the steps so far: records by id, the steps, and the records that await a person.

    `earlier` are records that earlier runs merged, each with the id of the memory it was merged into.
    """

    def __init__(
        self,
        records: Iterable[Record],
        now: int,
        *,
        frozen: Iterable[str] = (),
        earlier: Iterable[tuple[Record, str]] = (),
    ) -> None:
        self.first: Mapping[str, Record] = {record.id: record for record in records}
        self.earlier = tuple(earlier)
        self.now = now
        self.steps: list[Step] = []
        self._frozen = set(frozen)
        self._live = dict(self.first)
        self._ends: dict[str, End] = {}

    @property
    def free(self) -> list[Record]:
        """The memories that steps may still change, in their drafted state."""
        return [record for id, record in self._live.items() if id not in self._frozen]

    @property
    def wordings(self) -> list[Wording]:
        """All statements, each with the memory that represents it now, if that memory may still change."""
        free = {record.id: record for record in self.free}
        versions = [*self.earlier, *((record, record.id) for record in self.first.values())]
        vectors = ((record, free.get(self._now(id))) for record, id in versions)
        return [(record, standing) for record, standing in vectors if standing is not None]

    def _now(self, id: str) -> str:
        while (end := self._ends.get(id)) is not None and end.reason is EndReason.MERGED and end.into:
            id = end.into
        return id

    def freeze(self, step: Step) -> None:
        """Leave the memories of this step alone, because a person has to decide about them."""
        self._frozen |= step.touched

    def take(self, step: Step) -> None:
        self.steps.append(step)
        plan = self.plan(step, "")
        for put in plan.change.put:
            self._live[put.record.id] = put.record
            if put.record.standing is Standing.ARCHIVED:
                self._frozen.add(put.record.id)
        for end in plan.change.end:
            del self._live[end.id]
            self._ends[end.id] = replace(end, version=self.first[end.id].version)

    def plan(self, step: Step, change_id: str) -> Plan:
        """Return the plan of the equivalent single request for this step."""
        losers = [self._live[id] for id in step.ids]
        scope = losers[0].scope
        change = Change(
            id=change_id, operation=OPERATIONS[step.name], scope=scope, at=self.now, reason=step.why
        )
        request: Write = Forget(scope=scope, ids=step.ids, reason=step.why)
        if step.name in _ARCHIVES:
            puts = [
                self._put(replace(record, updated_at=self.now, standing=Standing.ARCHIVED))
                for record in losers
            ]
            change = replace(change, put=tuple(puts))
            request = Expire(scope=scope, policy=Policy(older_than_days=1), action=Action.ARCHIVE)
        elif step.kept is not None:
            reason = EndReason.MERGED if step.name in _MERGES else EndReason.SUPERSEDED
            ends = (End(id=one.id, version=one.version, reason=reason, into=step.kept) for one in losers)
            change = replace(change, end=tuple(ends))
            if step.name in _MERGES:
                survivor = self._live[step.kept]
                record = merged_record(survivor, losers, Strategy.KEEP_CANONICAL, self.now)
                change = replace(change, put=(self._put(record),))
                request = Merge(scope=scope, canonical=step.kept, duplicates=step.ids)
        return Plan(change=change, request=request)

    def change(self, change_id: str, scope: Scope, reason: str) -> Change:
        """Return all steps as one change; each memory gets at most one new version."""
        changed_records = [record for id, record in self._live.items() if record is not self.first[id]]
        return Change(
            id=change_id,
            operation=DREAM,
            scope=scope,
            at=self.now,
            put=tuple(self._put(record) for record in changed_records),
            end=tuple(self._ends.values()),
            reason=reason,
        )

    def _put(self, record: Record) -> Put:
        """Return the put of the record as the version after the stored one."""
        before = self.first[record.id].version
        return Put(record=replace(record, version=before + 1), base=Base.LIVE, like=before)
