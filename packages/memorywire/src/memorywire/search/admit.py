"""Empty is a valid answer: what is admitted is decided on absolute evidence, not on rank."""

import math
from collections.abc import Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Self, TypeAlias

from msgspec import Struct

from memorywire.model.answers import Hit, Verdict
from memorywire.model.errors import InvalidRequest
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Standing
from memorywire.model.requests import MinRelevance
from memorywire.model.space import Space
from memorywire.search.relevance import relevance, weight

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model whose cosines the levels below were fitted to."""

WEAK = 0.0573
"""The relevance that the best fact must reach for any fact to be shown; a caller may set another floor."""

CHANCE = 0.085
SPREAD = 0.09
"""The mean cosine of a question and a fact that has nothing to do with it, and its deviation. The largest of
n such cosines is about CHANCE + SPREAD * sqrt(2 log n)."""

TURN = 0.25
"""The relevance from which a turn of a session is shown: higher, because neighbours lend it evidence."""

OWN = 0.7
"""The share of the evidence that a floor demands which a turn must have by itself: what its neighbours lend
does not lift it over the floor alone."""

SHARE = 0.45
"""Beside the best fact, those with this share of its evidence are shown; a query that asks for several things
at once divides it among them, for a fact that answers one part says little about the others."""

REST = 0.1
"""How near the best fact must be to the rest of a query that names a person: a name alone does not answer. A
match is:
what seems to be a name may be a thing (Redis) or any noun (in German)."""

PASSED = 1e-6
"""The scores of a memory and of one that it has passed differ by less."""

_Weighed: TypeAlias = tuple[float, bool, Mapping[str, float]]
"""Its evidence, whether it is a turn of a session, and its signals."""

NOBODY = 1.01
"""A floor that nothing reaches."""

MATCH = 0.6
"""The relevance from which the verdict is `match`."""


class Floors(Struct, frozen=True, kw_only=True):
    """The relevance from which a candidate is shown, and from which it is a match (None: cannot be told).

    `turn` is the floor for turns of a session. Of facts the best must reach `weak`, and `rest` if the query
    names a person; the others need a `share` of its evidence.
    """

    weak: float = WEAK
    turn: float = TURN
    share: float = SHARE
    rest: float = REST
    match: float | None = MATCH
    fitted: bool = True

    @classmethod
    def level(cls, floor: float, match: float | None, *, fitted: bool = True) -> Self:
        """Floors with one level for all kinds of memory."""
        return cls(weak=floor, turn=floor, share=0.0, rest=-1.0, match=match, fitted=fitted)


UNFITTED = Floors.level(0.0, None, fitted=False)
"""For a space whose cosines were not measured: nothing is cut, and nothing is called a match."""


class Admission(Struct, frozen=True, kw_only=True):
    """The candidates that passed the floor, those that did not, and the verdict on the query."""

    admitted: tuple[Scored, ...]
    cut: tuple[Scored, ...]
    floor: float
    verdict: Verdict


def choose_floors(space: Space, floor: float | None = None, match: float | None = None) -> Floors:
    """The floors of an embedding space, or those fitted to its data: a floor, which is one for all, and from
    where on an answer is a match; without that, what the floor implies.
    """
    if floor is not None:
        return Floors.level(floor, derive_match(floor) if match is None else match)
    if match is not None:
        raise InvalidRequest(
            "from where on an answer is a match is told together with the floor",
            field="match",
            fix="give the floor that was fitted with it",
        )
    return Floors() if space.model == DEFAULT_MODEL else UNFITTED


def derive_match(floor: float) -> float | None:
    """The level of a match that a floor takes with it, at the same ratio of odds as between turns.

    A floor of 0 cuts nothing, so it cannot say what a match is either.
    """
    odds = _compute_odds(MATCH) / _compute_odds(TURN)
    return floor * odds / (1 - floor + floor * odds) if floor else None


def admit(
    candidates: Sequence[Scored],
    min_relevance: MinRelevance,
    floors: Floors,
    *,
    asks_more: bool = False,
    things: int = 1,
) -> Admission:
    """Split ranked candidates at the floor, keeping their order.

    `asks_more` says that the query names a person and asks for something about them; `things`, for how many
    things it asks.
    """
    evidences = [
        (evidence(candidate), candidate.record.conversation is not None, candidate.signals)
        for candidate in candidates
    ]
    facts, turns = _compute_levels(evidences, min_relevance, floors, asks_more=asks_more, things=things)
    least = compute_own_level(turns)
    passes = [
        worth >= turns and signals.get("own", 1.0) >= least if turn else worth >= facts
        for worth, turn, signals in evidences
    ]
    return Admission(
        admitted=tuple(compress(candidates, passes)),
        cut=tuple(compress(candidates, map(not_, passes))),
        floor=turns if all(turn for _, turn, _ in evidences) else facts,
        verdict=_judge(list(compress(evidences, passes)), floors),
    )


def level(
    best: float,
    signals: Mapping[str, float],
    turns: bool,
    min_relevance: MinRelevance,
    floors: Floors,
    *,
    asks_more: bool = False,
    things: int = 1,
) -> float:
    """The score that admits a candidate, from the score and the signals of the best one.

    It holds where no candidate is demoted, and all or none are turns of a session.
    """
    evidences = [(best, turns, signals)]
    return _compute_levels(evidences, min_relevance, floors, asks_more=asks_more, things=things)[turns]


def _compute_levels(
    evidences: Sequence[_Weighed],
    min_relevance: MinRelevance,
    floors: Floors,
    *,
    asks_more: bool,
    things: int,
) -> tuple[float, float]:
    """The relevance that a fact must reach, and the one that a turn must reach.

    For a fact it is a share of the best fact's evidence, if that one answers at all.
    """
    if min_relevance == "off":
        return 0.0, 0.0
    if min_relevance != "auto":
        return float(min_relevance), float(min_relevance)
    facts = [(worth, signals) for worth, turn, signals in evidences if not turn]
    if not facts:
        return floors.weak, floors.turn
    best, share = max(worth for worth, _ in facts), floors.share / things
    weak = compute_weak(floors, facts[0][1].get("among"))
    if best < weak or not share:
        return weak, floors.turn
    # A memory that replaced another counts as near as that one.
    rest = max(signals.get("rest", 1.0) for worth, signals in facts if worth >= best - PASSED)
    is_match = floors.match is not None and best >= floors.match
    if asks_more and rest < floors.rest and not is_match:
        return NOBODY, floors.turn
    return compute_share(best, share), floors.turn


def evidence(hit: Scored | Hit) -> float:
    """The relevance before demotion: a demoted memory ranks lower, but answers no less."""
    demoted = hit.record.standing is Standing.DEMOTED
    return hit.score / DEMOTED_FACTOR if demoted else hit.score


def compute_weak(floors: Floors, among: float | None) -> float:
    """The relevance that the best of so many facts must reach.

    Among few, chance brings less near. A filter selects memories that are alike: then it is not known.
    """
    if not floors.fitted or not floors.share or among is None:
        return floors.weak
    chance = CHANCE + SPREAD * math.sqrt(2 * math.log(max(among, 2)))
    return min(floors.weak, relevance(chance**2))


def compute_share(best: float, share: float) -> float:
    """The relevance of what has this share of the best one's evidence."""
    return relevance(share * weight(best)) if 0 < best < 1 else best * share


def compute_own_level(floor: float) -> float:
    """The relevance that a turn must have by itself to be admitted at this floor."""
    return compute_share(floor, OWN)


def _judge(evidences: Sequence[_Weighed], floors: Floors) -> Verdict:
    good = [
        worth
        for worth, turn, signals in evidences
        if worth >= (floors.turn if turn else compute_weak(floors, signals.get("among")))
    ]
    if not good:
        return Verdict.NO_MATCH
    return Verdict.MATCH if floors.match is not None and max(good) >= floors.match else Verdict.WEAK


def _compute_odds(share: float) -> float:
    return share / (1 - share)
