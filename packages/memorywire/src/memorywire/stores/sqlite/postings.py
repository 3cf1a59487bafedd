"""The text index of a shelf: which rows hold a term, and how often; sorted runs and an unsorted tail."""

from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.model.values import dataclass
from memorywire.stores.sqlite.growing import Growing

Ints: TypeAlias = NDArray[np.int64]
Documents: TypeAlias = NDArray[np.int32]
Counts: TypeAlias = NDArray[np.uint16]

# A tail is searched from end to end, so it stays short.
_SHORTEST_TAIL = 4096
# A run stays as it is until those after it have grown to this share of it.
_RUN_SHARE = 2


@dataclass(frozen=True, slots=True)
class _Run:
    """Entries sorted by term: the documents of `terms[at]` stand from `starts[at]` to `starts[at + 1]`."""

    terms: Ints
    starts: Ints
    documents: Documents
    counts: Counts

    @classmethod
    def of(cls, terms: Ints, documents: Documents, counts: Counts) -> Self:
        order = np.argsort(terms, kind="stable")
        terms = terms[order]
        first = np.ones(len(terms), bool)
        np.not_equal(terms[1:], terms[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        return cls(terms[starts], np.append(starts, len(terms)), documents[order], counts[order])

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self.terms, self.starts, self.documents, self.counts))

    @property
    def entries(self) -> tuple[Ints, Documents, Counts]:
        return np.repeat(self.terms, np.diff(self.starts)), self.documents, self.counts

    def holding(self, term: int) -> slice:
        at = int(np.searchsorted(self.terms, term))
        if at == len(self.terms) or self.terms[at] != term:
            return slice(0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))


class Postings:
    """The text index of a shelf; documents are numbered by their row on it."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []  # each with the documents behind those of the one before
        self._new_tail()

    @property
    def nbytes(self) -> int:
        tail = (self._tail_terms, self._tail_documents, self._tail_counts)
        return sum(run.nbytes for run in self._runs) + sum(column.nbytes for column in tail)

    def add(self, terms: Ints, documents: Documents, counts: Counts) -> None:
        """Add entries; their documents must come after all that are there."""
        self._tail_terms.extend(terms)
        self._tail_documents.extend(documents)
        self._tail_counts.extend(counts)

    def holding(self, term: int) -> tuple[Documents, Counts]:
        """The documents that hold a term, in ascending order, and how often each does."""
        if len(self._tail_terms) > _SHORTEST_TAIL:
            self._settle()
        found = [
            (run.documents[some], run.counts[some]) for run in self._runs if (some := run.holding(term)).stop
        ]
        recent = np.flatnonzero(self._tail_terms.values == term)
        if len(recent) or not found:
            found.append((self._tail_documents.values[recent], self._tail_counts.values[recent]))
        if len(found) == 1:
            return found[0]
        documents, counts = zip(*found, strict=True)
        return np.concatenate(documents), np.concatenate(counts)

    def glance(self, terms: Sequence[int]) -> tuple[NDArray[np.intp], Documents, Counts] | None:
        """As `holding`, for all terms at once, while the index is short; None once it is long.

        Parallel arrays, term after term: the index of the term, a document that holds it, and how often.
        """
        if self._runs or len(self._tail_terms) > _SHORTEST_TAIL:
            return None
        tail = self._tail_terms.values
        same = np.array(terms, np.int64)[:, None] == tail
        which, at = np.divmod(same.ravel().nonzero()[0], max(len(tail), 1))
        return which, self._tail_documents.values[at], self._tail_counts.values[at]

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all other documents, and number the kept ones anew in the same order."""
        self._settle()
        terms, documents, counts = _joined(self._runs)
        stays = kept[documents]
        numbers = np.cumsum(kept, dtype=np.int32) - np.int32(1)
        self._runs = [_Run.of(terms[stays], numbers[documents[stays]], counts[stays])]

    def _settle(self) -> None:
        """Turn the tail into a run, and join runs of similar size."""
        tail = (self._tail_terms.values, self._tail_documents.values, self._tail_counts.values)
        self._runs.append(_Run.of(*tail))
        self._new_tail()
        while len(self._runs) > 1 and len(self._runs[-2]) <= _RUN_SHARE * len(self._runs[-1]):
            self._runs[-2:] = [_Run.of(*_joined(self._runs[-2:]))]

    def _new_tail(self) -> None:
        # It may double, because it is soon emptied: a large index is first of all one long tail.
        self._tail_terms, self._tail_documents = Growing("i8", spare=1), Growing("i4", spare=1)
        self._tail_counts = Growing("u2", spare=1)


def _joined(runs: list[_Run]) -> tuple[Ints, Documents, Counts]:
    terms, documents, counts = zip(*(run.entries for run in runs), strict=True)
    return np.concatenate(terms), np.concatenate(documents), np.concatenate(counts)
