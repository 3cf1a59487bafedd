"""Empty is a valid answer: what is admitted is decided on absolute evidence, not on rank."""

from collections.abc import Sequence
from dataclasses import dataclass

from memorywire.model.answers import Verdict
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Standing
from memorywire.model.requests import MinRelevance

WEAK = 0.27
"""Below this, a candidate is not shown unless the caller lowers the floor."""

MATCH = 0.6
"""From here on, the best candidate is said to answer the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Who passed the floor, who did not, and what that says about the query."""

    admitted: tuple[Scored, ...]
    cut: tuple[Scored, ...]
    floor: float
    verdict: Verdict


def admit(candidates: Sequence[Scored], min_relevance: MinRelevance) -> Admission:
    """Split ranked candidates at the floor, keeping their order."""
    floor = _floor(min_relevance)
    admitted = tuple(scored for scored in candidates if evidence(scored) >= floor)
    best = max((evidence(scored) for scored in admitted), default=0.0)
    return Admission(
        admitted=admitted,
        cut=tuple(scored for scored in candidates if evidence(scored) < floor),
        floor=floor,
        verdict=_verdict(best),
    )


def evidence(scored: Scored) -> float:
    """Relevance before demotion: a demoted memory ranks lower but is no less an answer."""
    demoted = scored.record.standing is Standing.DEMOTED
    return scored.score / DEMOTED_FACTOR if demoted else scored.score


def _floor(min_relevance: MinRelevance) -> float:
    match min_relevance:
        case "auto":
            return WEAK
        case "off":
            return 0.0
        case _:
            return float(min_relevance)


def _verdict(best: float) -> Verdict:
    if best >= MATCH:
        return Verdict.MATCH
    return Verdict.WEAK if best >= WEAK else Verdict.NO_MATCH
