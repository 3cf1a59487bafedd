"""What an auditor asks of a ledger and the files beside it, in one snapshot of the database."""

from collections.abc import Iterable, Iterator, Sequence

import apsw

from memorywire.journal import ledger
from memorywire.journal.entries import commitment, record_digest
from memorywire.journal.export import export_all, export_some
from memorywire.journal.ledger import Filters, Row, Salted
from memorywire.journal.sealing import sealed_size
from memorywire.journal.signed_notes import Checkpoint, Verifier
from memorywire.journal.signer import Notary
from memorywire.journal.state import StateReport, compare
from memorywire.journal.verify import Report, verify
from memorywire.model.errors import NotFound
from memorywire.model.record import Record
from memorywire.model.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The report, the public key it rests on, and how many checkpoints beside it cannot be read."""

    report: Report
    key: Verifier | None
    unreadable: int
    state: StateReport | None = None

    @property
    def ok(self) -> bool:
        """Whether the ledger is sound, and the state, if it was compared, is what the ledger says."""
        return self.report.ok and (self.state is None or self.state.ok)


def examine(
    db: apsw.Connection,
    notary: Notary | None,
    *,
    saved: Sequence[Checkpoint] = (),
    keys: Sequence[Verifier] = (),
    state: bool = False,
) -> Examination:
    """Verify the whole ledger; `saved` checkpoints and pinned `keys` come from outside this machine.

    With `state`, a ledger that is sound is replayed and compared with everything that it speaks of.

    A ledger that is in no file has no notary: its chain is all there is to be verified.
    """
    own = None if notary is None else notary.verifier()
    trusted = keys or ([] if own is None else [own])
    checkpoints, unreadable = ([], 0) if notary is None else notary.saved()
    witnessed = [] if notary is None else notary.witnessed.seen()  # of several ledgers, perhaps
    known = [*checkpoints, *saved, *(one for one in witnessed if own is None or one.origin == own.name)]
    if ledger.is_there(db):
        report = verify(ledger.rows(db), known, trusted, expected=sealed_size(db))
    elif known:  # it was there
        report = verify((), known, trusted)
    else:
        raise NotFound("this database has no ledger", field="store")
    compared = compare(db) if state and report.ok and ledger.is_there(db) else None
    return Examination(report=report, key=own, unreadable=unreadable, state=compared)


def exported(db: apsw.Connection, notary: Notary, filters: Filters | None = None) -> Iterator[str]:
    """The lines of an export: of all entries, or of those that match, oldest first."""
    checkpoints, _ = notary.saved()
    key = notary.verifier()
    if key is None or not checkpoints:
        raise NotFound("no entry of this ledger was ever signed", fix="sign it: memorywire audit checkpoint")
    if filters is None:
        return export_all(db, checkpoints, key)
    return export_some(db, reversed(ledger.log(db, filters)), checkpoints, key)


def proven(db: apsw.Connection, notary: Notary, sequence: int) -> Iterator[str]:
    """The export of one entry."""
    checkpoints, _ = notary.saved()
    key = notary.verifier()
    row = ledger.entry(db, sequence)
    if row is None or key is None or all(found.size < sequence for found in checkpoints):
        raise NotFound(f"no entry {sequence} of this ledger was signed", field="entry")
    return export_some(db, [row], checkpoints, key)


def contradicted(db: apsw.Connection, records: Iterable[Record]) -> list[str]:
    """The ids of memories of which the ledger says that this version said something else.

    What it never committed to, or can no longer open, it does not contradict.
    """
    return [record.id for record in records if _contradicts(db, record)]


def _contradicts(db: apsw.Connection, record: Record) -> bool:
    known = ledger.salts(db, record.scope.tenant, record.id)
    opened = [salted for salted in known if salted.version == record.version and salted.salt is not None]
    digest = record_digest(record)
    return bool(opened) and not any(_opens(db, salted, record, digest) for salted in opened)


def _opens(db: apsw.Connection, salted: Salted, record: Record, digest: bytes) -> bool:
    row = ledger.entry(db, salted.seq)
    return row is not None and _committed(row, record) == commitment(salted.salt or b"", digest)


def _committed(row: Row, record: Record) -> str | None:
    """The commitment of an entry to a version."""
    for one in row.said.get("commitments", ()):
        if (one["id"], one["version"]) == (record.id, record.version):
            return str(one["digest"])
    return None
