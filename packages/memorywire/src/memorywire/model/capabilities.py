"""What is wired here, as one object from which every advertisement is projected."""

from enum import StrEnum

from msgspec import Struct

from memorywire.model.space import NO_SPACE, Space


class Feature(StrEnum):
    """What a store can do beyond keeping and finding records."""

    VECTOR = "vector"
    FTS = "fts"
    HISTORY = "history"
    AS_OF = "as_of"
    UNDO = "undo"
    IDEMPOTENCY = "idempotency"
    HARD_DELETE = "hard_delete"
    RECALL_TRACKING = "recall_tracking"
    DURABLE = "durable"


def working(features: frozenset[Feature], space: Space) -> frozenset[Feature]:
    """The features of a store that work with an embedder of this space: without one there are no vectors."""
    return features - {Feature.VECTOR} if space == NO_SPACE else features


class StoreCapabilities(Struct, frozen=True, kw_only=True):
    name: str
    features: frozenset[Feature]


class Capabilities(Struct, frozen=True, kw_only=True):
    """What is wired. `overseen` when there is a journal, so that people can review, rule and ask why.

    `together` is what several stores can do as one, if several are joined. `extracts` when conversations can
    be read for facts, `hosting` when an OpenWOP host is open over it.
    """

    stores: tuple[StoreCapabilities, ...]
    space: Space
    overseen: bool = False
    together: frozenset[Feature] | None = None
    extracts: bool = False
    hosting: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        """What is advertised: it holds for whichever store a request reaches."""
        if self.together is not None:
            return self.together
        return frozenset.intersection(*(store.features for store in self.stores))
