"""Where the terms of a query stand among the rows that it may see."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorywire.model.values import dataclass
from memorywire.stores.sqlite.postings import Postings
from memorywire.stores.sqlite.selection import Rows, Selection

_NOWHERE, _NEVER = np.empty(0, np.int32), np.empty(0, np.uint16)


@dataclass(frozen=True, slots=True)
class Wording:
    """Parallel arrays with an entry for each pair of a term and a selected row that holds it, term by term.

    `which` is the index of the term, `places` the place of the row beside the selection, `often` the count.
    `rows(term)` are all rows that hold a term, selected or not, in ascending order.
    """

    which: NDArray[np.intp]
    places: NDArray[Any]
    often: NDArray[np.uint16]
    rows: Callable[[int], Rows]


def worded(postings: Postings, selection: Selection, terms: Sequence[int]) -> Wording:
    """Where these terms, given by their keys, stand among the selected rows."""
    glance = postings.glance(terms)
    if glance is not None:
        which, documents, counts = glance
        places, some = selection.among(documents, rising=False)
        return Wording(which[some], places, counts[some], lambda term: documents[which == term])
    found = [postings.holding(term) for term in terms]
    seen = [selection.among(documents) for documents, _ in found]
    often = [counts[some] for (_, counts), (_, some) in zip(found, seen, strict=True)]
    return Wording(
        np.repeat(np.arange(len(terms)), [len(places) for places, _ in seen]),
        np.concatenate([_NOWHERE, *(places for places, _ in seen)]),
        np.concatenate([_NEVER, *often]),
        lambda term: found[term][0],
    )
