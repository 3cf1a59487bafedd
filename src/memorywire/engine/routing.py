"""How several stores are one memory: when a write counts, and whom a recall believes."""

from dataclasses import dataclass
from enum import StrEnum


class WritePolicy(StrEnum):
    """Who must hold a change for its receipt to say committed; the others are owed it in any case."""

    ALL = "all"
    PRIMARY = "primary"
    QUORUM = "quorum"


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """`register`: what a store returns is held against what was written. `rerank`: the order of the hits is
    decided here and not by the stores. `trim`: so many of the best votes for a memory are not counted."""

    write: WritePolicy = WritePolicy.ALL
    register: bool = True
    rerank: bool = False
    trim: int = 0

    def satisfied(self, holding: frozenset[str], children: tuple[str, ...]) -> bool:
        """Whether a change that these children hold counts as committed."""
        match self.write:
            case WritePolicy.ALL:
                return len(holding) == len(children)
            case WritePolicy.PRIMARY:
                return children[0] in holding
            case WritePolicy.QUORUM:
                return 2 * len(holding) > len(children)
