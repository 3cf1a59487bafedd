"""Compares the state of a database with its ledger, in both directions, and reports every difference.

Assumes that the chain of the ledger is valid: `audit.examine` verifies it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field

from memorywire.journal import ledger
from memorywire.journal.backend import Session, StoredVersion
from memorywire.journal.entries import (
    canonical,
    canonical_bytes,
    commitment,
    digests_beside,
    mark_of,
    record_digest,
)
from memorywire.journal.ledger import Row
from memorywire.model.change import EndReason
from memorywire.model.errors import MemorywireError
from memorywire.model.record import Json
from memorywire.search.text import EDITION

VersionKey: TypeAlias = tuple[str, str, int]
"""Tenant, id and number of a version."""
SubjectKey: TypeAlias = tuple[str, str]
"""Tenant and id of a change or a recall."""

_DIGITS = 32


class Ended(NamedTuple):
    """How a version ended: the reason, the id of the change, and the id of the memory that replaced it."""

    reason: str
    by: str
    into: str | None


class Begun(Struct, kw_only=True):
    """A version that a change began; `commitments` are the entries that hold its digest."""

    agent: str
    by: str
    mark: str | None
    commitments: list[tuple[int, str]]
    ended: Ended | None = None
    erased: bool = False


class Changed(Struct, kw_only=True):
    """A change as recorded in the ledger."""

    seq: int
    agent: str
    mark: str | None
    operation: str
    at: int
    undoes: str | None
    puts: int
    only_erases: bool
    beside: Json


class Replay(Struct, kw_only=True):
    """The state after replaying entries. `bound` are agents whose memories may be in another database."""

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
            except ValueError:  # a body that is not JSON breaks the chain, which `audit.examine` reports
                self.unreadable.append(row.seq)
                continue
            for kind, key, digest in entry.get("state", ()):
                self.rows[kind, canonical(key)] = digest, row.seq
            match entry["kind"]:
                case "committed":
                    self._commit(row.seq, entry)
                case "recalled":
                    claim = hash_recall(entry["at"], entry["agent"], entry["actor"], entry["details"])
                    self.recalls[entry["tenant"], entry["subject"]] = claim, entry.get("person")
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
        earlier = self.versions.get((*memory, number))
        if earlier is not None:  # the same change, recorded again
            earlier.commitments.append((seq, one["digest"]))
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
            claim = self.versions.get((*memory, number))
            if claim is not None:
                claim.erased = True
                ended_by = by if claim.ended is None else claim.ended.by
                claim.ended = Ended(EndReason.ERASED.value, ended_by, None)


def hash_recall(at: int, agent: str, caller: str, details: Json) -> str:
    """Return a digest of the fields of a recall that must be equal in the ledger and the recall log."""
    hits = [[id, version, round(score, 6)] for id, version, score in details["hits"]]
    text = canonical_bytes([at, agent, caller, details["verdict"], hits])
    return hashlib.sha256(text).hexdigest()[:_DIGITS]


class Difference(Struct, frozen=True, order=True):
    """One difference between the state and the ledger."""

    kind: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}: {self.detail}"


class StateReport(Struct, frozen=True, kw_only=True):
    """The result of a comparison up to entry `entries`: numbers of compared rows, and differences."""

    entries: int
    versions: int
    rows: int
    differences: tuple[Difference, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.differences


class _Comparison(Struct, kw_only=True):
    db: Session
    replay: Replay
    people: dict[str, str]
    salts: dict[tuple[str, str, int], dict[int, bytes | None]]
    after: int = 0
    indexed: bool = True
    found: list[Difference] = field(default_factory=list)
    versions: int = 0
    rows: int = 0

    def differ(self, kind: str, subject: object, detail: str) -> None:
        self.found.append(Difference(kind, str(subject), detail))


def compare(db: Session, after: int = 0) -> StateReport:
    """Replay the ledger and compare the result with the rows of the database.

    With `after`, only rows touched by later entries are compared: an edit of an older row is not
    detected.
    """
    replay = Replay().take(ledger.read_entries(db, after))
    salts: dict[tuple[str, str, int], dict[int, bytes | None]] = {}
    for seq, tenant, memory, version, salt in db.stream("salts_since", {"after": after}):
        salts.setdefault((tenant, memory, version), {})[seq] = salt
    work = _Comparison(db=db, replay=replay, people={}, salts=salts, after=after)
    for seq in replay.unreadable:
        work.differ("entry", seq, "it cannot be read")
    _compare_people(work)
    if db.value("has_comparable_memories"):
        db.see_all_tenants()
        work.indexed = (
            int(db.value("words_edition") or 1) == EDITION
        )  # another release may have split texts into other words
        _compare_changes(work)
        _compare_versions(work)
    _compare_salts(work)
    _compare_recalls(work)
    _compare_rows(work)
    return StateReport(
        entries=max(replay.last, after),
        versions=work.versions,
        rows=work.rows,
        differences=tuple(sorted(work.found)),
    )


def _compare_people(work: _Comparison) -> None:
    for mark, tenant, user, salt in work.db.rows("person_marks"):
        if mark_of(salt, tenant, user) != mark:
            work.differ("user", user, "the mark of this user was made of another id")
        work.people[mark] = user


def _is_user(work: _Comparison, mark: str | None, user: str | None) -> bool:
    """Return whether a row's user fits an entry's mark; entries about all users have no mark."""
    return mark is None or user in (mark, work.people.get(mark))


def _compare_changes(work: _Comparison) -> None:
    unseen = set(work.replay.changes)
    for row in _change_rows(work):
        tenant, id, *rest = row
        unseen.discard((tenant, id))
        claim = work.replay.changes.get((tenant, id))
        if claim is None:
            work.differ("change", id, "no entry of the ledger is about it")
        elif wrong := [*_change_faults(work, (tenant, id), claim, rest)]:
            work.differ("change", id, f"the ledger has another {', '.join(wrong)}")
    for tenant, id in unseen:
        claim = work.replay.changes[tenant, id]
        elsewhere = (tenant, claim.agent) in work.replay.bound
        if not claim.only_erases and not elsewhere:
            work.differ("change", id, f"is missing: entry {claim.seq} of the ledger committed it")


def _change_rows(work: _Comparison) -> Iterator[tuple[Any, ...]]:
    if not work.after:
        yield from work.db.stream("all_changes")
        return
    for tenant, id in work.replay.changes:
        yield from work.db.rows("change_of", {"tenant": tenant, "id": id})


def _change_faults(work: _Comparison, key: tuple[str, str], claim: Changed, row: list[Any]) -> Iterator[str]:
    agent, user, operation, at, given, fingerprint, reason, undoes, about, puts = row
    if agent != claim.agent:
        yield "agent"
    if claim.mark is not None and not _is_user(work, claim.mark, user):
        yield "user"
    imported = claim.operation == "import"  # keeps the time and operation of the original
    if operation != claim.operation and not imported:
        yield "operation"
    if at != claim.at and not imported:
        yield "time"
    if undoes != claim.undoes:
        yield "undone change"
    if puts != claim.puts:
        yield "number of versions"
    yield from _beside_faults(work, key, claim, (about, given, reason, fingerprint))


def _beside_faults(
    work: _Comparison, key: tuple[str, str], claim: Changed, beside: tuple[Any, Any, Any, Any]
) -> Iterator[str]:
    """Yield wrong fields outside versions; an erase may have removed fingerprint, key and reason."""
    erased = claim.mark is not None and claim.mark not in work.people
    now = digests_beside(*beside)
    details = claim.beside or {}
    if not details and beside == (None, None, None, None):
        return
    expected = details.get("digest", now["digest"] if not details else None)
    if beside[2] is None and "unreasoned" in details and _touches_erased(work, key, beside[0]):
        expected = details["unreasoned"]
    if now["digest"] != expected and not erased:
        yield "key, reason or memory it is about"
    if not details and any(value is not None for value in beside) and claim.seq >= _first_told(work):
        yield "key, reason or memory it is about"
    gone = now.get("fingerprint") is None and "fingerprint" in details
    if (
        details
        and now.get("fingerprint") != details.get("fingerprint")
        and not (gone and _has_erased(work, key))
    ):
        yield "fingerprint"


def _first_told(work: _Comparison) -> int:
    """Return the first entry with digests of a change's other fields; earlier releases wrote none."""
    return min((one.seq for one in work.replay.changes.values() if one.beside), default=work.replay.last + 1)


