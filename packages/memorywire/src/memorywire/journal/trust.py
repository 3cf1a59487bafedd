"""Which checkpoints count: those signed with a key that is trusted, from the first key to the last."""

from collections.abc import Iterable, Sequence

from memorywire.journal.signed_notes import Checkpoint, Handover, Verifier


class Keyring:
    """The keys that are trusted: the pinned ones, and those they handed over to, signed by both sides.

    Each key counts for the log sizes between the handover to it and the one from it.
    """

    def __init__(self, pinned: Iterable[Verifier], checkpoints: Sequence[Checkpoint]) -> None:
        self._handovers = [
            (checkpoint.size, checkpoint.handover)
            for checkpoint in checkpoints
            if checkpoint.handover is not None and _agreed(checkpoint, checkpoint.handover)
        ]
        self._keys = set(pinned)
        for _ in self._handovers:  # each round goes at least one handover further, in either direction
            linked = [{h.old, h.new} for _, h in self._handovers if self._keys & {h.old, h.new}]
            self._keys |= set().union(*linked)

    def signed(self, checkpoint: Checkpoint) -> bool:
        """Whether a key that was in use at that size vouches for it."""
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


def _agreed(checkpoint: Checkpoint, handover: Handover) -> bool:
    return handover.old.accepts(checkpoint.note) and handover.new.accepts(checkpoint.note)
