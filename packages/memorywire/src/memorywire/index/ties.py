"""Breaks near ties between facts, and between two sessions: the newer one wins.

Does with arrays what `search/reference.py` does in plain Python. `sessions` and `states` have the session and
the state number of each candidate, -1 for none. `read_vectors` is called at most once, and only if
candidates must be compared.
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
    """The terms of the query: the weight of each, which candidates contain it, and whether it is `telling`
    (an identifier or a name)."""

    weights: Floats
    contains: NDArray[np.bool_]
    telling: Sequence[bool]


class FewFacts(Struct, frozen=True):
    """For each candidate among few memories: whether it reports a change, its index terms, its user."""

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
    """Raise the weight of candidates that supersede others, which may change their order.

    If the question is about something `settled`, a newer session does not supersede an older one.
    `in_time` marks the candidates of the time that the query names: a newer fact must be in time, and contain
    a telling term, if the older one does.
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
    """Let the newest candidate of each state pass the older ones, which are marked as `older_state`."""
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
    """Let the likely new value of the first fact pass it, and mark that fact as `revised`.

    Like `relevance.find_new_value`, for all candidates at once.
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
    """Return the inputs of `NEW_VALUE` for the older fact and the likely ones, a row for each."""
    rows = np.ones((len(likely), len(NEW_VALUE)))
    rows[:, 1] = near[likely] - nearest
    rows[:, 2] = np.sqrt(np.clip(weights[likely] / weights[older], 0.0, 1.0))
    rows[:, 3] = changes[likely]
    rows[:, 4] = changes[older]
    rows[:, 5] = np.log((lengths[likely] + 1) / (lengths[older] + 1))
    return rows


def _is_passed(first: Candidate, raised: Sequence[Candidate]) -> bool:
    """Return whether one of the raised candidates ranks before `first`, the first of the others."""
    likely = raised if first.demoted else [one for one in raised if one.weight >= first.weight]
    return any(one.sort_key < first.sort_key for one in likely)


def _compare_to(older: int, products: Floats, indexes: Ints) -> Floats:
    """Return the cosine of each of these with the older one, relative to the mean of all; 0 if undefined.

    Computed from the products of the vectors: with the mean m, (a - m)(b - m) = ab - am - bm + mm.
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
    """Return the indexes of the best turns of the two best sessions, best first; empty without two."""
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
    """Return the weights after each newer memory has passed the older ones that it supersedes."""
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
        # A memory that has passed another one takes over its evidence.
        own, older = before[newer], passes[newer].nonzero()[0].tolist()
        evidence = [weight for weight in map(after.__getitem__, older) if own >= NEAR_TIE * weight]
        if evidence:
            after[newer] = max(after[newer], max(evidence) + TIE_MARGIN)
    return np.array(after)


def _supersede_session(weights: Floats, moments: Ints, terms: Terms, first: int, second: int) -> Floats:
    """Return the weights after the second session passed the first, if it is newer with the same answer."""
    if (
        moments[second] > moments[first]
        and LEADERS_TIE * weights[first] <= weights[second] <= weights[first]
        and _share_terms(terms.weights, terms.contains[:, [first, second]], LEADERS_SAME_TERMS)[0, 1]
    ):
        weights = weights.copy()
        weights[second] = weights[first] + TIE_MARGIN
    return weights


def _share_terms(weights: Floats, contains: NDArray[np.bool_], min_shared: float) -> Mask:
    """Return which pairs both cover enough of the query's term weight, with nearly the same terms."""
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
