"""A ledger as lines of JSON that prove themselves: all of it, or chosen entries, each with its proof.

The first line says what the file is. Then come the signed checkpoints, the proofs that each grew out of
the one before, and the entries. `body` is the very text that was hashed. A whole export carries chain
hashes; a part of one carries inclusion proofs, and says nothing about entries that were not chosen.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import apsw

from memorywire.journal.ledger import Row, head, rows
from memorywire.journal.merkle import Tree, is_consistent, leaf_hash, root_from_inclusion
from memorywire.journal.notes import Checkpoint, Verifier, parse_checkpoint, parse_verifier
from memorywire.journal.verify import Fault, Report, compared, unsigned, verify
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

T = TypeVar("T")

_FORMAT = "memorywire ledger 1"


def export_all(db: apsw.Connection, checkpoints: Sequence[Checkpoint], key: Verifier) -> Iterator[str]:
    """Every entry, as lines without their newline."""
    yield _header(key, head(db)[0], complete=True)
    yield from _signed(checkpoints, _tree(db))
    for row in rows(db):
        yield _line({"seq": row.seq, "chain": row.chain.hex(), "body": row.body})


def export_some(
    db: apsw.Connection, chosen: Iterable[Row], checkpoints: Sequence[Checkpoint], key: Verifier
) -> Iterator[str]:
    """These entries, each with the proof that it is in the newest checkpoint; newer ones have none."""
    newest = max(checkpoints, key=lambda c: c.size)
    tree = _tree(db)
    kept = [row for row in chosen if row.seq <= newest.size]
    yield _header(key, len(kept), complete=False)
    yield from _signed([newest], tree)
    for row in kept:
        proof = [step.hex() for step in tree.inclusion(row.seq - 1, newest.size)]
        yield _line({"seq": row.seq, "proof": proof, "body": row.body})


def verify_export(
    lines: Iterable[str], *, keys: Sequence[Verifier] = (), checkpoints: Sequence[Checkpoint] = ()
) -> Report:
    """Prove an export from its lines alone; without `keys`, by the key that the file itself names.

    `checkpoints` are those that somebody kept elsewhere: the file must agree with them too.
    """
    reader = _Reader(iter(lines))
    try:
        return reader.report(keys, checkpoints)
    except _Unreadable as error:
        return Report(entries=reader.seen, root=b"", fault=Fault(entry=reader.seen + 1, reason=str(error)))


class _Unreadable(Exception):
    """A line is not what it has to be at its place."""


@dataclass(slots=True)
class _Reader:
    lines: Iterator[str]
    number: int = 0
    seen: int = 0
    held: Mapping[str, Json] | None = None

    def report(self, keys: Sequence[Verifier], saved: Sequence[Checkpoint]) -> Report:
        header = self._next()
        if header is None or header.get("export") != _FORMAT:
            raise _Unreadable("the file does not begin as an export of a ledger")
        trusted = keys or [_parsed(parse_verifier, header.get("key"))]
        signed = self._checkpoints()
        unproven = self._unproven(signed)
        if header.get("complete") is not True:
            return self._parts(signed, saved, trusted, header)
        report = verify(self._rows(), [*signed, *saved], trusted)
        if self.seen < _whole(header.get("entries")):
            unproven = Fault(entry=self.seen + 1, reason="is missing: the file ends before it")
        return replace(report, fault=report.fault or unproven)

    def _parts(
        self,
        signed: Sequence[Checkpoint],
        saved: Sequence[Checkpoint],
        keys: Sequence[Verifier],
        header: Mapping[str, Json],
    ) -> Report:
        if len(signed) != 1:
            raise _Unreadable("the file has no checkpoint to prove its entries by")
        newest = signed[0]
        if any((other.size, other.root) != (newest.size, newest.root) for other in saved):
            raise _Unreadable("chosen entries can only be compared with the checkpoint of the file itself")
        fault = unsigned(signed, keys)
        while fault is None and (line := self._entry()) is not None:
            fault = _disproved(line, newest)
            self.seen += fault is None
        if fault is None and self.seen < _whole(header.get("entries")):
            fault = Fault(entry=self.seen + 1, reason="the file ends before its last entry")
        proven = {"entries": self.seen, "sealed": self.seen}
        return Report(**proven, root=newest.root, checkpoints=1, origin=newest.origin, fault=fault)

    def _checkpoints(self) -> list[Checkpoint]:
        found = []
        while (line := self._next()) is not None and "checkpoint" in line:
            found.append(_parsed(parse_checkpoint, line["checkpoint"]))
        self.held = line
        return found

    def _unproven(self, signed: Sequence[Checkpoint]) -> Fault | None:
        """The first checkpoint that is not shown to grow out of the one before."""
        found = None
        for older, newer in compared(signed):
            line = self._next()
            path = [] if line is None else _hashes(line.get("consistency"))
            if found is None and not is_consistent(older.size, older.root, newer.size, newer.root, path):
                reason = "the file does not show that the checkpoint behind them grew out of the one before"
                found = Fault(entry=older.size + 1, until=newer.size, reason=reason)
        return found

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


def _signed(checkpoints: Sequence[Checkpoint], tree: Tree) -> Iterator[str]:
    for checkpoint in checkpoints:
        yield _line({"checkpoint": checkpoint.note.whole})
    for older, newer in compared(checkpoints):
        proof = tree.consistency(older.size, newer.size) if newer.size <= len(tree) else []
        yield _line({"consistency": [step.hex() for step in proof]})


def _tree(db: apsw.Connection) -> Tree:
    return Tree(leaf_hash(row.body.encode()) for row in rows(db))


def _disproved(line: Mapping[str, Json], checkpoint: Checkpoint) -> Fault | None:
    sequence = _whole(line.get("seq"))
    leaf = leaf_hash(str(line["body"]).encode(errors="surrogatepass"))
    if (
        root_from_inclusion(leaf, sequence - 1, checkpoint.size, _hashes(line.get("proof")))
        == checkpoint.root
    ):
        return None
    return Fault(entry=sequence, reason="is not proven to be in the signed log")


def _parsed(parse: Callable[[str], T], text: Json) -> T:
    try:
        return parse(str(text))
    except InvalidRequest as error:
        raise _Unreadable(error.detail) from error


def _line(value: Mapping[str, Json]) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def _object(text: str, number: int) -> Mapping[str, Json]:
    try:
        value = json.loads(text)
    except ValueError as error:
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
