"""How much waits in the journal, and since when; counted by the database itself."""

from collections.abc import Mapping

from msgspec import Struct

from memorywire.journal import ledger
from memorywire.journal.backend import Session


class Queue(Struct, frozen=True, kw_only=True):
    """How many wait, and since when the first of them does."""

    count: int = 0
    since: int | None = None

    def age(self, now: int) -> float:
        """How many seconds the first has waited; 0 when nothing waits."""
        return 0.0 if self.since is None else max(0, now - self.since) / 1000


class Status(Struct, frozen=True, kw_only=True):
    """Of all tenants together: entries of the ledger, those not signed yet, waiting proposals,
    outbox entries of each store, webhooks whose last try failed, and events that were given up."""

    entries: int
    unsigned: Queue
    proposals: Queue
    debts: Mapping[str, Queue]
    webhooks_failing: int
    dead_letters: int


def read_status(db: Session) -> Status:
    unsigned, since = ledger.count_unsigned(db)
    ((waiting, first),) = db.rows("waiting_proposals_status")
    ((failing, dead),) = db.rows("webhooks_status")
    return Status(
        entries=ledger.read_head(db)[0],
        unsigned=Queue(count=unsigned, since=since),
        proposals=Queue(count=waiting, since=first),
        debts={store: Queue(count=count, since=at) for store, count, at in db.rows("outbox_status")},
        webhooks_failing=failing,
        dead_letters=dead,
    )
