"""How several stores are one memory: when a write counts, and whom a recall believes."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from memorywire.model.requests import Fusion
from memorywire.model.values import dataclass


class WritePolicy(StrEnum):
    """Who must hold a change for its receipt to say committed; the others are owed it in any case."""

    ALL = "all"
    PRIMARY = "primary"
    QUORUM = "quorum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """Settled when the stores are opened.

    `register`: what a store returns is held against what was written. `rerank`: the order of the hits is
    decided here and not by the stores, unless a request names a fusion by scores. `trim`: so many of the
    best votes for a memory are not counted. `weights`: of the stores in weighted fusion, 1 for those that
    are not named.
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
"""What nobody has asked to be otherwise."""
