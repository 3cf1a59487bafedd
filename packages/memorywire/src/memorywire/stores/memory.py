"""The in-memory store, which is the reference implementation of the store contract.

It scans all memories for every decision, so that its code is easy to check.
"""

import struct
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Base, Change, End, EndReason, Footprint, Put, Version
from memorywire.model.errors import Conflict, Duplicate, IdempotencyConflict, InvalidRequest
from memorywire.model.kv import saying
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.search.reference import Candidate, floats, rank
from memorywire.search.relevance import read_tokens
from memorywire.search.text import terms


class _Link(Struct, frozen=True, kw_only=True):
    """One version and the data derived from it."""

    version: Version
    scope: Scope
    digest: str | None
    vector: tuple[float, ...] | None
    terms: Counter[str]
    tokens: bytes | None = None

    @property
    def live(self) -> bool:
        return self.version.ended is None

    @property
    def erased(self) -> bool:
        return self.version.record is None


class _Commit(Struct, frozen=True):
    change: Change
    sequence: int


_Key: TypeAlias = tuple[str, str]  # tenant, id
_Chain: TypeAlias = tuple[_Link, ...]  # oldest first; only the last may be live


def _current(chain: _Chain, times: Mapping[int, int], as_of: int | None) -> _Link | None:
    """Return the version that is current now, or was current at a past time by the times of changes.

    Commit order would be enough if clocks only went forward. After a step back a version may end before it
    begins, so the newest version that had begun by then decides.
    """
    candidates = [link for link in chain if as_of is None or times[link.version.began] <= as_of]
    if not candidates:
        return None
    end = candidates[-1].version.ended
    return candidates[-1] if end is None or (as_of is not None and times[end] > as_of) else None


async def open_store(url: str, *, space: Space) -> "MemoryStore":
    """Return a new, empty store; raises InvalidRequest for any URL but `memory://`."""
    if url != "memory://":
        raise InvalidRequest("memory:// takes no path or options", field="store", fix="memory://")
    return MemoryStore(space)


