"""Hits that say the same: which of them repeat a better one."""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from memorywire.model.query import Scored
from memorywire.model.record import Record
from memorywire.search.slots import Slots, agree, slots

_ROUNDING = 1e-6
"""What float32 may lose of the cosine of equal texts."""


Stated: TypeAlias = tuple[Record, Slots]


def lookalikes(ranked: Sequence[Scored]) -> list[list[Stated]]:
    """Groups whose members may say the same, best first; only within a group need vectors be compared."""
    groups: dict[tuple[object, ...], list[Stated]] = {}
    for scored in ranked:
        stated = slots(scored.record)
        groups.setdefault(stated.key, []).append((scored.record, stated))
    return [group for group in groups.values() if len(group) > 1]


def statement(record: Record) -> str:
    """The words that are compared: content and speaker, without the time it was said and the full stop."""
    said = replace(record, occurred_at=None).text
    return said.rstrip(" .!\n") or said


def repeats(
    groups: Iterable[Sequence[Stated]], vectors: Mapping[str, bytes], threshold: float
) -> dict[str, str]:
    """For each record that repeats a better one, the id of that one.

    Two say the same when they agree in every slot and their vectors are at least `threshold` alike.
    """
    found: dict[str, str] = {}
    for group in groups:
        kept: list[Stated] = []
        for record, stated in group:
            better = _better(record, stated, kept, vectors, threshold - _ROUNDING)
            if better is None:
                kept.append((record, stated))
            else:
                found[record.id] = better
    return found


def _better(
    record: Record, stated: Slots, kept: Iterable[Stated], vectors: Mapping[str, bytes], least: float
) -> str | None:
    for other, its in kept:
        if agree(its, stated) and cosine(vectors[other.id], vectors[record.id]) >= least:
            return other.id
    return None


def cosine(one: bytes, other: bytes) -> float:
    """The cosine of two unit vectors, float32 little-endian."""
    return sum(a * b for a, b in zip(_floats(one), _floats(other), strict=True))


def _floats(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)
