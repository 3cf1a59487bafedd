"""Breaks near ties: of facts the newer wins, and of two sessions.

Does with arrays what `search/reference.py` does in plain Python. `sessions` has the number of the session of
each candidate, `states` that of the state it gives, -1 for none. `read_vectors` is called only when
candidates must be compared, once.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import compress
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memorywire.index.arrays import Candidate
from memorywire.search.relevance import (
    ALIKE,
    CENTRE,
    DIGITS,
    LEADERS,
    LEADERS_SAME_TERMS,
    LEADERS_TIE,
    NEAR,
    NEAR_TIE,
    NEW_VALUE,
    REWORDED,
    SAME_TERMS,
    SHORT,
    TERMS_COVERED,
    TIE_MARGIN,
    answers_as_well,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]


class Terms(Struct, frozen=True):
    """The terms of the query: the weight of each, which candidates contain it, and whether it is telling (an
    identifier or a name)."""

    weights: Floats
    contains: NDArray[np.bool_]
    telling: Sequence[bool]


class FewFacts(Struct, frozen=True):
    """Of each candidate among few memories: whether it tells of a change, its index terms, its user."""

    changes: Mask
    lengths: NDArray[np.int32]
    users: NDArray[np.int32]


def break_ties(
    top: Sequence[Candidate],
    *,
    moments: Ints,
    read_vectors: Callable[[], Floats],
    terms: Terms,
    sessions: Ints,
    states: NDArray[np.int32] | None,
    few: FewFacts | None,
    settled: bool,
    in_time: Mask,
) -> None:
    """Raise the weight of candidates that supersede others; their order may change by it.

    Where the question is about something `settled`, a newer session does not supersede an older one.
    `in_time` says which candidates are of the time that the query names: a newer fact must lack neither that
    nor a telling term, where an older one has it.
    """
    multiply = cache(lambda: _multiply_pairs(read_vectors()))
    lacks = in_time[None, :] & ~in_time[:, None]
    for contains in compress(terms.contains, terms.telling):
        lacks |= contains[None, :] & ~contains[:, None]
    _raise_weights(top, _supersede_facts(_weights(top), moments, multiply, terms, sessions, lacks))
    if states is not None:
        _prefer_newest_states(top, moments, states, in_time, settled=settled)
    if few is not None:
        _prefer_new_value(top, sessions < 0, moments, few, multiply, lacks, terms)
    if not settled and (leaders := _find_leaders(top, sessions)):
        first, second = leaders
        if answers_as_well(top[second].words, top[first].words):
            _raise_weights(top, _supersede_session(_weights(top), moments, terms, first, second))


def _multiply_pairs(vectors: Floats) -> Floats:
    products: Floats = vectors @ vectors.T
    return products


def _prefer_newest_states(
    top: Sequence[Candidate], moments: Ints, states: NDArray[np.int32], in_time: Mask, *, settled: bool
) -> None:
    """Let the newest candidate of each state pass the older ones, and mark those."""
    for state in {*states.tolist()} - {-1}:
        group = np.flatnonzero(states == state).tolist()
        newest = max(group, key=lambda index: (moments[index], top[index].id))
        for index in group:
            if moments[index] == moments[newest]:
                continue
            top[index].older_state = True
            passes = not settled and (in_time[newest] or not in_time[index])
            if passes and top[newest].weight < top[index].weight + TIE_MARGIN:
                top[newest].weight = top[index].weight + TIE_MARGIN
                top[newest].newest = True


def _prefer_new_value(
    top: Sequence[Candidate],
    facts: Mask,
    moments: Ints,
    few: FewFacts,
    multiply: Callable[[], Floats],
    lacks: Mask,
    terms: Terms,
) -> None:
    """Let the fact that seems to be the new value of the first fact pass it, and mark that one.

    As `relevance.find_new_value`, for all candidates at once.
    """
    indexes = np.flatnonzero(facts)
    if not indexes.size:
        return
    older = next((index for index in indexes.tolist() if not top[index].newest), -1)
    if older < 0 or _is_passed(top[older], [top[index] for index in indexes.tolist() if top[index].newest]):
        return
    follows = facts & (moments > moments[older]) & (few.users == few.users[older]) & ~lacks[:, older]
    if top[older].weight <= 0 or not follows.any():
        return
    products = multiply()
    is_reworded = np.round(products[older], DIGITS) >= REWORDED
    reworded = np.flatnonzero(follows & is_reworded)
    if reworded.size:
        follows[reworded] = terms.contains[terms.contains[:, older]][:, reworded].all(axis=0)
    near = np.zeros(len(top))
    near[indexes] = _compare_to(older, products, indexes)
    others = indexes[indexes != older]
    likely = np.flatnonzero(follows & (near >= NEAR)).tolist()
    if not likely:
        return
    inputs = _measure_pairs(near, _weights(top), few.lengths, few.changes, older, likely, near[others].max())
    scores = np.round(inputs @ np.array([*NEW_VALUE.values()]), DIGITS)
    score, _, newer = max(zip(scores.tolist(), [top[index].id for index in likely], likely, strict=True))
    if score > 0 and top[newer].weight < top[older].weight + TIE_MARGIN:
        top[newer].weight = top[older].weight + TIE_MARGIN
        top[newer].newest, top[older].revised = True, 1 / (1 + math.exp(-score))


def _measure_pairs(
    near: Floats,
    weights: Floats,
    lengths: NDArray[np.int32],
    changes: Mask,
    older: int,
    likely: Sequence[int],
    nearest: float,
) -> Floats:
    """The inputs of `NEW_VALUE` for the older fact and each of the likely ones, a row for each."""
    rows = np.ones((len(likely), len(NEW_VALUE)))
    rows[:, 1] = near[likely] - nearest
    rows[:, 2] = np.sqrt(np.clip(weights[likely] / weights[older], 0.0, 1.0))
    rows[:, 3] = changes[likely]
    rows[:, 4] = changes[older]
    rows[:, 5] = np.log((lengths[likely] + 1) / (lengths[older] + 1))
    return rows


def _is_passed(first: Candidate, raised: Sequence[Candidate]) -> bool:
    """Whether one of those that were raised is before this one, the first of the others."""
    likely = raised if first.demoted else [one for one in raised if one.weight >= first.weight]
    return any(one.sort_key < first.sort_key for one in likely)


def _compare_to(older: int, products: Floats, indexes: Ints) -> Floats:
    """The cosine of each of these with the older one, from the mean of all; 0 where there is no direction.

    As the products of the vectors give it: with the mean m, (a - m)(b - m) = ab - am - bm + mm.
    """
    among = products if len(indexes) == len(products) else products[np.ix_(indexes, indexes)]
    own = int(np.searchsorted(indexes, older))
    squares = among.diagonal()
    count = np.count_nonzero(squares) + CENTRE
    with_mean = among.sum(axis=1) / count
    mean = with_mean.sum() / count
    steps = np.where(squares > 0, squares - 2 * with_mean + mean, 0.0)
    lengths = np.sqrt(steps * steps[own])
    shared = among[own] - with_mean - with_mean[own] + mean
    cosines: Floats = np.divide(shared, lengths, out=np.zeros(len(steps)), where=lengths > SHORT)
    return np.round(cosines, DIGITS)


def _find_leaders(top: Sequence[Candidate], sessions: Ints) -> list[int]:
    """The indexes of the best turns of the two best sessions, best first; empty if there are no two."""
    if (sessions < 0).all():
        return []
    leaders: dict[int, int] = {}
    for index in sorted(range(len(top)), key=lambda index: top[index].sort_key):
        if sessions[index] >= 0:
            leaders.setdefault(int(sessions[index]), index)
    return list(leaders.values())[:LEADERS] if len(leaders) >= LEADERS else []


def _weights(top: Sequence[Candidate]) -> Floats:
    return np.array([candidate.weight for candidate in top], np.float64)


def _raise_weights(top: Sequence[Candidate], weights: Floats) -> None:
    for candidate, weight in zip(top, weights.tolist(), strict=True):
        if weight > candidate.weight:
            candidate.weight = weight
            candidate.newest = True


def _supersede_facts(
    weights: Floats,
    moments: Ints,
    multiply: Callable[[], Floats],
    terms: Terms,
    sessions: Ints,
    lacks: Mask,
) -> Floats:
    """The weights after each newer memory has passed the older ones that it replaces as an answer."""
    passes = _share_terms(terms.weights, terms.contains, SAME_TERMS)
    passes &= moments[:, None] > moments[None, :]
    passes &= weights[:, None] >= NEAR_TIE * weights[None, :]
    alone = sessions < 0
    passes &= alone[:, None] | alone[None, :]
    passes &= ~lacks
    if not passes.any():  # the usual case: no vectors are compared
        return weights
    passes &= multiply() >= ALIKE
    before, after = weights.tolist(), weights.tolist()
    for newer in sorted(np.flatnonzero(passes.any(axis=1)).tolist(), key=moments.tolist().__getitem__):
        # One that has passed another stands for it, with its evidence.
        own, older = before[newer], passes[newer].nonzero()[0].tolist()
        evidence = [weight for weight in map(after.__getitem__, older) if own >= NEAR_TIE * weight]
        if evidence:
            after[newer] = max(after[newer], max(evidence) + TIE_MARGIN)
    return np.array(after)


def _supersede_session(weights: Floats, moments: Ints, terms: Terms, first: int, second: int) -> Floats:
    """The weights after the second session has passed the first, if it is newer and answers the same."""
    if (
        moments[second] > moments[first]
        and LEADERS_TIE * weights[first] <= weights[second] <= weights[first]
        and _share_terms(terms.weights, terms.contains[:, [first, second]], LEADERS_SAME_TERMS)[0, 1]
    ):
        weights = weights.copy()
        weights[second] = weights[first] + TIE_MARGIN
    return weights


def _share_terms(weights: Floats, contains: NDArray[np.bool_], min_shared: float) -> Mask:
    """Which pairs both cover enough of the query's term weight, by nearly the same terms."""
    if not len(weights):
        return np.zeros((contains.shape[1],) * 2, bool)
    wide = contains.T.astype(np.float64)
    shared = (wide * weights) @ wide.T
    covered = shared.diagonal()
    enough = covered >= TERMS_COVERED * weights.sum()
    alike: Mask = shared >= min_shared * (covered[:, None] + covered[None, :] - shared)
    alike &= enough[:, None]
    alike &= enough[None, :]
    return alike