def _has_erased(work: _Comparison, key: tuple[str, str]) -> bool:
    tenant, id = key
    claims = (one for (owner, _, _), one in work.replay.versions.items() if owner == tenant)
    return bool(work.replay.erased) and (
        any(one.by == id and one.erased for one in claims) or not work.replay.changes[key].puts
    )


def _touches_erased(work: _Comparison, key: tuple[str, str], about: str | None) -> bool:
    """Return whether the change began or ended an erased memory, or is about one (`about`)."""
    (tenant, id), replay = key, work.replay
    starts = (version for version, one in replay.versions.items() if one.by == id)
    ends = (version for version, one in replay.ended.items() if one.by == id)
    memories = {(tenant, about), *(version[:2] for version in (*starts, *ends))}
    return any(memory in replay.erased for memory in memories if memory[0] == tenant)


def _compare_versions(work: _Comparison) -> None:
    unseen = set(work.replay.versions)
    for version in _stored_versions(work):
        work.versions += 1
        key = (version.tenant, version.id, version.number)
        unseen.discard(key)
        claim = work.replay.versions.get(key)
        if claim is not None:
            details = _version_faults(work, key, claim, version)
        elif work.after:
            details = _older_faults(work, key, version)
        else:
            details = iter(["no entry of the ledger began it"])
        owner = "" if version.tenant == "default" else f" of tenant {version.tenant}"
        for detail in details:
            work.differ("memory", f"{version.id} v{version.number}{owner}", detail)
    for tenant, id, number in unseen:
        claim = work.replay.versions[tenant, id, number]
        if (tenant, claim.agent) not in work.replay.bound:
            entry = claim.commitments[0][0]
            work.differ("memory", f"{id} v{number}", f"is missing: entry {entry} of the ledger began it")


