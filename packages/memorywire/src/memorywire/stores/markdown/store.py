"""A folder of Markdown files as a store: people may edit the files, and the books keep the promises."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from memorywire.model.capabilities import Feature
from memorywire.model.change import Change, Put
from memorywire.model.errors import InvalidRequest, StoreCorrupt, StoreUnavailable
from memorywire.model.kv import saying
from memorywire.model.query import Query, Scored, Where
from memorywire.model.record import Json, Record, Scope
from memorywire.model.space import Space
from memorywire.search.reference import Candidate, floats, rank
from memorywire.stores.markdown.folder import Folder, Index, fingerprint
from memorywire.stores.markdown.reader import AgentIndex, Reader
from memorywire.stores.markdown.sheet import Broken, Defaults, read, sheet
from memorywire.stores.products.drafts import Draft, Line, draft, version_like
from memorywire.stores.products.product import OneThread, Ref, half
from memorywire.stores.products.sidecar import Books, Turn
from memorywire.stores.products.store import VENDOR_FEATURES, fitting, no_history

T = TypeVar("T")


class MarkdownStore:
    """Satisfies Store, Tracker, RecallCounter and Surveyor.

    Vectors lie beside the files, for what was written here. A change is committed by one transaction of the
    books, when its new files are on the disk beside their places; whoever comes next finishes what a crash
    interrupted. A file that cannot be read is reported by `health` and never written over.
    """

    name = "markdown"
    features = VENDOR_FEATURES | {Feature.DURABLE}

    def __init__(self, folder: Folder, books: Books, turn: Turn, thread: OneThread, space: Space) -> None:
        self._folder = folder
        self._books = books
        self._turn = turn
        self._thread = thread
        self._space = space
        self._index = Index(folder.own / "inverted_index.json")
        self._reader = Reader(folder, books, self._index)

    async def _do(self, work: Callable[[], T]) -> T:
        """Do the work in turn with other processes, after finishing what one of them left unfinished."""
        async with self._turn:
            try:
                return await self._thread.do(lambda: self._recovered(work))
            except OSError as error:
                raise StoreUnavailable(
                    f"the folder cannot be used: {error.strerror}", fix="check free space and permissions"
                ) from error

    def _recovered(self, work: Callable[[], T]) -> T:
        for name, content in self._folder.staged().items():
            line = self._committed(name, content)
            if line is None:
                self._folder.unstage(name)
            else:
                self._folder.settle({name: str(line.key)})
        self._sweep()
        return work()

    def _committed(self, name: str, content: bytes) -> Line | None:
        """The books' line for a staged file, if it is the current version."""
        try:
            record = read(content.decode(), Defaults(scope=None, id="", written_at=0))
        except (Broken, UnicodeDecodeError):
            return None  # the disk was full, or the power went
        line = self._books.line(record.scope.tenant, record.id)
        return line if line is not None and line.live and line.handle == name else None

    def _sweep(self) -> None:
        """Remove the files of what has ended, unless somebody has written into them since."""
        litter = self._books.litter()
        if litter:
            refs = [ref for ref in litter if fingerprint(self._folder.read(ref.key)) == ref.handle]
            self._folder.remove([ref.key for ref in refs])
            self._books.dropped(litter)

    async def write(self, change: Change) -> int:
        return await self._do(lambda: self._write(change))

    def _write(self, change: Change) -> int:
        existing = self._books.sequence(change)
        if existing is not None:
            return existing
        agent_index = self._reader.agent_index(change.scope)
        plan = draft(change, self._books)
        before = self._books.lines(change.scope.tenant, list(plan.lines))
        lines = [self._placed(line, plan, before) for line in plan.lines.values()]
        self._refuse_to_overwrite(lines, before, agent_index)
        vectors = {id: self._vector(put, before.get(id)) for id, put in plan.puts.items()}
        final = [self._staged(line, plan) for line in lines]
        self._books.keep_vectors((line.handle, vectors.get(line.id)) for line in final)
        keys = {line.key for line in final}
        old_refs = [_ref(line) for line in before.values() if line.live and line.key not in keys]
        sequence = self._books.commit(change, final, old_refs)
        self._folder.settle({line.handle: str(line.key) for line in final if line.handle is not None})
        self._sweep()
        self._reader.forget(change.scope)
        if change.erase:
            self._scrub(change.scope)
        return sequence

    def _scrub(self, scope: Scope) -> None:
        """Remove what is gone from everything derived of it: the index, the vectors, the log of the books."""
        for agent in {scope, *self._books.agents()}:
            self._reader.agent_index(agent)
        fingerprints = self._reader.fingerprints()
        self._index.keep_only(fingerprints)
        self._books.keep_only_vectors(fingerprints)
        self._books.scrub()

    def _placed(self, line: Line, plan: Draft, before: Mapping[str, Line]) -> Line:
        """The line with the place of its file: the present one, or one for a new file."""
        put = plan.puts.get(line.id)
        if put is None:
            return line
        previous = before.get(line.id)
        place = None if previous is None or not previous.live else previous.key
        return replace(line, key=place or self._folder.place(put.record))

    def _staged(self, line: Line, plan: Draft) -> Line:
        put = plan.puts.get(line.id)
        if put is None:
            return line
        try:
            content = sheet(replace(put.record, recalled_at=None)).encode()
        except UnicodeEncodeError as error:
            raise InvalidRequest("the text holds a lone surrogate", field="content") from error
        return replace(line, handle=self._folder.stage(content))

    def _vector(self, put: Put, before: Line | None) -> bytes | None:
        """The vector in 16 bits: the put's own, or that of the live version it copies."""
        if put.vector is not None:
            return half(fitting(put.vector, self._space))
        if put.like is None:
            return None
        same = version_like(put.like, before)
        return None if same is None else self._books.vector(same.handle)

    def _refuse_to_overwrite(
        self, lines: list[Line], before: Mapping[str, Line], agent_index: AgentIndex
    ) -> None:
        """Refuse if a file changed since it was read, or if another lies where a new one belongs."""
        stamps = {
            str(line.key): agent_index.listing.get(str(line.key)) for line in before.values() if line.live
        }
        for place in sorted({*stamps, *(line.key for line in lines if line.key is not None)}):
            if place in agent_index.broken or self._folder.stamp(place) != stamps.get(place):
                wrong = agent_index.broken.get(place, "it is not what was last read")
                raise StoreCorrupt(
                    f"the file {place} was put there or edited by hand: {wrong}",
                    fix="mend the file or move it away, then retry",
                )

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        memories = await self._do(lambda: self._reader.agent_index(scope).memories)
        records = [memories[id].record for id in ids if id in memories]
        return [_own(record) for record in records if scope.covers(record.scope)]

    async def find(self, where: Where, after: str | None = None, limit: int = 100) -> list[Record]:
        records = sorted((one.record for one in await self._matching(where)), key=lambda record: record.id)
        return [_own(record) for record in records if after is None or record.id > after][:limit]

    async def newest(self, where: Where, before: str | None, limit: int) -> list[Record]:
        records = [one.record for one in await self._matching(where)]
        below = [record for record in records if before is None or record.id < before]
        return [_own(record) for record in sorted(below, key=lambda record: record.id, reverse=True)[:limit]]

    async def owners(self, tenant: str) -> list[tuple[str, int]]:
        """Every agent the books know is looked at."""

        def counted() -> list[tuple[str, int]]:
            scopes = (scope for scope in self._books.agents() if scope.tenant == tenant)
            return [(scope.agent, len(self._reader.agent_index(scope).memories)) for scope in scopes]

        return [(agent, count) for agent, count in await self._do(counted) if count]

    async def count(self, where: Where) -> int:
        return len(await self._matching(where))

    async def search(self, query: Query, limit: int) -> list[Scored]:
        vector = None if query.vector is None else floats(query.vector)
        hits = rank(await self._matching(query.where), vector, query, limit)
        return [replace(hit, record=_own(hit.record)) for hit in hits]

    async def _matching(self, where: Where) -> list[Candidate]:
        if where.as_of is not None:
            raise no_history()
        agent_index = await self._do(lambda: self._reader.agent_index(where.scope))
        return [one for one in agent_index.memories.values() if where.matches(one.record)]

    async def duplicate(self, record: Record, at: int) -> Record | None:
        agent_index = await self._do(lambda: self._reader.agent_index(record.scope))
        others = [one.record for one in agent_index.memories.values()]
        same = [other for other in others if _repeats(other, record) and other.alive(at)]
        first = min(same, key=lambda other: other.id, default=None)
        return None if first is None else _own(first)

    async def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        def touched() -> None:
            self._reader.agent_index(scope)
            self._books.touch(scope, ids, at)
            self._reader.forget(scope)

        await self._do(touched)

    async def recalls(self, records: Sequence[Record]) -> Sequence[int]:
        return await self._do(lambda: self._books.recalls(records))

    async def health(self) -> Mapping[str, Json]:
        """Every agent the books know is looked at; `broken` says what is wrong with which file."""
        index_cache = await self._do(
            lambda: [self._reader.agent_index(agent) for agent in self._books.agents()]
        )
        problems = [
            {"file": place, "detail": detail}
            for agent_index in index_cache
            for place, detail in agent_index.broken.items()
        ]
        return {
            "ok": True,
            "records": sum(len(agent_index.memories) for agent_index in index_cache),
            "broken": problems,
        }

    async def close(self) -> None:
        await self._thread.do(self._close)
        self._thread.end()
        self._turn.close()

    def _close(self) -> None:
        self._index.save()
        self._books.close()


def _ref(line: Line) -> Ref:
    return Ref(key=str(line.key), scope=line.scope, handle=line.handle)


def _repeats(other: Record, record: Record) -> bool:
    digest = saying(record)
    elsewhere = other.id != record.id and other.scope == record.scope
    return elsewhere and digest is not None and digest == saying(other)


def _own(record: Record) -> Record:
    """A copy of the record that the caller may change without changing the shelf."""
    return replace(record, content=_copied(record.content), metadata=_copied(record.metadata))


def _copied(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value
