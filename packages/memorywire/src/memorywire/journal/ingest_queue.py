"""Conversations that wait to be read for facts: kept before they are answered, gone once they were read.

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Sequence
from typing import Any

import apsw

from memorywire.model.codec import dump, dumps, load, loads
from memorywire.model.layer import Conversation, Event, EventState, Fact
from memorywire.model.record import Scope
from memorywire.stores.sqlite.rows import scope_row
from memorywire.stores.sqlite.sql import Document

QUERIES = Document(__package__, "queries_contracts.sql")

_FOUND = "found"


def add(db: apsw.Connection, event: Event) -> None:
    """Keep a conversation until somebody has read it."""
    row = scope_row(event.scope) | {
        "id": event.id,
        "caller": event.caller,
        "at": event.at,
        "due_at": event.due_at,
        "turns": None if event.conversation is None else dumps(event.conversation),
    }
    db.execute(QUERIES["add_ingest"], row)


def event(db: apsw.Connection, tenant: str, id: str) -> Event | None:
    row = db.execute(QUERIES["ingest"], {"tenant": tenant, "id": id}).fetchone()
    return None if row is None else _event(row)


def lease(db: apsw.Connection, now: int, until: int) -> Event | None:
    """The next one that is due, which nobody else gets before `until`."""
    row = db.execute(QUERIES["next_ingest"], {"now": now}).fetchone()
    if row is None:
        return None
    found = _event(row)
    db.execute(QUERIES["lease_ingest"], {"id": found.id, "due_at": found.due_at, "until": until})
    return found if db.changes() else None


def note(db: apsw.Connection, id: str, found: Sequence[Fact]) -> None:
    """Keep the facts found in a conversation: a retry need not read it again, and would not find others."""
    db.execute(QUERIES["note_ingest"], {"id": id, "facts": json.dumps({_FOUND: list(map(dump, found))})})


def put_off(db: apsw.Connection, id: str, *, tries: int, due_at: int, error: str) -> None:
    """Note that reading failed; it is tried again at `due_at`."""
    db.execute(QUERIES["put_off_ingest"], {"id": id, "tries": tries, "due_at": due_at, "error": error})


def end(db: apsw.Connection, event: Event) -> None:
    """Note that a conversation was read or given up; its words are deleted."""
    facts = json.dumps({"memories": event.memories, "held": event.held})
    db.execute(
        QUERIES["end_ingest"],
        {"id": event.id, "state": event.state.value, "error": event.error, "facts": facts},
    )


def waiting(db: apsw.Connection) -> int:
    return int(db.execute(QUERIES["waiting_ingests"]).get)


def drop(db: apsw.Connection, before: int) -> None:
    """Forget events that have ended and began before that moment."""
    db.execute(QUERIES["drop_ingests"], {"before": before})


def _event(row: tuple[Any, ...]) -> Event:
    id, tenant, agent, user, caller, at, state, tries, due_at, error, turns, facts = row
    led = json.loads(facts)
    return Event(
        id=id,
        scope=Scope(tenant=tenant, agent=agent, user=user),
        at=at,
        state=EventState(state),
        memories=tuple(led.get("memories", ())),
        held=tuple(led.get("held", ())),
        tries=tries,
        due_at=due_at,
        error=error,
        caller=caller,
        conversation=None if turns is None else loads(Conversation, turns),
        found=tuple(load(Fact, fact) for fact in led[_FOUND]) if _FOUND in led else None,
    )
