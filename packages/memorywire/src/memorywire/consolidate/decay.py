"""What fades: memories that nobody used for long, and the least of too many. They are archived, not ended."""

import math
from collections.abc import Iterator, Sequence

from memorywire.consolidate.steps import Pass, Step
from memorywire.model.clock import DAY_MS
from memorywire.model.consolidation import Retention
from memorywire.model.record import Record


def over_time(records: Sequence[Record], retention: Retention, now: int) -> Iterator[Step]:
    """The memories that nobody used for longer than their kind is kept."""
    for kind, days in retention.days.items():
        why = f"{kind.value} and unused for over {days} days"
        for record in records:
            idle = now - last_used(record) > days * DAY_MS
            if idle and record.type is kind and not retention.pinned(record):
                yield Step(name=Pass.RETENTION, ids=(record.id,), why=why)


def over_caps(records: Sequence[Record], retention: Retention) -> Iterator[Step]:
    """The memories beyond the number that a user may have of a kind, the least valuable first."""
    kept: dict[object, list[Record]] = {}
    for record in records:
        kept.setdefault((record.scope, record.type), []).append(record)
    for group in kept.values():
        kind = group[0].type
        most = retention.most.get(kind, len(group))
        spare = sorted(
            (record for record in group if not retention.pinned(record)),
            key=lambda record: _worth(record, retention),
        )
        for record in spare[: max(0, len(group) - most)]:
            yield Step(name=Pass.CAP, ids=(record.id,), why=f"least worth of more than {most} {kind.value}")


def last_used(record: Record) -> int:
    """When the memory was last recalled or written."""
    return max(record.updated_at, record.created_at, record.recalled_at or 0)


def _worth(record: Record, retention: Retention) -> tuple[float, int, str]:
    """Confidence that halves while nobody uses it; counted from the epoch, so that sorting needs no clock."""
    half_lives = last_used(record) / (retention.half_life_days * DAY_MS)
    sureness = max(record.confidence, 1e-6)
    return half_lives + math.log2(sureness), last_used(record), record.id
