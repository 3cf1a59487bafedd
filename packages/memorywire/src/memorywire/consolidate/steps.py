"""The steps and the result of a consolidation run, and the draft that steps are tried on."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from memorywire.model.change import Base, Change, End, EndReason, Put
from memorywire.model.record import Json, Record, Scope, Standing
from memorywire.model.requests import Action, Expire, Forget, Merge, Policy, Request, Strategy
from memorywire.pipeline.merge import merged_record
from memorywire.pipeline.plan import Plan

DREAM = "dream"
"""The operation of a run's change, and the rule name of steps that are proposed because they are not sure."""


class Pass(StrEnum):
    """The passes in the order they are made. Each works on what those before it left."""

    EXACT = "exact"
    NEAR = "near"
    SEMANTIC = "semantic"
    CONFLICT = "conflict"
    RETENTION = "retention"
    CAP = "cap"
    SUMMARY = "summary"
    PROCEDURE = "procedure"


OPERATIONS: Mapping[Pass, str] = {
    Pass.EXACT: "merge",
    Pass.NEAR: "merge",
    Pass.SEMANTIC: "merge",
    Pass.CONFLICT: "forget",
    Pass.RETENTION: "expire",
    Pass.CAP: "expire",
}
"""The operation that the policy judges the steps of each pass as."""


class Step(Struct, frozen=True, kw_only=True):
    """One step: what happens to the memories `ids`, and why. It has ids and reasons, no contents.

    Duplicates are merged into `kept`, contradictions are superseded by it, other memories are archived.
    A step that is not `sure` is proposed to a person.
    """

    name: Pass
    ids: tuple[str, ...]
    why: str
    kept: str | None = None
    sure: bool = True

    @property
    def touched(self) -> frozenset[str]:
        return frozenset(self.ids if self.kept is None else (self.kept, *self.ids))

    def document(self) -> dict[str, Json]:
        document = {**asdict(self), "name": self.name.value, "ids": list(self.ids)}
        document["pass"] = document.pop("name")
        return {name: value for name, value in document.items() if value is not None}


class Result(StrEnum):
    """How a run ended: `calm` found nothing to do, `discarded` would have made recall worse."""

    CALM = "calm"
    COMMITTED = "committed"
    REHEARSED = "rehearsed"
    DISCARDED = "discarded"


class RunResult(Struct, frozen=True, kw_only=True):
    """The result of a run: its steps, its proposals, the steps that a rule refused, and the number left out.

    `run` is the id of its change. `probes` has the number of questions and the recall before and after;
    `model` reports what a model was asked, or why none was.
    """

    result: Result
    memories: int
    steps: tuple[Step, ...] = ()
    proposed: tuple[tuple[str, Step], ...] = ()
    refused: tuple[tuple[str, Step], ...] = ()
    left: int = 0
    run: str | None = None
    probes: Mapping[str, Json] | None = None
    model: Mapping[str, Json] = field(default_factory=dict)

    def document(self) -> dict[str, Json]:
        document: dict[str, Json] = {
            "result": self.result.value,
            "memories": self.memories,
            "steps": [step.document() for step in self.steps],
            "proposed": [{"proposal_id": id, **step.document()} for id, step in self.proposed],
            "refused": [{"rule": rule, **step.document()} for rule, step in self.refused],
            "left": self.left,
            "model": dict(self.model),
        }
        document |= {} if self.run is None else {"run": self.run}
        return document | ({} if self.probes is None else {"probes": self.probes})


Wording: TypeAlias = tuple[Record, Record]
"""A record, and the memory that stands for it now: itself, or the memory it was merged into."""

_MERGES = frozenset({Pass.EXACT, Pass.NEAR, Pass.SEMANTIC})
_ARCHIVES = frozenset({Pass.RETENTION, Pass.CAP})


class Draft:
    """Memory as it would be: records by id, the steps so far, and the records that wait for a person.

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
        """The memories that may still be touched, as they would be by now."""
        return [record for id, record in self._live.items() if id not in self._frozen]

    @property
    def wordings(self) -> list[Wording]:
        """Every statement there was, with the memory that stands for it now, if that may be touched."""
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
        """The step alone, as the plan of the request by which a person could have asked for it."""
        losers = [self._live[id] for id in step.ids]
        scope = losers[0].scope
        change = Change(
            id=change_id, operation=OPERATIONS[step.name], scope=scope, at=self.now, reason=step.why
        )
        request: Request = Forget(scope=scope, ids=step.ids, reason=step.why)
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
        """All steps as one change; each memory gets at most one new version."""
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
        """The record as the version that follows the stored one."""
        before = self.first[record.id].version
        return Put(record=replace(record, version=before + 1), base=Base.LIVE, like=before)
