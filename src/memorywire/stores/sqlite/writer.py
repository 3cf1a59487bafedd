"""The one thread that writes: it commits whatever waits for it in one transaction."""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import TracebackType

import apsw

from memorywire.model.change import Change
from memorywire.model.errors import MemorywireError, StoreBusy, StoreUnavailable
from memorywire.model.space import Space
from memorywire.stores.sqlite.applying import Prepared, apply, prepare
from memorywire.stores.sqlite.connection import Patience, Pool, fence, writing
from memorywire.stores.sqlite.location import Location
from memorywire.stores.sqlite.rows import Bindings, scope_row
from memorywire.stores.sqlite.sql import QUERIES
from memorywire.stores.sqlite.touches import Touch, Touches

_GROUP = 64
_IDLE_SECONDS = 1.0
_ERASE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class _Job:
    """A change to commit, or (None) a wish that everything pending be written."""

    change: Change | None
    answer: Future[int] = field(default_factory=Future)

    def settle(self, outcome: int | BaseException) -> None:
        if isinstance(outcome, BaseException):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class _Answered:
    """Whoever waits for one of these jobs gets an answer, whatever happens to the thread's work."""

    def __init__(self, jobs: Sequence[_Job]) -> None:
        self._jobs = jobs

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> bool:
        for job in self._jobs:
            if not job.answer.done():
                job.settle(error or StoreUnavailable("the store gave no answer"))
        return True


class Writer:
    """Commits changes in the order they came, several to a transaction when several wait.

    Nothing is answered before COMMIT returned. A change that is refused is rolled back alone; a
    transaction that fails, fails for every change in it.
    """

    def __init__(
        self, pool: Pool, *, location: Location, space: Space, touches: Touches, patience: Patience
    ) -> None:
        self._pool = pool
        self._location = location
        self._space = space
        self._touches = touches
        self._patience = patience
        self._waiting: deque[_Job] = deque()
        self._turn = threading.Condition()
        self._closed = False
        self._scrub_owed = True  # by whoever had the file before us, until we have looked
        self._thread = threading.Thread(target=self._work, name=f"memorywire {location}", daemon=True)
        self._thread.start()

    def submit(self, change: Change | None) -> Future[int]:
        """The commit sequence to come; once submitted a change is written even if nobody waits for it."""
        job = _Job(change)
        job.answer.set_running_or_notify_cancel()
        with self._turn:
            self._must_be_open()
            self._waiting.append(job)
            self._turn.notify()
        return job.answer

    def touch(self, touches: Iterable[Touch]) -> None:
        """Write these with the next group, or after an idle moment."""
        with self._turn:
            self._must_be_open()
            waiting = bool(self._touches)
            self._touches.add(touches)
            if not waiting:  # else it is told already, and a recall need not wake it again
                self._turn.notify()

    def close(self) -> None:
        """Write what waits, and end the thread."""
        with self._turn:
            self._closed = True
            self._turn.notify()
        self._thread.join()

    def _work(self) -> None:
        ending = False
        while not ending:
            jobs, ending = self._next_group()
            with _Answered(jobs):
                self._serve(jobs)

    def _next_group(self) -> tuple[list[_Job], bool]:
        """What waits, at most a group of it (nothing when only debts are due), and whether it is the last."""
        with self._turn:
            self._turn.wait_for(lambda: self._called or self._touches or self._scrub_owed)
            self._turn.wait_for(lambda: self._called, timeout=_IDLE_SECONDS)
            jobs = [self._waiting.popleft() for _ in range(min(_GROUP, len(self._waiting)))]
            return jobs, self._closed and not self._waiting

    def _must_be_open(self) -> None:
        if self._closed:
            raise StoreUnavailable(f"{self._location} is closed")

    @property
    def _called(self) -> bool:
        return bool(self._waiting) or self._closed

    def _serve(self, jobs: Sequence[_Job]) -> None:
        ready = [(job, prepared) for job in jobs if (prepared := self._prepared(job)) is not None]
        with fence(self._location), self._pool.borrow() as db:
            outcomes = self._commit(db, [prepared for _, prepared in ready])
            try:
                erases = any(prepared.change.erase for _, prepared in ready)
                if erases or self._scrub_owed or not jobs:
                    self._scrub(db, _ERASE_SECONDS if erases else 0)
            finally:
                for (job, _), outcome in zip(ready, outcomes, strict=True):
                    job.settle(outcome)
        for job in jobs:
            if job.change is None:
                job.settle(0)

    def _prepared(self, job: _Job) -> Prepared | None:
        """The rows of a job's change, made before the transaction; a change that has none is refused here."""
        if job.change is None:
            return None
        try:
            return prepare(job.change, self._space)
        except (MemorywireError, TypeError, ValueError) as refusal:
            job.settle(refusal)
            return None

    def _commit(self, db: apsw.Connection, changes: Sequence[Prepared]) -> list[int | MemorywireError]:
        touches = self._touches.take()
        if not touches and not changes:
            return []
        try:
            with writing(db, self._patience):
                db.executemany(QUERIES["touch"], [_touch_row(touch) for touch in touches])
                outcomes = [_attempt(db, change) for change in changes]
        except BaseException:
            self._touches.give_back()
            raise
        self._touches.settle()
        return outcomes

    def _scrub(self, db: apsw.Connection, seconds: float) -> None:
        """Truncate the log, so that erased words leave it too. What readers of another process prevent
        stays owed, in the file, and is tried again with every group and after every idle moment. What
        another process owes is seen when this one opens the file, and after idle moments."""
        owed = db.execute(QUERIES["scrub_owed"]).get
        self._scrub_owed = owed is not None
        if owed is None:
            return
        try:
            replace(self._patience, budget=seconds).try_for("truncate the log", lambda: _truncate_log(db))
        except StoreBusy:
            return
        with writing(db, self._patience):
            db.execute(QUERIES["scrub_paid"], {"seq": int(owed)})


def _touch_row(touch: Touch) -> Bindings:
    return scope_row(touch.scope) | {"id": touch.id, "at": touch.at, "count": touch.count}


def _attempt(db: apsw.Connection, prepared: Prepared) -> int | MemorywireError:
    """One change of a group: its sequence, or why it alone was refused and rolled back."""
    db.execute("SAVEPOINT change")
    try:
        sequence = apply(db, prepared)
    except MemorywireError as refusal:
        db.execute("ROLLBACK TO change; RELEASE change")
        return refusal
    db.execute("RELEASE change")
    return sequence


def _truncate_log(db: apsw.Connection) -> None:
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
    if busy:
        raise apsw.BusyError("a reader still needs the log")
