"""How several stores act as one memory: when a write counts, and which answers of a recall are believed."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from memorywire.model.requests import Fusion
from memorywire.model.values import dataclass


class WritePolicy(StrEnum):
    """Which stores must hold a change before its receipt says committed; the others are owed it."""

    ALL = "all"
    PRIMARY = "primary"
    QUORUM = "quorum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """How several stores are used; fixed when they are opened.

    With `register`, what a store returns is checked against what was written. With `rerank`, hits are ordered
    here rather than by the stores, unless a request names a fusion by scores. `trim` is how many of the best
    votes for a memory are ignored. `weights` are those of weighted fusion, 1 for stores that are not named.
    """

    write: WritePolicy = WritePolicy.ALL
    register: bool = True
    rerank: bool = True
    trim: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def reranks(self, fusion: Fusion) -> bool:
        """Whether the order of the hits is decided here."""
        return self.rerank and fusion is Fusion.RRF

    def satisfied(self, holding: frozenset[str], children: tuple[str, ...]) -> bool:
        """Whether a change that these children hold counts as committed."""
        match self.write:
            case WritePolicy.ALL:
                return len(holding) == len(children)
            case WritePolicy.PRIMARY:
                return children[0] in holding
            case WritePolicy.QUORUM:
                return 2 * len(holding) > len(children)


ALONE = Routing()
"""The routing when nothing else was asked for."""
