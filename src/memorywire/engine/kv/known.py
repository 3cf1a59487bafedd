"""How keys stand that this process set: whoever sets one again need not look at the store first."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from memorywire.model.change import Change
from memorywire.model.kv import MARK, Owner

Seen: TypeAlias = tuple[str, int, int, int | None, int]
"""A record's id, version, created_at and expires_at, and the bytes of its value; a plain tuple, which the
garbage collector does not look at."""

_MOST = 32_768


class Known:
    """What was committed last under the keys that were set here.

    A guess: a write names the version that must be there, and whoever finds another looks again. A number is
    given once, so what is said of a version stays true of it. Where a guess was wrong others write these keys
    too, and nothing is guessed of their owner any more.
    """

    def __init__(self) -> None:
        self._seen: dict[str, Seen] = {}
        self._store: object = None
        self._shared: set[Owner] = set()

    def guesses(self, owner: Owner, store: object, ids: Iterable[str]) -> Mapping[str, Seen]:
        """What is known of these ids in this store."""
        if store is not self._store or owner in self._shared:
            return {}
        return {id: self._seen[id] for id in ids if id in self._seen}

    def set(self, store: object, change: Change) -> None:
        """The change of a key was committed."""
        if store is not self._store or len(self._seen) >= _MOST:
            self._seen.clear()
            self._store = store
        record = change.put[0].record
        held = record.metadata[MARK]["bytes"]
        self._seen[record.id] = (record.id, record.version, record.created_at, record.expires_at, held)

    def forget(self, id: str) -> bool:
        """Nothing is known of this id any more; whether there was."""
        return self._seen.pop(id, None) is not None

    def wrong(self, owner: Owner, id: str) -> None:
        """Something else stood there than was expected."""
        if self.forget(id):
            self._shared.add(owner)
