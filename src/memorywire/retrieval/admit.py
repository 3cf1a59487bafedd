"""Empty is a valid answer: what is admitted is decided on absolute evidence, not on rank."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorywire.model.answers import Hit, Verdict
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Standing
from memorywire.model.requests import MinRelevance
from memorywire.model.space import Space

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model whose cosines the two levels below were fitted to."""

WEAK = 0.15
"""Below this, a candidate is not shown unless the caller lowers the floor."""

MATCH = 0.6
"""From here on, the best candidate is said to answer the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """From where on a candidate is shown, and is said to answer; without `match` nobody can say."""

    weak: float = WEAK
    match: float | None = MATCH
    fitted: bool = True


UNFITTED = Floors(weak=0.0, match=None, fitted=False)
"""For a space whose cosines nobody has looked at: nothing is cut, and nothing is called a match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Who passed the floor, who did not, and what that says about the query."""

    admitted: tuple[Scored, ...]
    cut: tuple[Scored, ...]
    floor: float
    verdict: Verdict


def floors_of(space: Space, floor: float | None = None) -> Floors:
    """The floors of an embedding space, or those that a floor fitted to its data implies.

    A fitted floor takes the level of a match with it, at the same ratio of odds. A floor of 0 cuts
    nothing, so it cannot say what a match is either.
    """
    if floor is None:
        return Floors() if space.model == DEFAULT_MODEL else UNFITTED
    if floor == 0:
        return Floors(weak=0.0, match=None)
    odds = _odds(MATCH) / _odds(WEAK)
    return Floors(weak=floor, match=floor * odds / (1 - floor + floor * odds))


def admit(candidates: Sequence[Scored], min_relevance: MinRelevance, floors: Floors) -> Admission:
    """Split ranked candidates at the floor, keeping their order."""
    floor = _floor(min_relevance, floors)
    admitted = tuple(scored for scored in candidates if evidence(scored) >= floor)
    return Admission(
        admitted=admitted,
        cut=tuple(scored for scored in candidates if evidence(scored) < floor),
        floor=floor,
        verdict=_verdict(admitted, floors),
    )


def evidence(scored: Scored | Hit) -> float:
    """Relevance before demotion: a demoted memory ranks lower but is no less an answer."""
    demoted = scored.record.standing is Standing.DEMOTED
    return scored.score / DEMOTED_FACTOR if demoted else scored.score


def _floor(min_relevance: MinRelevance, floors: Floors) -> float:
    match min_relevance:
        case "auto":
            return floors.weak
        case "off":
            return 0.0
        case _:
            return float(min_relevance)


def _verdict(admitted: Sequence[Scored], floors: Floors) -> Verdict:
    best = max((evidence(scored) for scored in admitted), default=None)
    if best is None or best < floors.weak:
        return Verdict.NO_MATCH
    return Verdict.MATCH if floors.match is not None and best >= floors.match else Verdict.WEAK


def _odds(share: float) -> float:
    return share / (1 - share)
