"""What the ledger says the state must be: its entries, replayed in order."""

import hashlib
from collections.abc import Iterable
from dataclasses import field
from typing import NamedTuple, TypeAlias

from memorywire.journal.canonical import canonical, encoded
from memorywire.journal.ledger import Row
from memorywire.model.change import Change, EndReason
from memorywire.model.record import Json
from memorywire.model.values import dataclass

VersionKey: TypeAlias = tuple[str, str, int]
"""Tenant, id and number of a version."""
SubjectKey: TypeAlias = tuple[str, str]
"""Tenant and id of a change or a recall."""

_DIGITS = 32


class Ended(NamedTuple):
    """How a version ended: why, by which change, and what replaced it."""

    reason: str
    by: str
    into: str | None


@dataclass(slots=True, kw_only=True)
class Begun:
    """A version that a change began; `commitments` are the entries that hold its digest."""

    agent: str
    by: str
    mark: str | None
    commitments: list[tuple[int, str]]
    ended: Ended | None = None
    erased: bool = False


@dataclass(slots=True, kw_only=True)
class Changed:
    """A change as the ledger has it."""

    seq: int
    agent: str
    mark: str | None
    operation: str
    at: int
    undoes: str | None
    puts: int
    only_erases: bool
    beside: Json


@dataclass(slots=True, kw_only=True)
class Replay:
    """The state after the entries that were taken. `bound` are agents that kept memories elsewhere."""

    versions: dict[VersionKey, Begun] = field(default_factory=dict)
    newest: dict[SubjectKey, int] = field(default_factory=dict)
    live: dict[SubjectKey, int] = field(default_factory=dict)
    ended: dict[VersionKey, Ended] = field(default_factory=dict)
    erased: set[SubjectKey] = field(default_factory=set)
    changes: dict[SubjectKey, Changed] = field(default_factory=dict)
    recalls: dict[SubjectKey, tuple[str, str | None]] = field(default_factory=dict)
    rows: dict[tuple[str, str], tuple[str | None, int]] = field(default_factory=dict)
    bound: set[SubjectKey] = field(default_factory=set)
    unreadable: list[int] = field(default_factory=list)
    last: int = 0

    def take(self, rows: Iterable[Row]) -> "Replay":
        for row in rows:
            self.last = row.seq
            try:
                entry = row.said
            except ValueError:  # what is no JSON breaks the chain, which somebody else proves
                self.unreadable.append(row.seq)
                continue
            for kind, key, digest in entry.get("state", ()):
                self.rows[kind, canonical(key)] = digest, row.seq
            match entry["kind"]:
                case "committed":
                    self._commit(row.seq, entry)
                case "recalled":
                    told = told_of_recall(entry["at"], entry["agent"], entry["actor"], entry["details"])
                    self.recalls[entry["tenant"], entry["subject"]] = told, entry.get("person")
                case "bound":
                    self.bound.add((entry["tenant"], entry["agent"]))
        return self

    def _commit(self, seq: int, entry: dict[str, Json]) -> None:
        tenant, subject, details = entry["tenant"], entry["subject"], entry.get("details", {})
        into = dict(details.get("into", ()))
        for id, number, reason in details.get("ended", ()):
            self._end((tenant, id, number), Ended(reason, subject, into.get(id)))
        commitments = entry.get("commitments", ())
        for one in commitments:
            self._begin(seq, entry, one)
        for id in details.get("erased", ()):
            self._erase((tenant, id), subject)
        ends, erases = details.get("ended"), details.get("erased")
        self.changes[tenant, subject] = Changed(
            seq=seq,
            agent=entry["agent"],
            mark=entry.get("person"),
            operation=entry["operation"],
            at=entry["at"],
            undoes=details.get("undoes"),
            puts=len(commitments),
            only_erases=bool(erases) and not ends and not commitments,
            beside=details.get("change"),
        )

    def _begin(self, seq: int, entry: dict[str, Json], one: dict[str, Json]) -> None:
        tenant, number = entry["tenant"], one["version"]
        memory = (tenant, one["id"])
        known = self.versions.get((*memory, number))
        if known is not None:  # the same change, written down again
            known.commitments.append((seq, one["digest"]))
            return
        before = self.live.get(memory, number - 1 if memory not in self.newest else None)
        if before is not None and before == number - 1 and (*memory, before) not in self.ended:
            self._end((*memory, before), Ended(EndReason.REPLACED.value, entry["subject"], None))
        self.versions[*memory, number] = Begun(
            agent=entry["agent"],
            by=entry["subject"],
            mark=entry.get("person"),
            commitments=[(seq, one["digest"])],
        )
        self.live[memory] = self.newest[memory] = number

    def _end(self, version: VersionKey, ended: Ended) -> None:
        tenant, id, number = version
        self.ended[version] = ended
        if version in self.versions:
            self.versions[version].ended = ended
        if self.live.get((tenant, id)) == number:
            del self.live[tenant, id]

    def _erase(self, memory: SubjectKey, by: str) -> None:
        self.erased.add(memory)
        self.live.pop(memory, None)
        for number in range(1, self.newest.get(memory, 0) + 1):
            begun = self.versions.get((*memory, number))
            if begun is not None:
                begun.erased = True
                ended_by = by if begun.ended is None else begun.ended.by
                begun.ended = Ended(EndReason.ERASED.value, ended_by, None)


def told_of_recall(at: int, agent: str, caller: str, details: Json) -> str:
    """What the ledger and the log of recalls must agree on, as one digest."""
    hits = [[id, version, round(score, 6)] for id, version, score in details["hits"]]
    told = canonical([at, agent, caller, details["verdict"], hits])
    return hashlib.sha256(encoded(told)).hexdigest()[:_DIGITS]


def told_beside(change: Change) -> dict[str, Json] | None:
    """Digests of what a change holds beside its versions; None when there is nothing."""
    beside = (change.about, change.key, change.reason)
    if change.fingerprint is None and beside == (None, None, None):
        return None
    return digests_beside(*beside, change.fingerprint)


def digests_beside(
    about: str | None, key: str | None, reason: str | None, fingerprint: str | None
) -> dict[str, Json]:
    told: dict[str, Json] = {"digest": _digest([about, key, reason])}
    return told if fingerprint is None else told | {"fingerprint": _digest(fingerprint)}


def _digest(value: Json) -> str:
    return hashlib.sha256(encoded(canonical(value))).hexdigest()[:_DIGITS]
