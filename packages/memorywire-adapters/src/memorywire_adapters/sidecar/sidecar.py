"""The sidecar: a small SQLite file with the data that a product does not store for us.

It holds the owner of each id, the committed changes, the product's ids, and a list of entries to delete from
the product; but no content. A change is committed by a transaction of the sidecar.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import apsw

from memorywire.model.change import Change
from memorywire.model.errors import (
    IdempotencyConflict,
    SpaceMismatch,
    StoreBusy,
    StoreNewer,
    StoreUnavailable,
)
from memorywire.model.record import Record, Scope
from memorywire.model.space import Space
from memorywire.runtime.threadpool import Dismissed, ThreadPool
from memorywire.stores.document import Document
from memorywire.stores.sqlite import Location, RetryPolicy, connect, log_ahead, map_errors, writing
from memorywire_adapters.sidecar.drafts import Line, Ref, State

_QUERIES = Document(__package__, "queries.sql")
_EDITION = 1
_APPLICATION = 0x4D656D42  # "MemB"


T = TypeVar("T")


class Sidecar:
    """One connection; only one thread may use it at a time."""

    def __init__(self, path: Path | None, space: Space) -> None:
        self._location = Location(path=path)
        self._retry_policy = RetryPolicy()
        with map_errors(self._location):
            self._db = connect(self._location)
            self._retry_policy.try_for("open the sidecar", lambda: self._prepare(space))

    def _prepare(self, space: Space) -> None:
        if self._location.path is not None:
            log_ahead(self._db, self._location)
        with writing(self._db, self._retry_policy):
            edition = int(self._db.pragma("user_version"))
            if edition > _EDITION:
                raise StoreNewer(
                    f"the sidecar has schema {edition}; this release knows up to {_EDITION}",
                    fix="upgrade memorywire, or open them with the release that wrote them",
                )
            self._db.execute(_QUERIES["schema"])
            self._db.execute(f"PRAGMA user_version = {_EDITION}")
            self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
            stored = self._ask("about", key="space").get
            if stored is None:
                self._ask("say_about", key="space", value=str(space))
            elif stored != str(space):
                raise SpaceMismatch(
                    f"the store holds vectors of {stored}, not of {space}",
                    field="store",
                    fix="open it with the embedder it was made with, or begin another store",
                )

    def _ask(self, name: str, **values: Any) -> apsw.Cursor:
        return self._db.execute(_QUERIES[name], values)

    def sequence(self, change: Change) -> int | None:
        """Return the sequence of a committed change, or None. Raises IdempotencyConflict on a used key."""
        scope = change.scope
        number = self._ask("sequence", tenant=scope.tenant, change=change.id).get
        if number is not None:
            return int(number)
        is_used = self._ask("key_used", tenant=scope.tenant, agent=scope.agent, key=change.key).get
        if change.key is not None and is_used:
            raise IdempotencyConflict("the idempotency key is already used", field="idempotency_key")
        return None

    def line(self, tenant: str, id: str) -> Line | None:
        return self.lines(tenant, [id]).get(id)

    def lines(self, tenant: str, ids: Sequence[str]) -> Mapping[str, Line]:
        rows = self._ask("lines", tenant=tenant, ids=json.dumps(list(ids)))
        return {line.id: line for line in map(_line, rows)}

    def saying(self, scope: Scope, digest: str) -> list[Line]:
        return [_line(row) for row in self._ask("saying", digest=digest, **_bind_scope(scope))]

    def page(self, scope: Scope, after: str | None, limit: int, *, backwards: bool = False) -> list[Line]:
        """Return the live memories that the scope covers, ordered by id, descending if `backwards`."""
        query = "page_backwards" if backwards else "page"
        return [_line(row) for row in self._ask(query, after=after, limit=limit, **_bind_scope(scope))]

    def owners(self, tenant: str) -> list[tuple[str, int]]:
        """Return the agents of a tenant that have live memories, by name, with the counts."""
        return [(agent, int(count)) for agent, count in self._ask("owners", tenant=tenant)]

    def size(self, scope: Scope) -> int:
        return int(self._ask("size", **_bind_scope(scope)).get)

    def totals(self) -> dict[str, int]:
        return {
            "records": int(self._ask("live").get),
            "to_remove": int(self._ask("litters").get),
        }

    def reserve(self, refs: Iterable[Ref]) -> None:
        """Mark entries for deletion before they are stored; `commit` unmarks them."""
        with writing(self._db, self._retry_policy):
            self._add_garbage(refs)

    def commit(self, change: Change, lines: Iterable[Line], old_refs: Iterable[Ref]) -> int:
        """Write the change and these rows; mark the entries that they replace for deletion."""
        scope = change.scope
        with writing(self._db, self._retry_policy):
            for line in lines:
                self._ask("keep", **_row(line))
                if line.key is not None:
                    self._ask("dropped", keys=json.dumps([line.key]))
            self._add_garbage(old_refs)
            sequence = self._ask(
                "write_down", tenant=scope.tenant, change=change.id, agent=scope.agent, key=change.key
            )
            return int(sequence.get)

    def amend(self, lines: Iterable[Line]) -> None:
        """Write these rows without a change: they record an edit by hand."""
        with writing(self._db, self._retry_policy):
            for line in lines:
                self._ask("keep", **_row(line))

    def agents(self) -> list[Scope]:
        """Return all agents in the sidecar."""
        return [Scope(tenant=tenant, agent=agent) for tenant, agent in self._ask("agents")]

    def edition(self) -> int:
        """Return a number that changes when another connection writes."""
        return int(self._db.pragma("data_version"))

    def _add_garbage(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self._ask("drop_later", key=ref.key, handle=ref.handle, **_bind_scope(ref.scope))

    def list_garbage(self) -> list[Ref]:
        return [
            Ref(key=key, scope=Scope(tenant=tenant, agent=agent, user=user), handle=handle)
            for key, tenant, agent, user, handle in self._ask("litter")
        ]

    def forget_garbage(self, refs: Iterable[Ref]) -> None:
        with writing(self._db, self._retry_policy):
            self._ask("dropped", keys=json.dumps([ref.key for ref in refs]))

    def touch(self, scope: Scope, ids: Sequence[str], at: int) -> None:
        with writing(self._db, self._retry_policy):
            self._ask("touch", at=at, ids=json.dumps(list(ids)), **_bind_scope(scope))

    def recalls(self, records: Sequence[Record]) -> list[int]:
        return [
            int(self._ask("recalls", tenant=record.scope.tenant, id=record.id).get or 0) for record in records
        ]

    def keep_vectors(self, vectors: Iterable[tuple[str | None, bytes | None]]) -> None:
        """Store the vectors of entries that hold none themselves, by fingerprint."""
        with writing(self._db, self._retry_policy):
            for fingerprint, half in vectors:
                if fingerprint is not None and half is not None:
                    self._ask("keep_vector", fingerprint=fingerprint, half=half)

    def vector(self, fingerprint: str | None) -> bytes | None:
        vector: bytes | None = self._ask("vector", fingerprint=fingerprint).get
        return vector

    def retain_vectors(self, fingerprints: Iterable[str]) -> None:
        with writing(self._db, self._retry_policy):
            self._ask("drop_vectors", kept=json.dumps(sorted(fingerprints)))

    def scrub(self) -> None:
        """Truncate the log of the file, which still contains deleted data."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        self._db.close()


