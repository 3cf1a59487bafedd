"""Verifies a ledger from its rows and signed checkpoints, or reports the first wrong entry and why."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec import Struct, field

from memorywire.journal.ledger import GENESIS, Row, build_origin, link
from memorywire.journal.merkle import Edge
from memorywire.journal.signed_notes import Checkpoint, Handover, Verifier
from memorywire.model.record import Json
from memorywire.model.text import counted


class Keyring:
    """The trusted keys: the pinned ones, and those linked to them by handovers that both keys signed.

    Each key is valid for the log sizes from the handover to it up to the handover from it.
    """

    def __init__(self, pinned: Iterable[Verifier], checkpoints: Sequence[Checkpoint]) -> None:
        self._handovers = [
            (checkpoint.size, checkpoint.handover)
            for checkpoint in checkpoints
            if checkpoint.handover is not None and _is_agreed(checkpoint, checkpoint.handover)
        ]
        self._keys = set(pinned)
        for _ in self._handovers:  # each round follows at least one more handover, in either direction
            linked = [{h.old, h.new} for _, h in self._handovers if self._keys & {h.old, h.new}]
            self._keys |= set().union(*linked)

    def has_signed(self, checkpoint: Checkpoint) -> bool:
        """Return whether a key that was in use at that log size signed the checkpoint."""
        return any(
            key.name == checkpoint.origin
            and self._in_use(key, checkpoint.size)
            and key.accepts(checkpoint.note)
            for key in self._keys
        )

    def _in_use(self, key: Verifier, size: int) -> bool:
        born = [at for at, handover in self._handovers if handover.new == key]
        retired = [at for at, handover in self._handovers if handover.old == key]
        return min(born, default=size) <= size <= min(retired, default=size)


def _is_agreed(checkpoint: Checkpoint, handover: Handover) -> bool:
    return handover.old.accepts(checkpoint.note) and handover.new.accepts(checkpoint.note)


class Fault(Struct, frozen=True, kw_only=True):
    """The first wrong entry; with `until`, it is somewhere between `entry` and `until`."""

    entry: int
    reason: str
    until: int | None = None

    @property
    def place(self) -> str:
        return f"entry {self.entry}" if self.until is None else f"entries {self.entry} to {self.until}"


class Report(Struct, frozen=True, kw_only=True):
    """The result of a verification: the number of entries, and how many are under a checkpoint (`sealed`)."""

    entries: int
    root: bytes
    checkpoints: int = 0
    sealed: int = 0
    origin: str | None = None
    fault: Fault | None = None

    @property
    def ok(self) -> bool:
        return self.fault is None

    @property
    def exposed(self) -> int:
        """The number of entries after the last checkpoint; the owner of the database could rewrite them."""
        return self.entries - self.sealed


def verify(
    rows: Iterable[Row], checkpoints: Sequence[Checkpoint], keys: Sequence[Verifier], *, expected: int = 0
) -> Report:
    """Verify the whole log in one pass.

    The chain reveals entries that were edited, deleted, inserted or reordered. The checkpoints, which may
    have been stored elsewhere, reveal a log that was rebuilt, truncated or rolled back.
    `expected` is the number of entries that are known to be signed.
    """
    walk = _Walk(checkpoints=sorted(checkpoints, key=lambda c: c.size))
    fault = find_unsigned(walk.checkpoints, keys) or walk.through(rows) or walk.behind(expected)
    return Report(
        entries=walk.edge.size,
        root=walk.edge.root,
        checkpoints=walk.passed,
        sealed=walk.sealed,
        origin=walk.origin,
        fault=fault,
    )


class _Walk(Struct, kw_only=True):
    checkpoints: Sequence[Checkpoint]
    edge: Edge = field(default_factory=Edge)
    chain: bytes = GENESIS
    passed: int = 0
    sealed: int = 0
    origin: str | None = None

    def through(self, rows: Iterable[Row]) -> Fault | None:
        for row in rows:
            fault = self._step(row) or self._compare()
            if fault is not None:
                return fault
        return None

    def behind(self, expected: int) -> Fault | None:
        """Return the fault of a log that has fewer entries than were signed, else None."""
        size = self.edge.size
        if self.passed < len(self.checkpoints):
            signed_size = self.checkpoints[-1].size
            gone = f"is missing: a signed checkpoint has {counted(signed_size, 'entry')}, not {size}"
            if self.sealed == size:
                return Fault(entry=size + 1, reason=gone)
            # Entries after the last matching checkpoint may have been rebuilt.
            return Fault(
                entry=self.sealed + 1, until=size + 1, reason=f"at the latest, entry {size + 1} {gone}"
            )
        if self.sealed < expected:
            return Fault(
                entry=self.sealed + 1,
                until=expected,
                reason=f"a checkpoint of {counted(expected, 'entry')} was signed"
                " and is not where checkpoints are kept",
            )
        return None

    def _step(self, row: Row) -> Fault | None:
        expected = self.edge.size + 1
        if row.seq != expected:
            return Fault(entry=expected, reason=f"is missing: entry {row.seq} stands in its place")
        leaf = row.leaf
        if leaf is None:
            return Fault(entry=expected, reason="is not text")
        chain = link(self.chain, leaf)
        if chain != row.chain:
            return Fault(entry=expected, reason="does not follow from the entries before it")
        if _read_number(row.body) != expected:
            return Fault(entry=expected, reason="says another number than its own")
        if expected == 1:
            self.origin = build_origin(row)
        self.edge, self.chain = self.edge.grow((leaf,)), chain
        return None

    def _compare(self) -> Fault | None:
        size = self.edge.size
        while self.passed < len(self.checkpoints) and self.checkpoints[self.passed].size == size:
            checkpoint = self.checkpoints[self.passed]
            if checkpoint.origin != self.origin:
                return Fault(entry=1, reason=f"is not the first entry of {checkpoint.origin}")
            if checkpoint.root != self.edge.root:
                return Fault(entry=self.sealed + 1, until=size, reason=self._difference(size))
            self.passed += 1
        if self.passed and self.checkpoints[self.passed - 1].size == size:
            self.sealed = size
        return None

    def _difference(self, size: int) -> str:
        roots = {checkpoint.root for checkpoint in self.checkpoints if checkpoint.size == size}
        if len(roots) > 1:
            return f"different logs of {counted(size, 'entry')} were signed: readers saw different logs"
        return "at least one entry is not the one that was signed"


def _read_number(body: str) -> Json:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document.get("seq") if isinstance(document, dict) else None


def find_unsigned(checkpoints: Sequence[Checkpoint], keys: Sequence[Verifier]) -> Fault | None:
    """Return the fault of the first checkpoint that no trusted key signed, or None."""
    ring = Keyring(keys, checkpoints)
    sizes = [0, *(checkpoint.size for checkpoint in checkpoints)]
    for (before, size), checkpoint in zip(pairwise(sizes), checkpoints, strict=True):
        if not ring.has_signed(checkpoint):
            return Fault(
                entry=before + 1,
                until=max(size, before + 1),
                reason="the checkpoint behind them is not signed with a trusted key",
            )
    return None


def pair_checkpoints(checkpoints: Sequence[Checkpoint]) -> Iterator[tuple[Checkpoint, Checkpoint]]:
    """Return pairs of neighbouring checkpoints of different sizes, for consistency proofs."""
    ordered = sorted({checkpoint.size: checkpoint for checkpoint in checkpoints}.items())
    return pairwise(checkpoint for _, checkpoint in ordered)