class MemoryStore:
    """Stores chains of versions in a dict; also has history, change log, listing and recall counts."""

    name = "memory"
    features = frozenset(Feature) - {Feature.DURABLE, Feature.GRAPH}

    def __init__(self, space: Space) -> None:
        self._space = space
        self._chains: dict[_Key, _Chain] = {}
        self._commits: dict[_Key, _Commit] = {}
        self._recalled: dict[_Key, int] = {}
        self._recalls: Counter[_Key] = Counter()

    async def write(self, change: Change) -> int:
        tenant = change.scope.tenant
        commit = self._commits.get((tenant, change.id))
        if commit is not None:
            return commit.sequence
        if change.key is not None and self._by_key(change.scope, change.key) is not None:
            raise IdempotencyConflict("the idempotency key is already used", field="idempotency_key")
        draft = _Draft(self._chains, change, len(self._commits) + 1, self._space)
        erasures = draft.apply()
        self._chains.update(draft.chains.maps[0])
        self._commits[tenant, change.id] = _Commit(
            replace(change, put=(), end=(), erase=()), sequence=draft.sequence
        )
        for id in erasures:
            self._forget_traces((tenant, id), change.id)
        return draft.sequence

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        current = [link for id in ids for link in self._chain(scope, id) if link.live]
        return [_own(self._read(link.version.record)) for link in current if link.version.record]

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        records = sorted((record for record, _ in self._matching(where)), key=lambda record: record.id)
        return [record for record in records if after is None or record.id > after][:limit]

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        records = sorted((record for record, _ in self._matching(where)), key=lambda record: record.id)
        return [record for record in reversed(records) if before is None or record.id < before][:limit]

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        live = (chain[-1].scope for chain in self._chains.values() if chain[-1].live)
        return sorted(Counter(scope.agent for scope in live if scope.tenant == tenant).items())

    async def count(self, where: Where) -> int:
        return sum(1 for _ in self._matching(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        candidates = [
            Candidate(record, link.vector, link.terms, link.tokens)
            for record, link in self._matching(query.where)
        ]
        vector = None if query.vector is None else floats(query.vector)
        return rank(candidates, vector, query, limit)

    async def duplicate(self, record: Record, at: int) -> Record | None:
        link = _same_content(self._chains, record, at)
        return None if link is None else _own(self._read(link))

    async def health(self) -> Mapping[str, Json]:
        return {
            "ok": True,
            "records": sum(1 for chain in self._chains.values() if chain[-1].live),
            "versions": sum(len(chain) for chain in self._chains.values()),
        }

    async def close(self) -> None:
        """Do nothing."""

    async def history(self, scope: Scope, id: str) -> list[Version]:
        return [_deep_copy(link.version) for link in self._chain(scope, id)]

    async def footprint(self, scope: Scope, change_id: str) -> Footprint | None:
        commit = self._commits.get((scope.tenant, change_id))
        if commit is None or not scope.covers(commit.change.scope):
            return None
        return self._footprint(commit)

    async def committed(self, scope: Scope, key: str) -> Footprint | None:
        commit = self._by_key(scope, key)
        return None if commit is None else self._footprint(commit)

    async def changes(self, scope: Scope, limit: int) -> list[Change]:
        changes = [c.change for c in self._commits.values() if scope.covers(c.change.scope)]
        return changes[::-1][:limit]

    async def agents(self, tenant: str) -> list[str]:
        scopes = (commit.change.scope for commit in self._commits.values())
        return sorted({scope.agent for scope in scopes if scope.tenant == tenant})

    async def log(self, scope: Scope, after: int, limit: int) -> list[Footprint]:
        behind = (commit for commit in self._commits.values() if commit.sequence > after)
        return [self._footprint(commit) for commit in behind if scope.covers(commit.change.scope)][:limit]

    async def origins(self, tenant: str, ids: Sequence[str]) -> Mapping[str, str]:
        chains = {id: self._chains.get((tenant, id), ()) for id in ids}
        return {id: chain[0].version.began_by for id, chain in chains.items() if chain}

    async def known(self, tenant: str, change_ids: Sequence[str]) -> Mapping[str, str]:
        commits = {id: self._commits.get((tenant, id)) for id in change_ids}
        return {id: commit.change.scope.agent for id, commit in commits.items() if commit is not None}

    async def vectors(self, tenant: str, versions: Sequence[tuple[str, int]]) -> list[bytes | None]:
        links = [self._chains[tenant, id][number - 1].vector for id, number in versions]
        return [None if vector is None else struct.pack(f"<{len(vector)}f", *vector) for vector in links]

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        for id in ids:
            chain = self._chain(scope, id)
            if chain and chain[-1].live:
                key = (scope.tenant, id)
                self._recalled[key] = max(at, self._recalled.get(key, at))
                self._recalls[key] += 1

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return [self._recalls[record.scope.tenant, record.id] for record in records]

    def _chain(self, scope: Scope, id: str) -> _Chain:
        chain = self._chains.get((scope.tenant, id), ())
        return chain if chain and scope.covers(chain[-1].scope) else ()

    def _matching(self, where: Where) -> Iterator[tuple[Record, _Link]]:
        times = {commit.sequence: commit.change.at for commit in self._commits.values()}
        for chain in self._chains.values():
            link = _current(chain, times, where.as_of)
            if link is not None and link.version.record is not None:
                record = self._read(link.version.record)
                if where.matches(record):
                    yield _own(record), link

    def _read(self, record: Record) -> Record:
        """Return the record with the time it was last recalled."""
        return replace(record, recalled_at=self._recalled.get((record.scope.tenant, record.id)))

    def _by_key(self, scope: Scope, key: str) -> _Commit | None:
        owner = (scope.tenant, scope.agent, key)
        for commit in self._commits.values():
            change = commit.change
            if (change.scope.tenant, change.scope.agent, change.key) == owner:
                return commit
        return None

    def _footprint(self, commit: _Commit) -> Footprint:
        versions = [
            _deep_copy(link.version)
            for (tenant, _), chain in sorted(self._chains.items())
            if tenant == commit.change.scope.tenant
            for link in chain
        ]
        return Footprint(
            change=commit.change,
            sequence=commit.sequence,
            began=tuple(v for v in versions if v.began == commit.sequence),
            ended=tuple(v for v in versions if v.ended == commit.sequence),
        )

    def _forget_traces(self, key: _Key, by: str) -> None:
        """Remove data that could reveal a content that change `by` erased.

        These are request fingerprints, reasons of the changes that began or ended it, and recall times.
        """
        self._recalled.pop(key, None)
        self._recalls.pop(key, None)
        tenant, id = key
        begun_by = {link.version.began_by for link in self._chains[key]}
        ended_by = {link.version.ended_by for link in self._chains[key]} - {by}
        for (owner, change_id), commit in self._commits.items():
            if owner == tenant and (change_id in begun_by or commit.change.about == id):
                forgetful = replace(commit.change, fingerprint=None, reason=None)
                self._commits[owner, change_id] = replace(commit, change=forgetful)
            elif owner == tenant and change_id in ended_by:
                self._commits[owner, change_id] = replace(commit, change=replace(commit.change, reason=None))


class _Draft:
    """Applies a change to copies of the chains; `apply` raises, or `chains` holds the altered ones."""

    def __init__(self, chains: dict[_Key, _Chain], change: Change, sequence: int, space: Space) -> None:
        self.chains: ChainMap[_Key, _Chain] = ChainMap({}, chains)
        self.sequence = sequence
        self._change = change
        self._space = space

    def apply(self) -> list[str]:
        """Apply ends before puts, so that a put may repeat ended content; return the erased ids."""
        for end in self._change.end:
            self._end(end)
        for put in self._change.put:
            self._put(put)
        return [id for id in self._change.erase if self._erase(id)]

    def _end(self, end: End) -> None:
        key, chain = self._find_covered(end.id)
        if not chain or chain[-1].erased:
            raise Conflict("no memory has this id", field="id")
        if not chain[-1].live or chain[-1].version.number != end.version:
            raise Conflict("the memory is no longer at this version", field="if_version")
        self.chains[key] = (*chain[:-1], self._end_link(chain[-1], end.reason, end.into))

    def _put(self, put: Put) -> None:
        record = put.record
        chain = self._base(put)
        if put.unique:
            existing = _same_content(self.chains, record, self._change.at)
            if existing is not None:
                raise Duplicate(existing.id)
        vector = self._vector(put, chain)
        if put.base is Base.LIVE:
            chain = (*chain[:-1], self._end_link(chain[-1], EndReason.REPLACED, None))
        version = Version(
            id=record.id,
            number=record.version,
            record=replace(_own(record), recalled_at=None),
            began=self.sequence,
            began_at=self._change.at,
            began_by=self._change.id,
        )
        link = _Link(
            version=version,
            scope=record.scope,
            digest=saying(record),
            vector=vector,
            terms=terms(record.text),
            tokens=chain[put.like - 1].tokens if put.like and put.vector is None else read_tokens(put.vector),
        )
        self.chains[record.scope.tenant, record.id] = (*chain, link)

    def _base(self, put: Put) -> _Chain:
        """Return the chain that this put continues; raises Conflict if it is not as the put expects."""
        record = put.record
        _, chain = self._find_covered(record.id)
        exists = (record.scope.tenant, record.id) in self.chains
        in_scope = self._change.scope.covers(record.scope)
        if not in_scope or (put.base is Base.NOTHING and exists):
            raise Conflict("the id is taken", field="id")
        if put.base is not Base.NOTHING and (
            not chain or chain[-1].erased or chain[-1].scope != record.scope
        ):
            raise Conflict("no memory has this id", field="id")
        live = bool(chain) and chain[-1].live
        if live != (put.base is Base.LIVE) or record.version != len(chain) + 1:
            raise Conflict("the memory is no longer at this version", field="if_version")
        return chain

    def _vector(self, put: Put, chain: _Chain) -> tuple[float, ...] | None:
        if put.vector is not None:
            if len(put.vector) != 4 * self._space.dimension:
                raise InvalidRequest(f"the vector is not of the space {self._space}", field="vector")
            form = f"<{self._space.dimension}e"  # float16, as in every store
            return struct.unpack(form, struct.pack(form, *floats(put.vector)))
        if put.like is not None:
            if not 1 <= put.like <= len(chain):
                raise Conflict(f"there is no version {put.like} to take the vector from", field="if_version")
            return chain[put.like - 1].vector
        return None

    def _erase(self, id: str) -> bool:
        key, chain = self._find_covered(id)
        if chain:
            self.chains[key] = tuple(self._scrub(link) for link in chain)
        return bool(chain)

    def _scrub(self, link: _Link) -> _Link:
        last = self._end_link(link, EndReason.ERASED, None) if link.live else link
        version = replace(last.version, record=None, reason=EndReason.ERASED, into=None)
        return replace(last, version=version, digest=None, vector=None, terms=Counter(), tokens=None)

    def _end_link(self, link: _Link, reason: EndReason, into: str | None) -> _Link:
        version = replace(
            link.version,
            ended=self.sequence,
            ended_at=self._change.at,
            ended_by=self._change.id,
            reason=reason,
            into=into,
        )
        return replace(link, version=version)

    def _find_covered(self, id: str) -> tuple[_Key, _Chain]:
        key = (self._change.scope.tenant, id)
        chain = self.chains.get(key, ())
        return key, chain if chain and self._change.scope.covers(chain[-1].scope) else ()


def _same_content(chains: Mapping[_Key, _Chain], record: Record, at: int) -> Record | None:
    """Return the oldest other live record of exactly this scope with the same content, or None."""
    digest = saying(record)
    if digest is None:
        return None
    live = [chain[-1] for chain in chains.values() if chain[-1].live and chain[-1].digest == digest]
    same = [link.version.record for link in live if link.version.record and link.scope == record.scope]
    others = [other for other in same if other.id != record.id and other.alive(at)]
    return min(others, key=lambda other: other.id, default=None)


def _own(record: Record) -> Record:
    """Return a copy that shares no mutable part with the record."""
    return replace(record, content=_plain(record.content), metadata=_plain(record.metadata))


def _deep_copy(version: Version) -> Version:
    return version if version.record is None else replace(version, record=_own(version.record))


def _plain(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
