"""Many changes with an entry of the ledger for each, in the transaction of their caller."""

from collections.abc import Sequence
from functools import partial

import apsw

from memorywire.journal import ledger
from memorywire.journal.entries import Draft
from memorywire.model.change import Change
from memorywire.stores.sqlite import SqliteStore
from memorywire.stores.sqlite.together import Settled, tried
from memorywire.stores.sqlite.writer import Work


def apply_together(db: apsw.Connection, apply: Work[Settled], drafts: Sequence[Draft]) -> Settled:
    """Write all changes by one work; if it raises, nothing of them may stay."""
    sequences = apply(db)
    ledger.append(db, drafts)
    return sequences


def apply_apart(
    db: apsw.Connection, store: SqliteStore, changes: Sequence[Change], drafts: Sequence[Draft]
) -> Settled:
    """Write one change after the other; what one of them raises concerns it alone."""
    works = (
        partial(_apply_one, store=store, change=change, draft=draft)
        for change, draft in zip(changes, drafts, strict=True)
    )
    return [tried(db, work) for work in works]


def _apply_one(db: apsw.Connection, store: SqliteStore, change: Change, draft: Draft) -> int:
    sequence = store.applying(change)(db)
    ledger.append(db, [draft])
    return sequence
