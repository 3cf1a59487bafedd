"""Admission: decides on absolute evidence, not on rank, which candidates to return; possibly none."""

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
"""The relevance that the best fact must reach for any fact to be returned; a caller may set another floor."""

CHANCE = 0.085
SPREAD = 0.09
"""The mean cosine of a question and a fact that has nothing to do with it, and its deviation. The largest of
n such cosines is about CHANCE + SPREAD * sqrt(2 log n)."""

TURN = 0.25
"""The relevance from which a turn of a session is returned: higher, because of evidence from neighbours."""

OWN = 0.7
"""The share of the evidence required by a floor that a turn must have without its neighbours, whose evidence
alone must not admit it."""

SHARE = 0.45
"""Besides the best fact, facts with this share of its evidence are returned. For a query about several things
the share is divided by their number, because a fact that answers one part matches the others little."""

REST = 0.1
"""The least cosine of the best fact with the rest of a query that names a person, because a name alone is no
answer. It does not apply to a match: a supposed name may be a thing (Redis) or any noun (in German)."""

PASSED = 1e-6
"""The scores of a memory and of one that it has passed differ by less than this."""

_Weighed: TypeAlias = tuple[float, bool, Mapping[str, float]]
"""The evidence of a candidate, whether it is a turn of a session, and its signals."""

NOBODY = 1.01
"""A floor that no candidate reaches."""

MATCH = 0.6
"""The relevance from which the verdict is `match`."""


class Floors(Struct, frozen=True, kw_only=True):
    """The relevance from which a candidate is returned, and from which it is a match (None: unknown).

    `turn` is the floor for turns of a session. The best fact must reach `weak`, and its cosine with the query
    without names must reach `rest` if the query names a person; other facts need a `share` of its evidence.
    """

    weak: float = WEAK
    turn: float = TURN
    share: float = SHARE
    rest: float = REST
    match: float | None = MATCH
    fitted: bool = True

    @classmethod
    def level(cls, floor: float, match: float | None, *, fitted: bool = True) -> Self:
        """Return floors with one level for all kinds of memory."""
        return cls(weak=floor, turn=floor, share=0.0, rest=-1.0, match=match, fitted=fitted)


UNFITTED = Floors.level(0.0, None, fitted=False)
"""For a space whose cosines were not measured: no candidate is cut, and the verdict is never `match`."""


class Admission(Struct, frozen=True, kw_only=True):
    """The candidates that passed the floor, those that did not, and the verdict on the query."""

    admitted: tuple[Scored, ...]
    cut: tuple[Scored, ...]
    floor: float
    verdict: Verdict


def choose_floors(space: Space, floor: float | None = None, match: float | None = None) -> Floors:
    """Return the floors of an embedding space, or those fitted to its data: one `floor` for all memories and
    the level of a `match`, which is derived from the floor if it is None. Raises InvalidRequest.
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
    """Derive the level of a match from a floor, with the same odds ratio as between MATCH and TURN.

    Returns None for a floor of 0, because it cuts nothing.
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

    `asks_more`: the query names a person and asks for something about them. `things` is the number of things
    that it asks for.
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
    """Return the score that admits a candidate, from the score and the signals of the best one.

    It is valid only if no candidate is demoted, and either all or none are turns of a session.
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
    """Return the relevance that a fact must reach, and the one that a turn must reach.

    For a fact it is a share of the best fact's evidence, if the best fact itself is good enough.
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
    # A memory that passed another by a tie-break counts with the cosine of that one.
    rest = max(signals.get("rest", 1.0) for worth, signals in facts if worth >= best - PASSED)
    is_match = floors.match is not None and best >= floors.match
    if asks_more and rest < floors.rest and not is_match:
        return NOBODY, floors.turn
    return compute_share(best, share), floors.turn


def evidence(hit: Scored | Hit) -> float:
    """Return the relevance before demotion: demotion lowers the rank, not the quality as an answer."""
    demoted = hit.record.standing is Standing.DEMOTED
    return hit.score / DEMOTED_FACTOR if demoted else hit.score


def compute_weak(floors: Floors, among: float | None) -> float:
    """Return the relevance that the best of `among` facts must reach.

    It is lower for few facts, of which the best by chance is less similar. `among` is None with a filter.
    """
    if not floors.fitted or not floors.share or among is None:
        return floors.weak
    chance = CHANCE + SPREAD * math.sqrt(2 * math.log(max(among, 2)))
    return min(floors.weak, relevance(chance**2))


def compute_share(best: float, share: float) -> float:
    """Return the relevance of a memory with this share of the best one's evidence."""
    return relevance(share * weight(best)) if 0 < best < 1 else best * share


def compute_own_level(floor: float) -> float:
    """Return the relevance that a turn needs without its neighbours to be admitted at this floor."""
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
