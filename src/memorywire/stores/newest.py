"""Near ties that answer the same question: the newer memory passes the older by a nose."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.relevance import A_NOSE, ALIKE, NEAR_TIE, SAME_TERMS, TERMS_COVERED

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def put_newest_ahead(
    *,
    weights: Floats,
    moments: NDArray[np.int64],
    vectors: Floats,
    holding: Sequence[tuple[float, Mask]],
) -> Floats:
    """The weights after every newer memory passed the older ones it answers in place of."""
    passes = _same_question(vectors, holding)
    passes &= moments[:, None] > moments[None, :]
    passes &= weights[:, None] >= NEAR_TIE * weights[None, :]
    after = weights.copy()
    some = np.flatnonzero(passes.any(axis=1))
    for newer in some[np.argsort(moments[some], kind="stable")]:
        after[newer] = max(after[newer], after[passes[newer]].max() + A_NOSE)
    return after


def _same_question(vectors: Floats, holding: Sequence[tuple[float, Mask]]) -> Mask:
    total = sum(weight for weight, _ in holding)
    if not total:
        return np.zeros((len(vectors), len(vectors)), bool)
    held = np.array([mask for _, mask in holding]).T.astype(np.float64)
    weighed = held * np.array([weight for weight, _ in holding])
    covered, shared = weighed.sum(axis=1), weighed @ held.T
    enough = covered >= TERMS_COVERED * total
    same = shared >= SAME_TERMS * (covered[:, None] + covered[None, :] - shared)
    alike = vectors @ vectors.T >= ALIKE
    found: Mask = same & alike & enough[:, None] & enough[None, :]
    return found
