"""Checksums of rows: `doctor` finds by them what a disk changed.

A checksum is no proof against people, who can make a new one: that is what the ledger is for. A row of an
earlier release has none.
"""

from collections.abc import Sequence
from zlib import crc32

RECORD = (
    *("tenant", "agent", "user", "id", "number", "type", "standing", "confidence", "created_at"),
    *("updated_at", "occurred_at", "expires_at", "trust", "source", "session", "structured", "tags"),
    *("metadata", "supersedes", "merged_from", "derived_from", "content"),
)
"""The columns of a version that its checksum covers: what it says. Its end is added by `end_checksum`."""

CHANGE = (
    *("id", "tenant", "agent", "user", "operation", "at", "key", "fingerprint", "reason", "undoes"),
    *("about", "puts"),
)
"""The columns of a change that its checksum covers."""


def row_checksum(values: Sequence[object]) -> int:
    """The checksum of the values of a row."""
    return crc32("\x1f".join(map(str, values)).encode(errors="surrogatepass"))


def end_checksum(ended: int, reason: str, into: str | None) -> int:
    """What the end of a version changes in its checksum, by exclusive or."""
    return row_checksum((ended, reason, into))


def vector_checksum(vector: bytes | None) -> int | None:
    """The checksum of a vector as the file keeps it."""
    return None if vector is None else crc32(vector)
