"""What happened, as events without content: read from the ledger, in its order, from any place in it."""

import json

import apsw
from msgspec import Struct

from memorywire.journal.operators import QUERIES
from memorywire.model.record import Json


class Event(Struct, frozen=True, kw_only=True):
    """One entry of the ledger that is no recall: its number, what was done, to what, by whom, how it ended.

    `subject` is the id of the change or proposal, `memories` are the ids it names.
    """

    id: int
    at: int
    operation: str
    kind: str
    tenant: str
    agent: str
    actor: str
    user: str | None = None
    subject: str | None = None
    memories: tuple[str, ...] = ()


def last_event(db: apsw.Connection) -> int:
    """The number of the newest entry; whoever starts there hears only what is new."""
    return int(db.execute(QUERIES["last_seq"]).get)


def events_after(
    db: apsw.Connection, after: int, *, tenant: str | None, limit: int
) -> tuple[list[Event], int]:
    """The next events, and where to go on; entries that are no events are passed over."""
    newest = last_event(db)
    rows = db.execute(QUERIES["events"], {"after": after, "tenant": tenant, "limit": limit})
    found = [_event(seq, json.loads(body), user) for seq, body, user in rows]
    return found, found[-1].id if len(found) == limit else max(after, newest)


def _event(seq: int, said: dict[str, Json], user: str | None) -> Event:
    return Event(
        id=seq,
        at=said["at"],
        operation=said["operation"],
        kind=said["kind"],
        tenant=said["tenant"],
        agent=said["agent"],
        actor=said["actor"],
        user=user or said.get("user"),
        subject=said.get("subject"),
        memories=_memories(said),
    )


def _memories(said: dict[str, Json]) -> tuple[str, ...]:
    details = said.get("details", {})
    begun = [one["id"] for one in said.get("commitments", ())]
    ended = [one[0] for one in details.get("ended", ())]
    return tuple(dict.fromkeys([*begun, *ended, *details.get("erased", ()), *details.get("memories", ())]))
