"""What a store is asked to rank, and what it answers."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from memorywire.model.record import Record
from memorywire.model.where import Where

DAMAGED_VECTORS = "damaged_vectors"
"""The signal by which a store says that it left out so many vectors because they are damaged."""


class Query(Struct, frozen=True, kw_only=True):
    """Words and their vector (float32, little endian), inside a `Where`.

    `times` are stretches the words speak of: from, up to but not including, in epoch milliseconds.
    `names` are words that may name somebody, `nameless` is the vector of the other words, if there are any.
    `aside` are index terms by which the text only asks: they count among its terms, but no memory earns them.
    `ago` says that it counts back from now to its times, by words that are aside.
    `settled` says that it asks about something past, which no later word on it changes.
    """

    where: Where
    text: str
    vector: bytes | None = None
    times: tuple[tuple[int, int], ...] = ()
    names: tuple[str, ...] = ()
    nameless: bytes | None = None
    aside: frozenset[str] = frozenset()
    ago: bool = False
    settled: bool = False


class Scored(Struct, frozen=True, kw_only=True):
    """A candidate with its relevance in 0..1 and the raw signals it was made of.

    A store that counts recalls may add their number as the signal `recalls`.
    """

    record: Record
    score: float
    signals: Mapping[str, float]


class Enough(Struct, frozen=True):
    """When a store may stop: after `most` candidates, or at the first whose score does not reach the `level`.

    `level` is given the score and the signals of the best candidate, and whether all are turns of sessions.
    It counts only where all candidates are admitted by the same rule.
    """

    most: int
    level: Callable[[float, Mapping[str, float], bool], float]
