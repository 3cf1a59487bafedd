"""Which documents hold a term, and how often: arrays sorted by term, and a short unsorted tail."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.sqlite.growing import Growing

Ints: TypeAlias = NDArray[np.int64]
Documents: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint16]

# A tail is searched from end to end, so it stays short beside the sorted part.
_SHORTEST_TAIL = 4096
_TAIL_SHARE = 4


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

    def add(self, terms: Ints, documents: Documents, counts: Counts) -> None:
        """More entries, of documents that come behind all others."""
        self._tail_terms.extend(terms)
        self._tail_documents.extend(documents)
        self._tail_counts.extend(counts)

    def holding(self, term: int) -> tuple[Documents, Counts]:
        """The documents that hold a term, in ascending order, and how often each does."""
        if len(self._tail_terms) > max(_SHORTEST_TAIL, len(self._documents) // _TAIL_SHARE):
            self._settle()
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
        terms = terms[order]
        starts = np.flatnonzero(np.append(len(terms[:1]), terms[1:] != terms[:-1]))
        self._terms, self._starts = terms[starts], np.append(starts, len(terms))
        self._documents, self._counts = documents[order], counts[order]
        self._tail_terms, self._tail_documents = Growing("i8"), Growing("i4")
        self._tail_counts = Growing("u2")
