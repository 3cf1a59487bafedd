"""Audits of a ledger and its files (verify, export, prove), in one snapshot of the database."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from memorywire.journal import ledger
from memorywire.journal.backend import Session
from memorywire.journal.entries import commitment, record_digest
from memorywire.journal.ledger import Filters, Row, Salted
from memorywire.journal.merkle import EMPTY, Tree, is_consistent, root_from_inclusion
from memorywire.journal.signed_notes import Checkpoint, Verifier, parse_checkpoint, parse_verifier
from memorywire.journal.signer import Signer
from memorywire.journal.state import StateReport, compare
from memorywire.journal.verify import Fault, Report, find_unsigned, pair_checkpoints, verify
from memorywire.model.errors import InvalidRequest, NotFound
from memorywire.model.record import Json, Record
from memorywire.model.text import counted
from memorywire.runtime.files import open_private

T = TypeVar("T")

_FORMAT = "memorywire ledger 1"


def export_all(db: Session, checkpoints: Sequence[Checkpoint], key: Verifier) -> Iterator[str]:
    """Yield the lines of an export of all entries, without newlines."""
    yield _header(key, ledger.read_head(db)[0], complete=True)
    yield from _write_checkpoints(checkpoints, _tree(db))
    for row in ledger.read_entries(db):
        yield _line({"seq": row.seq, "chain": row.chain.hex(), "body": row.body})


def export_some(
    db: Session, chosen: Iterable[Row], checkpoints: Sequence[Checkpoint], key: Verifier
) -> Iterator[str]:
    """Yield an export of these entries, each with its inclusion proof in the newest checkpoint.

    Newer entries are left out. All key handovers are included, so that any of the keys can verify it.
    """
    newest = max(checkpoints, key=lambda c: c.size)
    tree = _tree(db)
    kept = [row for row in chosen if row.seq <= newest.size]
    yield _header(key, len(kept), complete=False)
    yield from _write_checkpoints([*(c for c in checkpoints if c.handover and c != newest), newest], tree)
    for row in kept:
        proof = [step.hex() for step in tree.inclusion(row.seq - 1, newest.size)]
        yield _line({"seq": row.seq, "proof": proof, "body": row.body})


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Write lines to a file that only its owner can read; return how many there were."""
    handle = open_private(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    with open(handle, "w", encoding="utf-8", newline="\n") as file:
        return sum(1 for line in lines if file.write(f"{line}\n"))


def verify_export(
    lines: Iterable[str], *, keys: Sequence[Verifier] = (), checkpoints: Sequence[Checkpoint] = ()
) -> Report:
    """Verify an export from its lines alone; without `keys`, with the key in the file itself.

    `checkpoints` come from elsewhere; the file must agree with them too.
    """
    reader = _Reader(iter(lines))
    try:
        return reader.report(keys, checkpoints)
    except _Unreadable as error:
        return Report(entries=reader.seen, root=b"", fault=Fault(entry=reader.seen + 1, reason=str(error)))


class _Unreadable(Exception):
    """A line is not valid at its position."""


class _Reader(Struct):
    lines: Iterator[str]
    header: Mapping[str, Json] = field(default_factory=dict)
    number: int = 0
    seen: int = 0
    held: Mapping[str, Json] | None = None

    def report(self, keys: Sequence[Verifier], saved: Sequence[Checkpoint]) -> Report:
        self.header = self._next() or {}
        if self.header.get("export") != _FORMAT:
            raise _Unreadable("the file does not begin as an export of a ledger")
        trusted = keys or [_parse(parse_verifier, self.header.get("key"))]
        signed = self._checkpoints()
        unproven = self._unproven(signed)
        if self.header.get("complete") is True:
            report = verify(self._rows(), [*signed, *saved], trusted)
            return replace(report, fault=report.fault or self._find_miscount() or unproven)
        if not signed:
            raise _Unreadable("the file has no checkpoint to prove its entries by")
        if any((other.size, other.root) != (signed[-1].size, signed[-1].root) for other in saved):
            raise _Unreadable("chosen entries can only be compared with the last checkpoint of their file")
        return self._parts(signed, find_unsigned(signed, trusted) or unproven)

    def _parts(self, signed: Sequence[Checkpoint], fault: Fault | None) -> Report:
        newest = signed[-1]
        while fault is None and (line := self._entry()) is not None:
            fault = _find_unproven(line, newest)
            self.seen += fault is None
        return Report(
            entries=self.seen,
            sealed=self.seen,
            root=newest.root,
            checkpoints=len(signed),
            origin=newest.origin,
            fault=fault or self._find_miscount(),
        )

    def _checkpoints(self) -> list[Checkpoint]:
        checkpoints = []
        while (line := self._next()) is not None and "checkpoint" in line:
            checkpoints.append(_parse(parse_checkpoint, line["checkpoint"]))
        self.held = line
        return checkpoints

    def _unproven(self, signed: Sequence[Checkpoint]) -> Fault | None:
        """Return a fault for the first checkpoint without a valid consistency proof from the one before."""
        fault = None
        for older, newer in pair_checkpoints(signed):
            line = self._next()
            path = [] if line is None else _hashes(line.get("consistency"))
            if fault is None and not is_consistent(older.size, older.root, newer.size, newer.root, path):
                reason = "the file does not show that the checkpoint behind them grew out of the one before"
                fault = Fault(entry=older.size + 1, until=newer.size, reason=reason)
        return fault

    def _find_miscount(self) -> Fault | None:
        size = _whole(self.header.get("entries"))
        if size == self.seen:
            return None
        return Fault(
            entry=min(size, self.seen) + 1,
            reason=f"the file has {counted(self.seen, 'entry')} and says {size}",
        )

    def _rows(self) -> Iterator[Row]:
        while (line := self._entry()) is not None:
            yield Row(_whole(line.get("seq")), str(line.get("body")), _hash(line.get("chain")))
            self.seen += 1

    def _entry(self) -> Mapping[str, Json] | None:
        line = self._next()
        if line is not None and not isinstance(line.get("body"), str):
            raise _Unreadable(f"line {self.number} is not an entry")
        return line

    def _next(self) -> Mapping[str, Json] | None:
        if self.held is not None:
            line, self.held = self.held, None
            return line
        text = next(self.lines, None)
        self.number += 1
        return None if text is None else _object(text, self.number)


def _header(key: Verifier, entries: int, *, complete: bool) -> str:
    return _line({"export": _FORMAT, "key": str(key), "entries": entries, "complete": complete})


def _write_checkpoints(checkpoints: Sequence[Checkpoint], tree: Tree) -> Iterator[str]:
    for checkpoint in checkpoints:
        yield _line({"checkpoint": checkpoint.note.whole})
    for older, newer in pair_checkpoints(checkpoints):
        proof = tree.consistency(older.size, newer.size) if newer.size <= len(tree) else []
        yield _line({"consistency": [step.hex() for step in proof]})


def _tree(db: Session) -> Tree:
    return Tree(row.leaf or EMPTY for row in ledger.read_entries(db))


def _find_unproven(line: Mapping[str, Json], checkpoint: Checkpoint) -> Fault | None:
    sequence = _whole(line.get("seq"))
    leaf = Row(sequence, str(line["body"]), b"").leaf or b""
    root = root_from_inclusion(leaf, sequence - 1, checkpoint.size, _hashes(line.get("proof")))
    if root == checkpoint.root:
        return None
    return Fault(entry=sequence, reason="is not proven to be in the signed log")


def _parse(parse: Callable[[str], T], text: Json) -> T:
    try:
        return parse(str(text))
    except InvalidRequest as error:
        raise _Unreadable(error.detail) from error


def _line(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _object(text: str, number: int) -> Mapping[str, Json]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _Unreadable(f"line {number} is not JSON") from error
    if not isinstance(value, dict):
        raise _Unreadable(f"line {number} is not an object")
    return value


def _whole(value: Json) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unreadable("a number of the file is not one")
    return value


def _hash(value: Json) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError) as error:
        raise _Unreadable("a hash of the file is not one") from error


def _hashes(value: Json) -> list[bytes]:
    if not isinstance(value, list):
        raise _Unreadable("a proof of the file is not one")
    return [_hash(step) for step in value]


class Examination(Struct, frozen=True, kw_only=True):
    """The report, the ledger's public key, and how many stored checkpoints cannot be read."""

    report: Report
    key: Verifier | None
    unreadable: int
    state: StateReport | None = None

    @property
    def ok(self) -> bool:
        """Whether the ledger is valid and the state, if compared, matches it."""
        return self.report.ok and (self.state is None or self.state.ok)


def examine(
    db: Session,
    signer: Signer | None,
    *,
    saved: Sequence[Checkpoint] = (),
    keys: Sequence[Verifier] = (),
    state: bool = False,
) -> Examination:
    """Verify the whole ledger; `saved` checkpoints and pinned `keys` come from outside this machine.

    With `state`, a valid ledger is replayed and compared with the rows of the database.

    A ledger without a file has no signer: only its chain can be verified. Raises NotFound without a ledger.
    """
    own = None if signer is None else signer.verifier()
    trusted = keys or ([] if own is None else [own])
    checkpoints, unreadable = ([], 0) if signer is None else signer.load_checkpoints()
    witnessed = [] if signer is None else signer.witnessed.load_seen()  # may be of several ledgers
    signatures = [*checkpoints, *saved, *(one for one in witnessed if own is None or one.origin == own.name)]
    if ledger.has_ledger(db):
        report = verify(ledger.read_entries(db), signatures, trusted, expected=ledger.read_signed_size(db))
    elif signatures:  # signatures exist, so the ledger was deleted
        report = verify((), signatures, trusted)
    else:
        raise NotFound("this database has no ledger", field="store")
    compared = compare(db) if state and report.ok and ledger.has_ledger(db) else None
    return Examination(report=report, key=own, unreadable=unreadable, state=compared)


def export_entries(db: Session, signer: Signer, filters: Filters | None = None) -> Iterator[str]:
    """Return the lines of an export of all or of the matching entries, oldest first; raises NotFound."""
    checkpoints, _ = signer.load_checkpoints()
    key = signer.verifier()
    if key is None or not checkpoints:
        raise NotFound("no entry of this ledger was ever signed", fix="sign it: memorywire audit checkpoint")
    if filters is None:
        return export_all(db, checkpoints, key)
    return export_some(db, reversed(ledger.filter_entries(db, filters)), checkpoints, key)


def prove_entry(db: Session, signer: Signer, sequence: int) -> Iterator[str]:
    """Return the lines of an export of one entry; raises NotFound if it is not signed."""
    checkpoints, _ = signer.load_checkpoints()
    key = signer.verifier()
    row = ledger.find_entry(db, sequence)
    if row is None or key is None or all(checkpoint.size < sequence for checkpoint in checkpoints):
        raise NotFound(f"no entry {sequence} of this ledger was signed", field="entry")
    return export_some(db, [row], checkpoints, key)


def find_contradicted(db: Session, records: Iterable[Record]) -> list[str]:
    """Return the ids of records whose content differs from the ledger's commitment to their version.

    Records without a commitment, or whose salts were deleted, are not returned.
    """
    return [record.id for record in records if _contradicts(db, record)]


def _contradicts(db: Session, record: Record) -> bool:
    known = ledger.find_salts(db, record.scope.tenant, record.id)
    opened = [salted for salted in known if salted.version == record.version and salted.salt is not None]
    digest = record_digest(record)
    return bool(opened) and not any(_opens(db, salted, record, digest) for salted in opened)


def _opens(db: Session, salted: Salted, record: Record, digest: bytes) -> bool:
    row = ledger.find_entry(db, salted.seq)
    return row is not None and _find_commitment(row, record) == commitment(salted.salt or b"", digest)


def _find_commitment(row: Row, record: Record) -> str | None:
    """Return the digest by which an entry commits to a version, or None."""
    for one in row.said.get("commitments", ()):
        if (one["id"], one["version"]) == (record.id, record.version):
            return str(one["digest"])
    return None
