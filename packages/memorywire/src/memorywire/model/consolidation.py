"""Settings of consolidation: retention, and limits on the work and the cost of a run."""

from collections.abc import Mapping

from msgspec import Struct, field

from memorywire.model.label import MARK
from memorywire.model.record import MemoryType, Record

PIN = "pinned"
OFF = "off"
EVERY_SECONDS = 60.0

_DAYS = {MemoryType.EPISODIC: 180, MemoryType.EMOTIONAL: 180}
_MOST = dict.fromkeys(MemoryType, 50_000)
_AT_LEAST = 10
_MILLION = 1_000_000


class Retention(Struct, frozen=True, kw_only=True):
    """For each type, how many days an unused memory stays and how many memories one user may have.

    A type that is not listed has no limit; neither has a memory that is pinned: with the field `pinned` of a
    remember, by `metadata.pinned`, or by one of the tags `pins`.
    """

    days: Mapping[MemoryType, int] = field(default_factory=lambda: _DAYS)
    most: Mapping[MemoryType, int] = field(default_factory=lambda: _MOST)
    half_life_days: float = 90.0
    pins: frozenset[str] = frozenset({PIN})

    def pinned(self, record: Record) -> bool:
        """Whether the memory is pinned."""
        if not self.pins.isdisjoint(record.tags) or record.metadata.get(PIN) is True:
            return True
        mark = record.metadata.get(MARK)
        return isinstance(mark, Mapping) and mark.get(PIN) is True


class Limits(Struct, frozen=True, kw_only=True):
    """Limits of one run: the number of changes, their share of all memories (at least ten), and seconds."""

    changes: int = 500
    ratio: float = 0.4
    seconds: float = 600.0

    def allowed(self, memories: int) -> int:
        return min(self.changes, max(_AT_LEAST, int(memories * self.ratio)))


class Spending(Struct, frozen=True, kw_only=True):
    """Limits of what one run may spend on a model: tokens, and `cost` at `price` per million tokens.

    Without a price only the tokens are limited.
    """

    tokens: int = 50_000
    price: float | None = None
    cost: float | None = None

    def costs(self, tokens: int) -> float | None:
        return None if self.price is None else self.price * tokens / _MILLION

    def allows(self, tokens: int) -> bool:
        """Whether a run may use this many tokens."""
        costs = self.costs(tokens)
        return tokens <= self.tokens and (costs is None or self.cost is None or costs <= self.cost)


class ConsolidationSettings(Struct, frozen=True, kw_only=True):
    """Settings of consolidation. `model` is an endpoint or `off`, with its `key`.

    A server looks through what sessions noted every `promote` seconds, and dreams each day at `night`, in
    minutes after midnight UTC; None switches either off.
    """

    retention: Retention = field(default_factory=Retention)
    limits: Limits = field(default_factory=Limits)
    spending: Spending = field(default_factory=Spending)
    model: str = OFF
    key: str | None = None
    promote: float | None = EVERY_SECONDS
    night: int | None = None