def _stored_versions(work: _Comparison) -> Iterator[StoredVersion]:
    if not work.after:
        return work.db.stored_versions()
    touched = {(tenant, id) for tenant, id, _ in (*work.replay.versions, *work.replay.ended)}
    return work.db.stored_versions(sorted(touched | work.replay.erased))


def _older_faults(work: _Comparison, key: VersionKey, version: StoredVersion) -> Iterator[str]:
    """Yield the faults of a version that began before the replayed entries."""
    ended = work.replay.ended.get(key)
    if key[:2] in work.replay.erased:
        if version.has_content:
            yield "it was erased, and has content again"
    elif ended is not None and (version.reason, version.ended_by) != (ended.reason, ended.by):
        yield f"it did not end as in the ledger ({ended.reason})"


def _version_faults(
    work: _Comparison, key: VersionKey, claim: Begun, version: StoredVersion
) -> Iterator[str]:
    if version.began_by != claim.by:
        yield "it was begun by another change"
    elif not version.is_in_place:
        yield "it does not stand where its change put it"
    if version.agent != claim.agent:
        yield f"it is of agent {version.agent} here, and of {claim.agent} in the ledger"
    yield from _ending_faults(claim, version)
    if claim.erased:
        if not _is_user(work, claim.mark, version.user):
            yield "it is of another user than in the ledger"
        if not version.is_blank:
            yield "it was erased, and has content again"
    elif not version.has_content:
        yield "its content is gone, and no entry of the ledger erased it"
    else:
        yield from _content_faults(work, key, claim, version)


def _ending_faults(claim: Begun, version: StoredVersion) -> Iterator[str]:
    reason, into = version.reason, version.into
    is_live = version.is_live and version.ended_by is None and reason is None
    if claim.ended is None:
        if not is_live:
            yield "it has ended here, and is live in the ledger"
        return
    if is_live:
        yield f"it is live here, and ended in the ledger ({claim.ended.reason})"
        return
    if reason != claim.ended.reason or version.ended_by != claim.ended.by:
        yield f"it ended for another reason than in the ledger ({claim.ended.reason})"
    if claim.ended.into is not None and into != claim.ended.into:
        yield "another memory replaced it than in the ledger"
    if claim.ended.into is None and into is not None and reason in ("replaced", "erased", "forgotten"):
        yield "another memory replaced it than in the ledger"


def _content_faults(
    work: _Comparison, key: VersionKey, claim: Begun, version: StoredVersion
) -> Iterator[str]:
    try:
        record = version.read()
        digest = record_digest(record)
    except (KeyError, ValueError, TypeError, MemorywireError):
        yield "its row cannot be read"
        return
    salts = work.salts.get(key, {})
    pairs = [(salts.get(seq), hash) for seq, hash in claim.commitments]
    if all(salt is None for salt, _ in pairs):
        yield "its salt is gone, so the ledger cannot vouch for its content"
    elif not any(salt is not None and commitment(salt, digest) == hash for salt, hash in pairs):
        yield "it says something else than the ledger committed to"
    elif work.indexed and not version.is_indexed(record):
        yield "its search index is not that of its words"


