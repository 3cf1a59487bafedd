"""A folder of Markdown files as a store: people may edit them; a sidecar keeps versions and ids."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Put
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.kv import saying
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.search.reference import Candidate, Vector, floats, rank
from memorywire.stores.sheet import Broken, Defaults, read, sheet
from memorywire_adapters.markdown.folder import Folder, Index, Stamp, fingerprint
from memorywire_adapters.sidecar import (
    FEATURES,
    Draft,
    Line,
    OneThread,
    Ref,
    Sidecar,
    State,
    WriteLock,
    draft,
    fitting,
    floats_of,
    half,
    no_history,
    version_like,
)

_NO_LIMIT = 1_000_000_000


class Page(Struct, frozen=True):
    """A file as last read: the record in it, or the reason why it is broken."""

    stamp: Stamp
    fingerprint: str
    record: Record | None
    terms: Counter[str]
    vector: Vector | None = None
    broken: str | None = None


class AgentFiles(Struct):
    """The memories of an agent, as in the files and the sidecar, and the files without a valid memory."""

    listing: dict[str, Stamp] = field(default_factory=dict)
    memories: dict[str, Candidate] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    edition: int = -1


class Reader:
    """Reads the files that changed since the last read, and updates the sidecar."""

    def __init__(self, folder: Folder, sidecar: Sidecar, index: Index) -> None:
        self._folder = folder
        self._sidecar = sidecar
        self._index = index
        self._pages: dict[Scope, dict[str, Page]] = {}
        self._agents: dict[Scope, AgentFiles] = {}

    def read_agent(self, scope: Scope) -> AgentFiles:
        """Return the memories of the agent from its current files."""
        agent = replace(scope, user=None)
        listing = self._folder.list_files(agent)
        state = self._agents.get(agent)
        if state is None or state.listing != listing or state.edition != self._sidecar.edition():
            state = self._agents[agent] = self._read_state(agent, listing)
        return state

    def invalidate(self, scope: Scope) -> None:
        """Drop the cached state of the agent, so that the next read builds it again."""
        self._agents.pop(replace(scope, user=None), None)

    def fingerprints(self) -> set[str]:
        """Return the fingerprints of all files that have been read and still exist."""
        return {page.fingerprint for pages in self._pages.values() for page in pages.values()}

    def _read_state(self, agent: Scope, listing: dict[str, Stamp]) -> AgentFiles:
        read_agent = AgentFiles(listing=listing, edition=self._sidecar.edition())
        lines = {line.id: line for line in self._sidecar.page(agent, None, _NO_LIMIT)}
        before = self._pages.get(agent, {})
        pages = self._pages[agent] = {  # a file is read again only if it changed
            place: before[place]
            if place in before and before[place].stamp == stamp
            else self._read(agent, place, stamp)
            for place, stamp in listing.items()
        }
        owners = _find_owners(pages, read_agent, lines)
        claims = [self._claim_file(page, place, lines, read_agent) for place, page in owners.items()]
        ids = {page.record.id for page in owners.values() if page.record is not None}
        gone = [line for line in lines.values() if line.id not in ids and line.key not in listing]
        changes = [
            *(line for line in claims if line is not None),
            *(replace(line, state=State.ENDED, digest=None, key=None, handle=None) for line in gone),
        ]
        if changes:
            self._sidecar.amend(changes)
        return read_agent

    def _read(self, agent: Scope, place: str, stamp: Stamp) -> Page:
        content = self._folder.read(place)
        name = fingerprint(content)
        id = place.rsplit("/", 1)[-1].removesuffix(".md")
        defaults = Defaults(scope=agent, id=id, written_at=stamp[2] // 1_000_000)
        try:
            record = read(content.decode(), defaults)
        except UnicodeDecodeError:
            return Page(stamp, name, None, Counter(), broken="it is not UTF-8")
        except Broken as broken:
            return Page(stamp, name, None, Counter(), broken=broken.detail)
        # A file written by hand has no vector: only its words are searched.
        bits = self._sidecar.vector(name)
        vector = None if bits is None else floats(floats_of(bits))
        return Page(stamp, name, record, self._index.get_words(name, record.text), vector)

    def _claim_file(
        self, page: Page, place: str, lines: dict[str, Line], read_agent: AgentFiles
    ) -> Line | None:
        """Add the memory of the file to `read_agent`; return the row to write to the sidecar, if any."""
        record = page.record
        if record is None:
            return None
        line = lines.get(record.id) or self._sidecar.line(record.scope.tenant, record.id)
        if line is not None and (line.state is State.ERASED or line.scope != record.scope):
            read_agent.broken[place] = (
                "its memory was erased; remove the file"
                if line.state is State.ERASED
                else "its id belongs to another agent or user"
            )
            return None
        is_known = line is not None and line.live and line.handle == page.fingerprint
        version = record.version if line is None else line.version + (0 if is_known else 1)
        recalled_at = None if line is None else line.recalled_at
        current = replace(record, version=version, recalled_at=recalled_at)
        read_agent.memories[record.id] = Candidate(current, page.vector, page.terms)
        if is_known and line is not None and line.key == place:
            return None
        return Line(
            id=record.id,
            scope=record.scope,
            version=version,
            digest=saying(record),
            expires_at=record.expires_at,
            key=place,
            handle=page.fingerprint,
            recalled_at=recalled_at,
        )


def _find_owners(pages: dict[str, Page], read_agent: AgentFiles, lines: dict[str, Line]) -> dict[str, Page]:
    """Return one file per memory; if two files have the same id, the one in the sidecar wins."""
    owners: dict[str, Page] = {}
    places: dict[str, str] = {}
    known_places = {line.key for line in lines.values()}
    for place, page in sorted(pages.items(), key=lambda one: (one[0] not in known_places, one[0])):
        if page.record is None:
            read_agent.broken[place] = str(page.broken)
        elif page.record.id in places:
            read_agent.broken[place] = f"its id is also in {places[page.record.id]}"
        else:
            places[page.record.id] = place
            owners[place] = page
    return owners


T = TypeVar("T")


class MarkdownStore:
    """Satisfies Store, Tracker, RecallCounter and SupportsListing.

    The sidecar holds the vectors of memories written through the store. A change is committed by one
    transaction of the sidecar, after its new files are staged on disk; the next caller completes a commit
    that a crash interrupted. `health` reports a file that cannot be parsed; it is never overwritten.
    """

    name = "markdown"
    features = FEATURES | {Feature.DURABLE}

    def __init__(
        self, folder: Folder, sidecar: Sidecar, write_lock: WriteLock, thread: OneThread, space: Space
    ) -> None:
        self._folder = folder
        self._sidecar = sidecar
        self._write_lock = write_lock
        self._thread = thread
        self._space = space
        self._index = Index(folder.own / "inverted_index.json")
        self._reader = Reader(folder, sidecar, self._index)

    async def _run_locked(self, work: Callable[[], T]) -> T:
        """Do the work under the write lock, after completing what an interrupted process left unfinished."""

        def recover_and_run() -> T:
            for name, content in self._folder.read_staged().items():
                line = self._find_committed(name, content)
                if line is None:
                    self._folder.discard(name)
                else:
                    self._folder.publish({name: str(line.key)})
            self._sweep()
            return work()

        async with self._write_lock:
            try:
                return await self._thread.do(recover_and_run)
            except OSError as error:
                raise StoreUnavailable(
                    f"the folder cannot be used: {error.strerror}", fix="check free space and permissions"
                ) from error

    def _find_committed(self, name: str, content: bytes) -> Line | None:
        """Return the sidecar's row for a staged file, if that file is the current version."""
        try:
            record = read(content.decode(), Defaults(scope=None, id="", written_at=0))
        except (Broken, UnicodeDecodeError):
            return None  # a partial write: the disk was full or the power failed
        line = self._sidecar.line(record.scope.tenant, record.id)
        return line if line is not None and line.live and line.handle == name else None

    def _sweep(self) -> None:
        """Remove the files of ended memories, unless they were edited since."""
        litter = self._sidecar.list_garbage()
        if litter:
            refs = [ref for ref in litter if fingerprint(self._folder.read(ref.key)) == ref.handle]
            self._folder.remove([ref.key for ref in refs])
            self._sidecar.forget_garbage(litter)

    async def write(self, change: Change) -> int:
        return await self._run_locked(lambda: self._write(change))

    def _write(self, change: Change) -> int:
        existing = self._sidecar.sequence(change)
        if existing is not None:
            return existing
        read_agent = self._reader.read_agent(change.scope)
        plan = draft(change, self._sidecar)
        before = self._sidecar.lines(change.scope.tenant, list(plan.lines))
        lines = []
        for line in plan.lines.values():
            put, previous = plan.puts.get(line.id), before.get(line.id)
            if put is not None:  # an existing file keeps its path, a new one gets a path
                place = None if previous is None or not previous.live else previous.key
                line = replace(line, key=place or self._folder.build_path(put.record))
            lines.append(line)
        self._refuse_to_overwrite(lines, before, read_agent)
        vectors = {id: self._vector(put, before.get(id)) for id, put in plan.puts.items()}
        final = [self._stage_file(line, plan) for line in lines]
        self._sidecar.keep_vectors((line.handle, vectors.get(line.id)) for line in final)
        keys = {line.key for line in final}
        old = [line for line in before.values() if line.live and line.key not in keys]
        old_refs = [Ref(key=str(line.key), scope=line.scope, handle=line.handle) for line in old]
        sequence = self._sidecar.commit(change, final, old_refs)
        self._folder.publish({line.handle: str(line.key) for line in final if line.handle is not None})
        self._sweep()
        self._reader.invalidate(change.scope)
        if change.erase:
            self._scrub(change.scope)
        return sequence

    def _scrub(self, scope: Scope) -> None:
        """Remove deleted data from all derived files: the index, the vectors and the sidecar's log."""
        for agent in {scope, *self._sidecar.agents()}:
            self._reader.read_agent(agent)
        fingerprints = self._reader.fingerprints()
        self._index.retain(fingerprints)
        self._sidecar.retain_vectors(fingerprints)
        self._sidecar.scrub()

    def _stage_file(self, line: Line, plan: Draft) -> Line:
        put = plan.puts.get(line.id)
        if put is None:
            return line
        try:
            content = sheet(replace(put.record, recalled_at=None)).encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest("the text contains a lone surrogate", field="content") from error
        return replace(line, handle=self._folder.stage(content))

    def _vector(self, put: Put, before: Line | None) -> bytes | None:
        """Return the vector in float16: that of the put, or that of the live version it copies."""
        if put.vector is not None:
            return half(fitting(put.vector, self._space))
        if put.like is None:
            return None
        same = version_like(put.like, before)
        return None if same is None else self._sidecar.vector(same.handle)

    def _refuse_to_overwrite(
        self, lines: list[Line], before: Mapping[str, Line], read_agent: AgentFiles
    ) -> None:
        """Raise StoreCorrupt if a file changed since it was read, or if the path of a new one is taken."""
        stamps = {
            str(line.key): read_agent.listing.get(str(line.key)) for line in before.values() if line.live
        }
        for place in sorted({*stamps, *(line.key for line in lines if line.key is not None)}):
            if place in read_agent.broken or self._folder.read_stamp(place) != stamps.get(place):
                wrong = read_agent.broken.get(place, "it is not what was last read")
                raise StoreCorrupt(
                    f"the file {place} was added or edited by hand: {wrong}",
                    fix="correct the file or move it away, then retry",
                )

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        memories = await self._run_locked(lambda: self._reader.read_agent(scope).memories)
        records = [memories[id].record for id in ids if id in memories]
        return [_copy(record) for record in records if scope.covers(record.scope)]

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        records = sorted((one.record for one in await self._matching(where)), key=lambda record: record.id)
        return [_copy(record) for record in records if after is None or record.id > after][:limit]

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        records = [one.record for one in await self._matching(where)]
        below = [record for record in records if before is None or record.id < before]
        return [_copy(record) for record in sorted(below, key=lambda record: record.id, reverse=True)[:limit]]

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """Read the files of every agent in the sidecar."""

        def count_agents() -> list[tuple[str, int]]:
            scopes = (scope for scope in self._sidecar.agents() if scope.tenant == tenant)
            return [(scope.agent, len(self._reader.read_agent(scope).memories)) for scope in scopes]

        return [(agent, count) for agent, count in await self._run_locked(count_agents) if count]

    async def count(self, where: Where) -> int:
        return len(await self._matching(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        vector = None if query.vector is None else floats(query.vector)
        hits = rank(await self._matching(query.where), vector, query, limit)
        return [replace(hit, record=_copy(hit.record)) for hit in hits]

    async def _matching(self, where: Where) -> list[Candidate]:
        if where.as_of is not None:
            raise no_history()
        read_agent = await self._run_locked(lambda: self._reader.read_agent(where.scope))
        return [one for one in read_agent.memories.values() if where.matches(one.record)]

    async def duplicate(self, record: Record, at: int) -> Record | None:
        digest = saying(record)
        read_agent = await self._run_locked(lambda: self._reader.read_agent(record.scope))
        if digest is None:
            return None
        others = [one.record for one in read_agent.memories.values() if one.record.id != record.id]
        near = [other for other in others if other.scope == record.scope and other.alive(at)]
        same = [other for other in near if saying(other) == digest]
        first = min(same, key=lambda other: other.id, default=None)
        return None if first is None else _copy(first)

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        def touch_files() -> None:
            self._reader.read_agent(scope)
            self._sidecar.touch(scope, ids, at)
            self._reader.invalidate(scope)

        await self._run_locked(touch_files)

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return await self._run_locked(lambda: self._sidecar.recalls(records))

    async def health(self) -> Mapping[str, Json]:
        """Read the files of every agent in the sidecar; `broken` has each unreadable file and the reason."""
        agents = await self._run_locked(
            lambda: [self._reader.read_agent(agent) for agent in self._sidecar.agents()]
        )
        broken = [pair for one in agents for pair in one.broken.items()]
        return {
            "ok": True,
            "records": sum(len(one.memories) for one in agents),
            "broken": [{"file": place, "detail": detail} for place, detail in broken],
            "strays": await self._run_locked(self._folder.list_strays),
        }

    async def close(self) -> None:
        await self._thread.do(self._index.save)
        await self._thread.do(self._sidecar.close)
        self._thread.end()
        self._write_lock.close()


def _copy(record: Record) -> Record:
    """Return a copy of the record, which the caller can change without changing the cache."""
    return replace(record, content=_deep_copy(record.content), metadata=_deep_copy(record.metadata))


def _deep_copy(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _deep_copy(inner) for name, inner in value.items()}
    return [_deep_copy(inner) for inner in value] if isinstance(value, list) else value
