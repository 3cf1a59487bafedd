"""The newer memory passes the older by a nose: among near ties of facts, and between two sessions.

The same as stores/ranking.py says in plain Python, with arrays. `holding` has, for each term of the query,
its weight and which of the contest hold it; `sessions` has a number for each session, and -1 for no session.
`vectors` are asked for when somebody has to be compared.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.stores.relevance import (
    A_NOSE,
    ALIKE,
    LEADERS,
    LEADERS_SAME_TERMS,
    LEADERS_TIE,
    NEAR_TIE,
    SAME_TERMS,
    TERMS_COVERED,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
Holding: TypeAlias = Sequence[tuple[float, Mask]]


class Contender(Protocol):
    """One of the best, on its way through the ranking; contenders are ordered by `standing`."""

    weight: float
    newest: bool

    @property
    def standing(self) -> tuple[float, float, str]: ...


def put_newest_ahead(
    contest: Sequence[Contender],
    *,
    moments: Ints,
    vectors: Callable[[], Floats],
    holding: Holding,
    sessions: Ints,
) -> None:
    """Settle who of the contest is the newest word on the matter; they may be in another order afterwards."""
    _pass(contest, _facts(_weights(contest), moments, vectors, holding, sessions))
    if (sessions < 0).all():
        return
    order = sorted(range(len(contest)), key=lambda place: contest[place].standing)
    _pass(contest, _sessions(_weights(contest), moments, holding, sessions, order))


def _weights(contest: Sequence[Contender]) -> Floats:
    return np.array([runner.weight for runner in contest], np.float64)


def _pass(contest: Sequence[Contender], weights: Floats) -> None:
    for runner, weight in zip(contest, weights.tolist(), strict=True):
        if weight > runner.weight:
            runner.weight = weight
            runner.newest = True


def _facts(
    weights: Floats, moments: Ints, vectors: Callable[[], Floats], holding: Holding, sessions: Ints
) -> Floats:
    """The weights after every newer memory passed the older ones it answers in place of."""
    passes = _same_terms(holding, len(weights), SAME_TERMS)
    passes &= moments[:, None] > moments[None, :]
    passes &= weights[:, None] >= NEAR_TIE * weights[None, :]
    alone = sessions < 0
    passes &= alone[:, None] | alone[None, :]
    if not passes.any():  # as mostly, so that nobody need be compared
        return weights
    compared = vectors()
    passes &= compared @ compared.T >= ALIKE
    after = weights.copy()
    some = np.flatnonzero(passes.any(axis=1))
    for newer in some[np.argsort(moments[some], kind="stable")]:
        after[newer] = max(after[newer], after[passes[newer]].max() + A_NOSE)
    return after


def _sessions(
    weights: Floats, moments: Ints, holding: Holding, sessions: Ints, order: Sequence[int]
) -> Floats:
    """The weights after the newer of the two best sessions passed the older; `order` is the ranking yet."""
    leaders: dict[int, int] = {}
    for place in order:
        if sessions[place] >= 0:
            leaders.setdefault(int(sessions[place]), place)
    if len(leaders) < LEADERS:
        return weights
    first, second = list(leaders.values())[:LEADERS]
    two = [(weight, held[[first, second]]) for weight, held in holding]
    if (
        moments[second] > moments[first]
        and LEADERS_TIE * weights[first] <= weights[second] <= weights[first]
        and _same_terms(two, LEADERS, LEADERS_SAME_TERMS)[0, 1]
    ):
        weights = weights.copy()
        weights[second] = weights[first] + A_NOSE
    return weights


def _same_terms(holding: Holding, size: int, same: float) -> Mask:
    """Which two cover enough of the query's term weight, by nearly the same terms."""
    total = sum(weight for weight, _ in holding)
    if not total:
        return np.zeros((size, size), bool)
    held = np.array([mask for _, mask in holding]).T.astype(np.float64)
    weighed = held * np.array([weight for weight, _ in holding])
    covered, shared = weighed.sum(axis=1), weighed @ held.T
    enough = covered >= TERMS_COVERED * total
    alike: Mask = shared >= same * (covered[:, None] + covered[None, :] - shared)
    found: Mask = alike & enough[:, None] & enough[None, :]
    return found
