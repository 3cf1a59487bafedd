"""UUIDv7 ids, which sort by time."""

import hashlib
import os
import threading
from collections.abc import Callable
from typing import TypeAlias

from memorywire.model.clock import Clock

Entropy: TypeAlias = Callable[[int], bytes]

_COUNTER_LIMIT = 0xFFF
_TAIL_BYTES = 8
_TAILS = 64  # random tails drawn at once
_PLACES = 42  # of the last 62 bits the first 20 are the part number, these identify the whole
_REST = (1 << _PLACES) - 1

VARIANT = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
"""The hexadecimal digit with the two variant bits set (RFC 9562, section 4.1)."""


def _format_uuid(bits: int) -> str:
    """Format the 128 bits of a UUID."""
    digits = f"{bits:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def part_of(whole: str, place: int) -> str:
    """Return the id of part number `place` of a minted id; deterministic, and sorted by number."""
    head = int(whole.replace("-", ""), 16) >> 62 << 62
    tail = int.from_bytes(hashlib.blake2b(whole.encode(), digest_size=8).digest(), "big") & _REST
    return _format_uuid(head | place << _PLACES | tail)


def _mint(moment: int, counter: int, random_bytes: bytes) -> str:
    time, tail = f"{moment & 0xFFFF_FFFF_FFFF:012x}", random_bytes.hex()
    return f"{time[:8]}-{time[8:]}-7{counter:03x}-{VARIANT[tail[0]]}{tail[1:4]}-{tail[4:]}"


def _split_tails(data: bytes) -> list[bytes]:
    return [data[at : at + _TAIL_BYTES] for at in range(0, len(data), _TAIL_BYTES)]


class IdMint:
    """Mints ids that sort in the order they were minted, even within one millisecond.

    The 12 bits after the timestamp count within a millisecond (RFC 9562, section 6.2, method 1);
    when they run out, or the clock steps back, the mint runs ahead of the clock by a millisecond.
    """

    def __init__(self, clock: Clock, entropy: Entropy = os.urandom) -> None:
        self._clock = clock
        self._entropy = entropy
        self._lock = threading.Lock()
        self._last = 0
        self._counter = 0
        self._tails: list[bytes] = []

    def __call__(self) -> str:
        with self._lock:
            moment, counter = self._advance(self._clock())
            if not self._tails:  # a draw for each id would double the time
                self._tails = _split_tails(self._entropy(_TAIL_BYTES * _TAILS))
            tail = self._tails.pop()
        return _mint(moment, counter, tail)

    def many(self, count: int) -> list[str]:
        """Mint this many ids at one moment, with one draw of random bits."""
        tails = _split_tails(self._entropy(_TAIL_BYTES * count))
        now = self._clock()
        with self._lock:
            places = [self._advance(now) for _ in range(count)]
        return [_mint(*place, tail) for place, tail in zip(places, tails, strict=True)]

    def _advance(self, now: int) -> tuple[int, int]:
        if now > self._last:
            self._last, self._counter = now, 0
        elif self._counter < _COUNTER_LIMIT:
            self._counter += 1
        else:
            self._last, self._counter = self._last + 1, 0
        return self._last, self._counter
