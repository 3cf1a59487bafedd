"""How memory is put in order: what stays how long, how much one run may do, and what it may spend."""

from collections.abc import Mapping

from msgspec import Struct, field

from memorywire.model.record import MemoryType, Record

PIN = "pinned"
OFF = "off"
EVERY_SECONDS = 60.0

_DAYS = {MemoryType.EPISODIC: 180, MemoryType.EMOTIONAL: 180}
_MOST = dict.fromkeys(MemoryType, 50_000)
_AT_LEAST = 10
_MILLION = 1_000_000


class Retention(Struct, frozen=True, kw_only=True):
    """How many days an unused memory of each kind stays, and how many of each kind one user may have.

    A kind that is not named stays forever, and in any number; so does what is pinned, by `metadata.pinned` or
    by one of the tags `pins`.
    """

    days: Mapping[MemoryType, int] = field(default_factory=lambda: _DAYS)
    most: Mapping[MemoryType, int] = field(default_factory=lambda: _MOST)
    half_life_days: float = 90.0
    pins: frozenset[str] = frozenset({PIN})

    def pinned(self, record: Record) -> bool:
        """Whether somebody said that this memory stays as it is."""
        return not self.pins.isdisjoint(record.tags) or record.metadata.get(PIN) is True


class Limits(Struct, frozen=True, kw_only=True):
    """How much one run may do: so many memories, this share of them (but never fewer than ten), so long."""

    changes: int = 500
    ratio: float = 0.4
    seconds: float = 600.0

    def allowed(self, memories: int) -> int:
        return min(self.changes, max(_AT_LEAST, int(memories * self.ratio)))


class Spending(Struct, frozen=True, kw_only=True):
    """What one run may spend on a model: so many tokens, and no more than `cost` at `price` a million.

    Without a price nobody can say what it costs, and only the tokens count.
    """

    tokens: int = 50_000
    price: float | None = None
    cost: float | None = None

    def costs(self, tokens: int) -> float | None:
        return None if self.price is None else self.price * tokens / _MILLION

    def allows(self, tokens: int) -> bool:
        """Whether a run may come to so many tokens."""
        costs = self.costs(tokens)
        return tokens <= self.tokens and (costs is None or self.cost is None or costs <= self.cost)


class ConsolidationSettings(Struct, frozen=True, kw_only=True):
    """All that is set about dreaming. `model` is an endpoint or `off`, with its `key`.

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
