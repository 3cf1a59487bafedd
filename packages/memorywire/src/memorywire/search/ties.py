"""Breaks near ties: among facts the newer wins; of two sessions the fuller, then the newer.

It does with arrays what search/reference.py does in plain Python. `holding` has, for each term of the query,
its weight and which contenders hold it. `sessions` has a number for each contender's session, -1 for none.
`vectors` is called only when contenders must be compared. `covered` gives the share of the query's term
weight that the turns of a session hold together.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorywire.search.relevance import (
    A_NOSE,
    ALIKE,
    FULLER,
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
Covered: TypeAlias = Callable[[int], float]


class Contender(Protocol):
    """One of the best candidates; contenders are ordered by `standing`."""

    weight: float
    newest: bool
    fuller: bool

    @property
    def standing(self) -> tuple[float, float, str]: ...


def put_newest_ahead(
    contest: Sequence[Contender],
    *,
    moments: Ints,
    vectors: Callable[[], Floats],
    holding: Holding,
    sessions: Ints,
    covered: Covered,
    settled: bool,
) -> None:
    """Raise the weight of contenders that supersede others; their order may change by it.

    Where the question is about something `settled`, a newer session does not supersede an older one.
    """
    _pass(contest, _facts(_weights(contest), moments, vectors, holding, sessions))
    if not (leaders := _leaders(contest, sessions)):
        return
    first, second = leaders
    its, other = int(sessions[first]), int(sessions[second])
    _put_fuller_ahead(contest[first], contest[second], lambda: covered(other) - covered(its))
    if not settled:
        _pass(contest, _sessions(_weights(contest), moments, holding, *_leaders(contest, sessions)))


def _put_fuller_ahead(first: Contender, second: Contender, fuller: Callable[[], float]) -> None:
    """Let the second leader pass the first if its session covers enough more of the query."""
    if not LEADERS_TIE * first.weight <= second.weight <= first.weight:
        return
    if second.weight + FULLER * fuller() > first.weight:
        second.weight = first.weight + A_NOSE
        second.fuller = True


def _leaders(contest: Sequence[Contender], sessions: Ints) -> list[int]:
    """The places of the best turns of the two best sessions, best first; empty if there are no two."""
    if (sessions < 0).all():
        return []
    leaders: dict[int, int] = {}
    for place in sorted(range(len(contest)), key=lambda place: contest[place].standing):
        if sessions[place] >= 0:
            leaders.setdefault(int(sessions[place]), place)
    return list(leaders.values())[:LEADERS] if len(leaders) >= LEADERS else []


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
    """The weights after each newer memory has passed the older ones that it replaces as an answer."""
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
        passed = after[passes[newer]]  # who has passed another stands for it, with its evidence
        passed = passed[weights[newer] >= NEAR_TIE * passed]
        if len(passed):
            after[newer] = max(after[newer], passed.max() + A_NOSE)
    return after


def _sessions(weights: Floats, moments: Ints, holding: Holding, first: int, second: int) -> Floats:
    """The weights after the second session has passed the first, if it is newer and answers the same."""
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
    """Which pairs both cover enough of the query's term weight, by nearly the same terms."""
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
