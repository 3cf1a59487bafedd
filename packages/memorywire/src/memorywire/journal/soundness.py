"""Whether a database with a ledger is sound: its pages, its rows, and the chain of its ledger."""

import apsw

from memorywire.journal.audit import examine
from memorywire.journal.ledger import is_there
from memorywire.journal.signer import Notary
from memorywire.stores.sqlite.damage import find_damaged_pages, find_damaged_rows


def find_faults(db: apsw.Connection, notary: Notary) -> list[str]:
    """What is wrong with the database, in words; reads all of it, inside a snapshot of the caller's."""
    return find_damaged_pages(db) or find_faulty_rows(db, notary)


def find_faulty_rows(db: apsw.Connection, notary: Notary) -> list[str]:
    """The same, where the pages are known to be sound."""
    faults = find_damaged_rows(db)
    saved, _ = notary.saved()
    if is_there(db) or saved:
        fault = examine(db, notary).report.fault
        faults += [] if fault is None else [f"the ledger does not hold: {fault.reason}"]
    return faults
