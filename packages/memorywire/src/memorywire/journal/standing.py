"""How the journal stands: how much waits, for whom, and since when; counted by the database itself."""

from collections.abc import Mapping

import apsw
from msgspec import Struct

from memorywire.journal import ledger
from memorywire.journal.operators import QUERIES
from memorywire.journal.sealing import exposure


class Queue(Struct, frozen=True, kw_only=True):
    """How many wait, and since when the first of them does."""

    count: int = 0
    since: int | None = None

    def age(self, now: int) -> float:
        """How many seconds the first has waited; 0 when nothing waits."""
        return 0.0 if self.since is None else max(0, now - self.since) / 1000


class Standing(Struct, frozen=True, kw_only=True):
    """Of all tenants together: entries of the ledger, those not signed yet, proposals that wait for somebody,
    changes that each store is owed, webhooks whose last try failed, and events that were given up."""

    entries: int
    unsigned: Queue
    proposals: Queue
    debts: Mapping[str, Queue]
    webhooks_failing: int
    dead_letters: int


def standing(db: apsw.Connection) -> Standing:
    unsigned, since = exposure(db)
    ((waiting, first),) = db.execute(QUERIES["proposals_waiting"])
    ((failing, dead),) = db.execute(QUERIES["webhooks_standing"])
    return Standing(
        entries=ledger.head(db)[0],
        unsigned=Queue(count=unsigned, since=since),
        proposals=Queue(count=waiting, since=first),
        debts={
            store: Queue(count=count, since=at) for store, count, at in db.execute(QUERIES["debts_by_store"])
        },
        webhooks_failing=failing,
        dead_letters=dead,
    )


def tenants(db: apsw.Connection) -> list[str]:
    """Everybody whose memory ever changed or was to be changed, by name."""
    return [tenant for (tenant,) in db.execute(QUERIES["tenants"])]
