"""The queue of conversations from which facts are to be extracted.

They are stored before they are acknowledged, and deleted after extraction.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from memorywire.journal.backend import Session, bind_scope
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.model.codec import dump, dumps, load, loads
from memorywire.model.layer import Conversation, Event, EventState, Fact
from memorywire.model.record import Scope

_FACTS = "found"
_OUTCOME = ("memories", "held", "turns", "forgotten")


class IngestQueue:
    """The conversations of a journal that wait for extraction."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._backend = journal.backend

    async def add(self, event: Event, entry: Entry) -> None:
        """Store a conversation until facts are extracted from it, and append its ledger entry."""
        row = bind_scope(event.scope) | {
            "id": event.id,
            "caller": event.caller,
            "at": event.at,
            "due_at": event.due_at,
            "turns": None if event.conversation is None else dumps(event.conversation),
        }
        await self._journal.write_with_entry(
            lambda db: db.execute("add_ingest", row), entry, lambda _: [("ingest", (event.id,))]
        )

    async def find(self, tenant: str, id: str) -> Event | None:
        row = await self._backend.read(lambda db: db.row("ingest", {"tenant": tenant, "id": id}))
        return None if row is None else _read_event(row)

    async def lease(self, now: int, until: int) -> Event | None:
        """Reserve the next due conversation until `until` and return it, or None."""
        return await self._backend.write(partial(_lease, now=now, until=until))

    async def set_facts(self, id: str, facts: Sequence[Fact]) -> None:
        """Store the facts of a conversation, so that a retry uses the same facts without a new extraction."""
        row = {"id": id, "facts": json.dumps({_FACTS: list(map(dump, facts))})}
        await self._backend.write(lambda db: db.execute("set_ingest_facts", row))

    async def postpone(self, id: str, *, tries: int, due_at: int, error: str) -> None:
        """Store that extraction failed; it is retried at `due_at`."""
        row = {"id": id, "tries": tries, "due_at": due_at, "error": error}
        await self._backend.write(lambda db: db.execute("postpone_ingest", row))

    async def end(self, event: Event, *, drop_before: int) -> None:
        """Store the outcome of a conversation, extracted or given up, and delete its text.

        Also deletes ended events that began before `drop_before`.
        """
        outcome = {name: getattr(event, name) for name in _OUTCOME}
        facts = json.dumps(outcome)
        row = {"id": event.id, "state": event.state.value, "error": event.error, "facts": facts}

        def work(db: Session) -> None:
            db.execute("end_ingest", row)
            db.execute("drop_ingests", {"before": drop_before})

        await self._backend.write(work)

    async def count_waiting(self) -> int:
        return int(await self._backend.read(lambda db: db.value("count_waiting_ingests")))


def _lease(db: Session, now: int, until: int) -> Event | None:
    row = db.row("next_ingest", {"now": now})
    if row is None:
        return None
    event = _read_event(row)
    lease = {"id": event.id, "due_at": event.due_at, "until": until}
    return event if db.execute("lease_ingest", lease) else None


def _read_event(row: tuple[Any, ...]) -> Event:
    id, tenant, agent, user, caller, at, state, tries, due_at, error, turns, facts = row
    outcome = json.loads(facts)
    return Event(
        id=id,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        at=at,
        state=EventState(state),
        **{name: tuple(outcome.get(name, ())) for name in _OUTCOME},
        tries=tries,
        due_at=due_at,
        error=error,
        caller=caller,
        conversation=None if turns is None else loads(Conversation, turns),
        found=tuple(load(Fact, fact) for fact in outcome[_FACTS]) if _FACTS in outcome else None,
    )