def _compare_salts(work: _Comparison) -> None:
    for key, salts in work.salts.items():
        claim = work.replay.versions.get(key)
        named = f"{key[1]} v{key[2]}"
        entries = set() if claim is None else {seq for seq, _ in claim.commitments}
        if claim is not None and claim.erased and any(salt is not None for salt in salts.values()):
            work.differ("memory", named, "it was erased, and its salt is there again")
        # Entries of changes in another store have salts but no versions here.
        if claim is not None and set(salts) - entries and not _is_elsewhere(work, set(salts) - entries):
            work.differ("memory", named, "there is a salt that no entry of the ledger uses")


def _is_elsewhere(work: _Comparison, entries: set[int]) -> bool:
    rows = [ledger.find_entry(work.db, seq) for seq in entries]
    return all(row is not None and row.said.get("commitments") for row in rows)


def _compare_recalls(work: _Comparison) -> None:
    unseen = set(work.replay.recalls)
    for id, tenant, agent, user, at, caller, verdict, count, hits in work.db.stream(
        "recalls_since", {"after": work.after}
    ):
        unseen.discard((tenant, id))
        claim, mark = work.replay.recalls.get((tenant, id), (None, None))
        if claim is None:
            work.differ("recall", id, "no entry of the ledger is about it")
            continue
        try:
            listed = json.loads(hits)
            here = hash_recall(at, agent, caller, {"hits": listed, "verdict": verdict})
        except (ValueError, TypeError):
            here, listed = "", []
        if here != claim or count != len(listed) or not _is_user(work, mark, user):
            work.differ("recall", id, "it is not what the ledger says it was")
    for _, id in unseen:
        work.differ("recall", id, "is missing")


def _compare_rows(work: _Comparison) -> None:
    salts = {(kind, key): salt for kind, key, seq, salt in work.db.rows("row_salts") if seq > work.after}
    unseen = {key for key, (digest, _) in work.replay.rows.items() if digest is not None}
    for kind, values in ledger.list_keys(work.db):
        key = (kind, canonical(list(values)))
        if work.after and key not in work.replay.rows:
            continue
        work.rows += 1
        named = " ".join(map(str, values))
        unseen.discard(key)
        claim, _ = work.replay.rows.get(key, (None, 0))
        salt = salts.get(key)
        if claim is None:
            if kind not in _UNTOLD:
                work.differ(kind, named, "no entry of the ledger made it")
        elif salt is None:
            work.differ(kind, named, "its salt is gone, so the ledger cannot vouch for it")
        elif ledger.hash_row(work.db, (kind, values), salt) != claim:
            work.differ(kind, named, "it is not as the ledger committed to it")
    for kind, name in unseen:
        if kind not in _TRANSIENT:
            work.differ(kind, " ".join(map(str, json.loads(name))), "is missing")


_UNTOLD = frozenset({"token_key"})  # created on first use; the entry of the first operator holds its digest
_TRANSIENT = frozenset({"ingest"})  # deleted after it is read, without an entry


_FULL_EVERY_MS = 24 * 3_600_000
_SMALL = 20_000  # so few entries that a full replay is fast


def verify_state(db: Session, now: int) -> tuple[StateReport, bool]:
    """Compare the rows changed since the last comparison, or all if that is due or the ledger is small.

    Returns the report, and whether the comparison was full.
    """
    row = db.row("last_comparison")
    last, _ = ledger.read_head(db)
    known, _, full_at, differences = (0, 0, 0, 0) if row is None else row
    full = last <= _SMALL or now - full_at >= _FULL_EVERY_MS or bool(differences) or known > last
    return compare(db, 0 if full else known), full


def keep_verified(db: Session, report: StateReport, now: int, *, full: bool) -> None:
    """Store how far the state was compared, and the time of the last full comparison."""
    row = db.row("last_comparison")
    full_at = now if full or row is None else row[2]
    position = {"seq": report.entries, "at": now, "full_at": full_at, "differences": len(report.differences)}
    db.execute("set_last_comparison", position)
