"""Applies a change to the sidecar's rows in memory: raises Conflict, or returns the resulting rows.

The rules are those of stores/memory.py, for stores that have only the last version of each memory.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.model.change import Base, Change, End, Put
from memorywire.model.errors import Conflict, Duplicate
from memorywire.model.kv import saying
from memorywire.model.record import Record, Scope


class State(StrEnum):
    LIVE = "live"
    ENDED = "ended"
    ERASED = "erased"


class Ref(Struct, frozen=True, kw_only=True):
    """A reference to an entry: our key, and the product's handle if `keep` returned one.

    Without a handle the product searches for the key, or finds nothing.
    """

    key: str
    scope: Scope
    handle: str | None = None


class Line(Struct, frozen=True, kw_only=True):
    """The sidecar's row for a memory: its scope, last version and state."""

    id: str
    scope: Scope
    version: int
    state: State = State.LIVE
    digest: str | None = None
    expires_at: int | None = None
    key: str | None = None
    handle: str | None = None
    recalled_at: int | None = None

    @property
    def live(self) -> bool:
        return self.state is State.LIVE

    def alive(self, at: int) -> bool:
        return self.live and (self.expires_at is None or at < self.expires_at)


class DraftSource(Protocol):
    """The methods of the sidecar that `draft` needs."""

    def line(self, tenant: str, id: str) -> Line | None: ...

    def saying(self, scope: Scope, digest: str) -> Iterable[Line]:
        """Return the live memories of exactly this scope with this digest."""
        ...


class Draft(Struct, frozen=True):
    """The result of a change: the rows of the memories it touches, and the puts that are current after it."""

    lines: Mapping[str, Line]
    puts: Mapping[str, Put] = field(default_factory=dict)


def draft(change: Change, source: DraftSource) -> Draft:
    """Apply ends first, so that a put may repeat content its own change ends; then puts, then erasures."""
    page = _DraftBuilder(change, source)
    for end in change.end:
        page.end(end)
    for put in change.put:
        page.put(put)
    for id in change.erase:
        page.erase(id)
    return Draft(page.lines, page.puts)


def version_like(version: int, line: Line | None) -> Line | None:
    """Return the live row whose vector a put may copy; None if that version ended. Raises Conflict."""
    if line is None or not 1 <= version <= line.version:
        raise Conflict(f"there is no version {version} to take the vector from", field="if_version")
    return line if line.live and line.version == version else None


class _DraftBuilder:
    def __init__(self, change: Change, source: DraftSource) -> None:
        self._change = change
        self._source = source
        self.lines: dict[str, Line] = {}
        self.puts: dict[str, Put] = {}

    def end(self, end: End) -> None:
        line = self._find_covered(end.id)
        if line is None or line.state is State.ERASED:
            raise Conflict("no memory has this id", field="id")
        if not line.live or line.version != end.version:
            raise Conflict("the memory is no longer at this version", field="if_version")
        self._close(line, State.ENDED)

    def put(self, put: Put) -> None:
        record, before = put.record, self._find_line(put.record.id)
        is_new = put.base is Base.NOTHING
        if not self._change.scope.covers(record.scope) or (is_new and before is not None):
            raise Conflict("the id is taken", field="id")
        line = self._find_covered(record.id)
        if not is_new and (line is None or line.state is State.ERASED or line.scope != record.scope):
            raise Conflict("no memory has this id", field="id")
        live, last = (False, 0) if line is None else (line.live, line.version)
        if live != (put.base is Base.LIVE) or record.version != last + 1:
            raise Conflict("the memory is no longer at this version", field="if_version")
        if put.unique:
            self._refuse_repetition(record)
        self.lines[record.id] = Line(
            id=record.id,
            scope=record.scope,
            version=record.version,
            digest=saying(record),
            expires_at=record.expires_at,
            recalled_at=None if before is None else before.recalled_at,
        )
        self.puts[record.id] = put

    def erase(self, id: str) -> None:
        line = self._find_covered(id)
        if line is not None:
            self._close(line, State.ERASED)

    def _close(self, line: Line, state: State) -> None:
        update = replace(line, state=state, digest=None, key=None, handle=None, expires_at=None)
        self.lines[line.id] = replace(update, recalled_at=None) if state is State.ERASED else update
        self.puts.pop(line.id, None)

    def _refuse_repetition(self, record: Record) -> None:
        digest = saying(record)
        if digest is None:
            return
        inside = [line for line in self.lines.values() if line.digest == digest]
        before = self._source.saying(record.scope, digest)
        outside = [line for line in before if line.id not in self.lines]
        same = [line.id for line in (*inside, *outside) if self._is_duplicate(line, record)]
        if same:
            raise Duplicate(min(same))

    def _is_duplicate(self, line: Line, record: Record) -> bool:
        return line.id != record.id and line.scope == record.scope and line.alive(self._change.at)

    def _find_covered(self, id: str) -> Line | None:
        line = self._find_line(id)
        return line if line is not None and self._change.scope.covers(line.scope) else None

    def _find_line(self, id: str) -> Line | None:
        return self.lines.get(id) or self._source.line(self._change.scope.tenant, id)
