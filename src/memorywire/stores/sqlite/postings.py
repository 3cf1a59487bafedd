"""Which documents hold a term, and how often: arrays sorted by term, and a short unsorted tail."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.sqlite.rows import ENTRY

Ints: TypeAlias = NDArray[np.int64]
Documents: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint16]

# A tail is searched from end to end, so it stays short beside the sorted part.
_SHORTEST_TAIL = 4096
_TAIL_SHARE = 4


class Growing:
    """An array that is appended to, in amortised constant time."""

    def __init__(self, dtype: str, *shape: int) -> None:
        self._room: NDArray[Any] = np.empty((0, *shape), dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._size]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes

    def extend(self, values: NDArray[Any]) -> None:
        wanted = self._size + len(values)
        if wanted > len(self._room):
            room = np.empty((max(wanted, 2 * len(self._room)), *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : wanted] = values
        self._size = wanted

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._room = self.values[kept]
        self._size = len(self._room)


class Postings:
    """The text index of a shelf; documents are numbered by their row on it."""

    def __init__(self) -> None:
        self._terms: Ints = np.empty(0, np.int64)
        self._starts: Ints = np.zeros(1, np.int64)
        self._documents: Documents = np.empty(0, np.int32)
        self._counts: Counts = np.empty(0, np.uint16)
        self._tail_terms = Growing("i8")
        self._tail_documents = Growing("i4")
        self._tail_counts = Growing("u2")

    @property
    def nbytes(self) -> int:
        settled = (self._terms, self._starts, self._documents, self._counts)
        tail = (self._tail_terms, self._tail_documents, self._tail_counts)
        return sum(array.nbytes for array in (*settled, *tail))

    def append(self, first: int, blobs: list[bytes]) -> None:
        """Index these documents, numbered from `first` on."""
        entries = np.frombuffer(b"".join(blobs), ENTRY)
        sizes = [len(blob) // ENTRY.itemsize for blob in blobs]
        numbers = np.arange(first, first + len(blobs), dtype=np.int32)
        self._tail_terms.extend(entries["term"])
        self._tail_documents.extend(np.repeat(numbers, sizes))
        self._tail_counts.extend(entries["count"])
        if len(self._tail_terms) > max(_SHORTEST_TAIL, len(self._documents) // _TAIL_SHARE):
            self._settle()

    def holding(self, term: int) -> tuple[Documents, Counts]:
        """The documents that hold a term, and how often each does."""
        at = int(np.searchsorted(self._terms, term))
        documents, counts = self._documents[:0], self._counts[:0]
        if at < len(self._terms) and self._terms[at] == term:
            stretch = slice(int(self._starts[at]), int(self._starts[at + 1]))
            documents, counts = self._documents[stretch], self._counts[stretch]
        recent = np.flatnonzero(self._tail_terms.values == term)
        if not len(recent):
            return documents, counts
        return (
            np.concatenate((documents, self._tail_documents.values[recent])),
            np.concatenate((counts, self._tail_counts.values[recent])),
        )

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the other documents and number the rest anew, in the same order."""
        terms, documents, counts = self._entries()
        stays = kept[documents]
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        self._sort(terms[stays], numbers[documents[stays]], counts[stays])

    def _settle(self) -> None:
        self._sort(*self._entries())

    def _entries(self) -> tuple[Ints, Documents, Counts]:
        terms = np.repeat(self._terms, np.diff(self._starts))
        return (
            np.concatenate((terms, self._tail_terms.values)),
            np.concatenate((self._documents, self._tail_documents.values)),
            np.concatenate((self._counts, self._tail_counts.values)),
        )

    def _sort(self, terms: Ints, documents: Documents, counts: Counts) -> None:
        order = np.argsort(terms, kind="stable")
        self._terms, starts = np.unique(terms[order], return_index=True)
        self._starts = np.append(starts, len(terms)).astype(np.int64)
        self._documents, self._counts = documents[order], counts[order]
        self._tail_terms, self._tail_documents = Growing("i8"), Growing("i4")
        self._tail_counts = Growing("u2")