def _bind_scope(scope: Scope) -> dict[str, str | None]:
    return {"tenant": scope.tenant, "agent": scope.agent, "user": scope.user}


def _row(line: Line) -> dict[str, Any]:
    return {
        "id": line.id,
        "version": line.version,
        "state": line.state.value,
        "digest": line.digest,
        "expires_at": line.expires_at,
        "key": line.key,
        "handle": line.handle,
        "recalled_at": line.recalled_at,
        **_bind_scope(line.scope),
    }


def _line(row: Sequence[Any]) -> Line:
    id, tenant, agent, user, version, state, digest, expires_at, key, handle, recalled_at = row
    return Line(
        id=id,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        version=version,
        state=State(state),
        digest=digest,
        expires_at=expires_at,
        key=key,
        handle=handle,
        recalled_at=recalled_at,
    )


_PAUSE = 0.005
_BUDGET = 30.0


class WriteLock:
    """A lock across tasks and processes (`async with lock:`), released when its process dies."""

    def __init__(self, path: Path | None) -> None:
        self._here = asyncio.Lock()
        # An empty database, whose exclusive lock ends with the process on every system.
        self._file = None if path is None else apsw.Connection(os.fspath(path))

    async def __aenter__(self) -> None:
        await self._here.acquire()
        try:
            await self._take()
        except BaseException:
            self._here.release()
            raise

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _BUDGET
        while self._file is not None:
            try:
                self._file.execute("BEGIN EXCLUSIVE")  # returns at once
            except apsw.BusyError as error:
                if loop.time() >= deadline:
                    raise StoreBusy(
                        f"another process has been writing for {_BUDGET:g} s", field="store", fix="retry"
                    ) from error
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.execute("ROLLBACK")
        self._here.release()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


class OneThread:
    """Runs functions on one dedicated thread, in the order of the calls."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads = ThreadPool(1, f"memorywire-{name}")

    async def do(self, work: Callable[[], T]) -> T:
        try:
            return await self._threads.do(work)
        except Dismissed as error:
            raise StoreUnavailable(f"the store {self._name} is closed") from error

    def end(self) -> None:
        """End the thread after all queued work is done; blocks until then."""
        self._threads.dismiss()
