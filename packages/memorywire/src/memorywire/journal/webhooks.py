"""Addresses that are told of events: where each stands in the ledger, and what it never took.

Every function works inside the caller's transaction.
"""

import json
from collections.abc import Sequence

import apsw
from msgspec import Struct

from memorywire.journal import rowstate
from memorywire.journal.entries import Draft, Entry, draft
from memorywire.journal.operators import EVERYBODY, QUERIES
from memorywire.model.errors import NotFound
from memorywire.model.record import Scope


class Webhook(Struct, frozen=True, kw_only=True):
    """An address, whose events it is told, and the last of them; `secret` signs what it is sent.

    `tries` failed since then, the last with `error`; not before `due_at` is it tried again. `buried`
    events were given up.
    """

    id: str
    url: str
    secret: str
    tenant: str
    made_at: int
    position: int
    agents: tuple[str, ...] = EVERYBODY
    tries: int = 0
    due_at: int = 0
    error: str | None = None
    buried: int = 0


class Letter(Struct, frozen=True, kw_only=True):
    """An event that an address did not accept, however often it was tried."""

    event: int
    at: int
    error: str


def add(db: apsw.Connection, webhook: Webhook, drafts: Sequence[Draft] = ()) -> None:
    """Keep a webhook, and write the drafts of the ledger with the digest of its row."""
    row = {
        "id": webhook.id,
        "url": webhook.url,
        "secret": webhook.secret,
        "tenant": webhook.tenant,
        "agents": json.dumps(webhook.agents),
        "made_at": webhook.made_at,
        "position": webhook.position,
    }
    db.execute(QUERIES["add_webhook"], row)
    _write_down(db, webhook.id, drafts)


def remove(db: apsw.Connection, id: str, drafts: Sequence[Draft] = ()) -> None:
    db.execute(QUERIES["remove_webhook"], {"id": id})
    if not db.changes():
        raise NotFound(f"there is no webhook {id}", field="id", fix="see: memorywire webhook list")
    _write_down(db, id, drafts)


def draft_about(id: str, kind: str, *, tenant: str, actor: str, at: int) -> Draft:
    """The entry of the ledger about a webhook that is added or removed; never its address or its secret."""
    scope = Scope(tenant=tenant, agent="*")
    return draft(Entry(at=at, operation="webhook", scope=scope, actor=actor, kind=kind, subject=id))


def _write_down(db: apsw.Connection, id: str, drafts: Sequence[Draft]) -> None:
    if drafts:
        rowstate.append(db, drafts, [("webhook", (id,))])


def webhooks(db: apsw.Connection) -> list[Webhook]:
    """In the order they were added."""
    return [_webhook(*row) for row in db.execute(QUERIES["webhooks"])]


def letters(db: apsw.Connection, id: str) -> list[Letter]:
    found = db.execute(QUERIES["dead_letters"], {"id": id})
    return [Letter(event=seq, at=at, error=error) for seq, at, error in found]


def lease(db: apsw.Connection, webhook: Webhook, until: int) -> bool:
    """Reserve the telling of this webhook for us until then; False if another process was faster."""
    named = {"id": webhook.id, "position": webhook.position, "due_at": webhook.due_at, "until": until}
    db.execute(QUERIES["lease_webhook"], named)
    return bool(db.changes())


def told(db: apsw.Connection, id: str, position: int) -> None:
    db.execute(QUERIES["told_webhook"], {"id": id, "position": position})


def failed(db: apsw.Connection, id: str, *, tries: int, due_at: int, error: str) -> None:
    db.execute(QUERIES["failed_webhook"], {"id": id, "tries": tries, "due_at": due_at, "error": error})


def bury(db: apsw.Connection, id: str, letter: Letter) -> None:
    """Give an event up, and go on with the next."""
    db.execute(QUERIES["bury"], {"id": id, "seq": letter.event, "at": letter.at, "error": letter.error})
    told(db, id, letter.event)


def _webhook(
    id: str,
    url: str,
    secret: str,
    tenant: str,
    agents: str,
    made_at: int,
    position: int,
    tries: int,
    due_at: int,
    error: str | None,
    buried: int,
) -> Webhook:
    return Webhook(
        id=id,
        url=url,
        secret=secret,
        tenant=tenant,
        agents=tuple(json.loads(agents)),
        made_at=made_at,
        position=position,
        tries=tries,
        due_at=due_at,
        error=error,
        buried=buried,
    )
