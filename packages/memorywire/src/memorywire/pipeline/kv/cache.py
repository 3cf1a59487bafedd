"""Remembers the keys this process has set, so that setting one again need not read the store first."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from memorywire.model.change import Change
from memorywire.model.kv import MARK, Owner

Seen: TypeAlias = tuple[str, int, int, int | None, int]
"""A record's id, version, created_at and expires_at, and the bytes of its value; a plain tuple, which the
garbage collector does not look at."""

_MOST = 32_768


class Known:
    """The last version committed under each key that was set here: a guess, never the truth.

    A write names the version it expects, so a wrong guess is refused, and the caller reads the store. A wrong
    guess also shows that others write this owner's keys; from then on nothing is guessed for that owner.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._store: object = None
        self._shared: set[Owner] = set()

    def guesses(self, owner: Owner, store: object, ids: Iterable[str]) -> Mapping[str, Seen]:
        """What is known of these ids in this store; nothing, if others write the owner's keys too."""
        if store is not self._store or owner in self._shared:
            return {}
        return {id: self._seen[id] for id in ids if id in self._seen}

    def set(self, store: object, change: Change) -> None:
        """Note the version that a committed change of a key has written."""
        if store is not self._store or len(self._seen) >= _MOST:
            self._seen.clear()
            self._store = store
        record = change.put[0].record
        held = record.metadata[MARK]["bytes"]
        self._seen[record.id] = (record.id, record.version, record.created_at, record.expires_at, held)

    def forget(self, id: str) -> bool:
        """Drop what is known of this id; True when there was something."""
        return self._seen.pop(id, None) is not None

    def wrong(self, owner: Owner, id: str) -> None:
        """Note that a guess was wrong: nothing is guessed for this owner any more."""
        if self.forget(id):
            self._shared.add(owner)
