"""Empty is a valid answer: what is admitted is decided on absolute evidence, not on rank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from memorywire.model.answers import Hit, Verdict
from memorywire.model.query import Scored
from memorywire.model.record import DEMOTED_FACTOR, Standing
from memorywire.model.requests import MinRelevance
from memorywire.model.space import Space
from memorywire.stores.relevance import relevance, weight

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""The model whose cosines the levels below were fitted to."""

WEAK = 0.0573
"""Unless some fact reaches this, none is shown; the caller may set another floor."""

TURN = 0.15
"""From here on a turn of a session is shown: its neighbours lend it evidence, so more is asked of it."""

SHARE = 0.45
"""Beside the best fact, those with this share of its evidence are shown."""

REST = 0.1
"""How near the best fact must be to the rest of a query that names somebody: the name is no answer."""

MATCH = 0.6
"""From here on, the best candidate is said to answer the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floors:
    """From where on a candidate is shown, and is said to answer; without `match` nobody can say.

    `turn` is the floor of turns of a session, `weak` that of facts, which must also have a share of the
    best fact's evidence.
    """

    weak: float = WEAK
    turn: float = TURN
    share: float = SHARE
    rest: float = REST
    match: float | None = MATCH
    fitted: bool = True

    @classmethod
    def level(cls, floor: float, match: float | None, *, fitted: bool = True) -> Self:
        """One floor for all."""
        return cls(weak=floor, turn=floor, share=0.0, rest=-1.0, match=match, fitted=fitted)

    def of(self, scored: Scored) -> float:
        return self.weak if scored.record.session_id is None else self.turn


UNFITTED = Floors.level(0.0, None, fitted=False)
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

    A fitted floor is one for all, and takes the level of a match with it, at the same ratio of odds as
    between turns. A floor of 0 cuts nothing, so it cannot say what a match is either.
    """
    if floor is None:
        return Floors() if space.model == DEFAULT_MODEL else UNFITTED
    if floor == 0:
        return Floors.level(0.0, None)
    odds = _odds(MATCH) / _odds(TURN)
    return Floors.level(floor, floor * odds / (1 - floor + floor * odds))


def admit(
    candidates: Sequence[Scored], min_relevance: MinRelevance, floors: Floors, *, asks_more: bool = False
) -> Admission:
    """Split ranked candidates at the floor, keeping their order.

    `asks_more` says that the query names somebody and asks for something about them.
    """
    match min_relevance:
        case "auto":
            floor, kept = floors.weak, _answers(candidates, floors, asks_more=asks_more)
        case "off":
            floor, kept = 0.0, list(candidates)
        case _:
            floor = float(min_relevance)
            kept = [scored for scored in candidates if evidence(scored) >= floor]
    shown = {scored.record.id for scored in kept}
    return Admission(
        admitted=tuple(scored for scored in candidates if scored.record.id in shown),
        cut=tuple(scored for scored in candidates if scored.record.id not in shown),
        floor=floor,
        verdict=_verdict(kept, floors),
    )


def evidence(scored: Scored | Hit) -> float:
    """Relevance before demotion: a demoted memory ranks lower but is no less an answer."""
    demoted = scored.record.standing is Standing.DEMOTED
    return scored.score / DEMOTED_FACTOR if demoted else scored.score


def _answers(candidates: Sequence[Scored], floors: Floors, *, asks_more: bool) -> list[Scored]:
    good = [scored for scored in candidates if evidence(scored) >= floors.of(scored)]
    facts = [scored for scored in good if scored.record.session_id is None]
    if not facts:
        return good
    best = max(facts, key=evidence)
    off_topic = asks_more and best.signals.get("rest", 1.0) < floors.rest
    least = 1.0 if off_topic else _share(evidence(best), floors.share)
    return [scored for scored in good if scored.record.session_id is not None or evidence(scored) >= least]


def _share(best: float, share: float) -> float:
    """The relevance of what has this share of the best one's evidence."""
    return relevance(share * weight(best)) if 0 < best < 1 else best * share


def _verdict(admitted: Sequence[Scored], floors: Floors) -> Verdict:
    good = [evidence(scored) for scored in admitted if evidence(scored) >= floors.of(scored)]
    if not good:
        return Verdict.NO_MATCH
    return Verdict.MATCH if floors.match is not None and max(good) >= floors.match else Verdict.WEAK


def _odds(share: float) -> float:
    return share / (1 - share)
