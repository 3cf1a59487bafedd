"""Webhooks.

The URLs that receive events, the last ledger entry delivered to each, and the undeliverable events.
"""

import json
from typing import Any

from msgspec import Struct

from memorywire.journal.backend import Session
from memorywire.journal.entries import Entry
from memorywire.journal.journal import Journal
from memorywire.journal.operators import EVERYBODY
from memorywire.model.errors import NotFound
from memorywire.model.record import Scope


class Webhook(Struct, frozen=True, kw_only=True):
    """A URL, the agents whose events it receives, and its position; `secret` signs the deliveries.

    `tries` deliveries have failed since then, the last with `error`; the next try is at `due_at` or later.
    `buried` events were given up. With `review` it receives only held requests, and decides them.
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
    review: bool = False


class Letter(Struct, frozen=True, kw_only=True):
    """An event that could not be delivered after all retries."""

    event: int
    at: int
    error: str


class Webhooks:
    """The webhooks of a journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._backend = journal.backend

    async def add(self, webhook: Webhook, *, actor: str) -> None:
        """Add a webhook; the ledger gets an entry without its address and its secret."""
        entry = _build_entry(webhook.id, "added", tenant=webhook.tenant, actor=actor, at=webhook.made_at)
        await self._journal.write_with_entry(
            lambda db: db.execute("add_webhook", build_row(webhook)),
            entry,
            lambda _: [("webhook", (webhook.id,))],
        )

    async def remove(self, id: str, *, tenant: str, actor: str, at: int) -> None:
        """Remove a webhook; raises NotFound."""

        def work(db: Session) -> None:
            if not db.execute("remove_webhook", {"id": id}):
                raise NotFound(f"there is no webhook {id}", field="id", fix="see: memorywire webhook list")

        entry = _build_entry(id, "removed", tenant=tenant, actor=actor, at=at)
        await self._journal.write_with_entry(work, entry, lambda _: [("webhook", (id,))])

    async def list_all(self) -> list[Webhook]:
        """All webhooks, in the order they were added."""
        rows = await self._backend.read(lambda db: db.rows("webhooks"))
        return [_read_webhook(*row) for row in rows]

    async def list_dead_letters(self, id: str) -> list[Letter]:
        """Return the events that could not be delivered to the webhook."""
        rows = await self._backend.read(lambda db: db.rows("dead_letters", {"id": id}))
        return [Letter(event=sequence, at=at, error=error) for sequence, at, error in rows]

    async def lease(self, webhook: Webhook, until: int) -> bool:
        """Reserve the webhook for this process until then; False if another process has reserved it."""
        lease = {"id": webhook.id, "position": webhook.position, "due_at": webhook.due_at, "until": until}
        return bool(await self._backend.write(lambda db: db.execute("lease_webhook", lease)))

    async def advance(self, id: str, position: int) -> None:
        """Store that everything up to the position was delivered."""
        await self._backend.write(lambda db: _advance(db, id, position))

    async def fail(self, id: str, *, tries: int, due_at: int, error: str) -> None:
        """Store that a delivery failed, and when to try again."""
        failure = {"id": id, "tries": tries, "due_at": due_at, "error": error}
        await self._backend.write(lambda db: db.execute("fail_webhook", failure))

    async def bury(self, id: str, letter: Letter) -> None:
        """Store an event as undeliverable, and continue after it."""

        def work(db: Session) -> None:
            row = {"id": id, "seq": letter.event, "at": letter.at, "error": letter.error}
            db.execute("add_dead_letter", row)
            _advance(db, id, letter.event)

        await self._backend.write(work)

    async def discard(self, id: str, event: int) -> None:
        """Delete an undeliverable event from the list."""
        letter = {"id": id, "seq": event}
        await self._backend.write(lambda db: db.execute("remove_dead_letter", letter))


def build_row(webhook: Webhook) -> dict[str, Any]:
    """Return the SQL parameters that add a webhook."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "secret": webhook.secret,
        "tenant": webhook.tenant,
        "agents": json.dumps(webhook.agents),
        "made_at": webhook.made_at,
        "position": webhook.position,
        "review": int(webhook.review),
    }


def _advance(db: Session, id: str, position: int) -> None:
    db.execute("advance_webhook", {"id": id, "position": position})


def _build_entry(id: str, kind: str, *, tenant: str, actor: str, at: int) -> Entry:
    scope = Scope(tenant=tenant, agent="*")
    return Entry(at=at, operation="webhook", scope=scope, actor=actor, kind=kind, subject=id)


def _read_webhook(
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
    review: int,
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
        review=bool(review),
    )
