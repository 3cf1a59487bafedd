"""From which likeness on two memories say the same: fitted to pairs that come along, in any space."""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files

from msgspec import Struct

from memorywire.consolidate.likeness import Change, Likeness, cosine, likeness
from memorywire.model.record import MemoryType, Record, Scope
from memorywire.search.dedup import Stated
from memorywire.search.embed import Embedder
from memorywire.search.slots import slots

_ODD_ONES = 20
"""All pairs are about one thing each: `related` is the likeness that all but one in twenty reach."""


class Thresholds(Struct, frozen=True):
    """For each way to differ, the least score of two that say the same; ways not named never do.

    From `related` on, two memories are at least about one thing. Nobody has looked at statements of more than
    `longest` words: the longer one is, the less a single word counts in its vector.
    """

    least: Mapping[Change, float]
    related: float = 1.0
    longest: int = 0

    @property
    def lowest(self) -> float:
        """Vectors less alike than this need not be looked at."""
        return min(self.least.values(), default=1.0)

    def same(self, found: Likeness) -> bool:
        least = self.least.get(found.change)
        return least is not None and found.score >= least


async def fitted(embedder: Embedder) -> Thresholds:
    """The lowest thresholds that take no pair for the same that is not: halfway to the next that is."""
    lines = (files(__package__) / "data" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines]
    texts = sorted({pair[side] for pair in pairs for side in ("first", "second")})
    vectors = dict(zip(texts, await embedder.embed(texts), strict=True))
    judged = [
        (likeness(_stated(pair["first"]), _stated(pair["second"]), vectors), bool(pair["same"]))
        for pair in pairs
    ]
    found = {change: _least(change, judged) for change in Change}
    alike = sorted(cosine(vectors[pair["first"]], vectors[pair["second"]]) for pair in pairs)
    return Thresholds(
        {change: score for change, score in found.items() if score is not None},
        related=alike[len(alike) // _ODD_ONES],
        longest=max(len(_stated(text)[1].said) for text in texts),
    )


def _least(change: Change, judged: Sequence[tuple[Likeness, bool]]) -> float | None:
    scores = [(found.score, same) for found, same in judged if found.change is change]
    highest = max((score for score, same in scores if not same), default=0.0)
    above = [score for score, same in scores if same and score > highest]
    return (highest + min(above)) / 2 if above else None


def _stated(text: str) -> Stated:
    scope = Scope(agent="calibration")
    record = Record(id=text, scope=scope, type=MemoryType.SEMANTIC, content=text, created_at=0, updated_at=0)
    return record, slots(record)
