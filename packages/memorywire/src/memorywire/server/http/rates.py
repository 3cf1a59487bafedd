"""Rates: how many requests a caller may send, and how many wrong tokens an address."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from memorywire.model.errors import RateLimited

_MOST_BUCKETS = 10_000
_MOST_VALID = 4_096


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rates:
    """A bucket for each caller: filled at `rate` a second, holding twice that."""

    def __init__(
        self, rate: float, now: Callable[[], float] = time.monotonic, *, what: str = "requests"
    ) -> None:
        self._rate = rate
        self._most = max(1.0, rate * 2)  # less than one request would be none for ever
        self._what = what
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, caller: str) -> None:
        """Raises RateLimited, with the wait, when the bucket is empty."""
        self._filled(caller).left -= 1

    def check(self, caller: str) -> None:
        """As `take`, and nothing is taken."""
        if caller in self._buckets:
            self._filled(caller)

    def _filled(self, caller: str) -> _Bucket:
        """The bucket of a caller as it is now; raises RateLimited when it is empty."""
        now, most = self._now(), self._most
        if caller not in self._buckets and len(self._buckets) >= _MOST_BUCKETS:
            self._forget_full(now)
        bucket = self._buckets.setdefault(caller, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, ceil((1 - bucket.left) / self._rate))
            raise RateLimited(f"more than {self._rate:g} {self._what} a second", retry_after=wait)
        return bucket

    def _forget_full(self, now: float) -> None:
        """Drop full buckets, which are like untouched ones: there may be any number of callers.

        If few are full, the oldest go too, so that a flood of addresses costs neither memory nor time.
        """
        used = [
            (caller, bucket)
            for caller, bucket in self._buckets.items()
            if bucket.left + (now - bucket.at) * self._rate < self._most
        ]
        self._buckets = dict(used[max(0, len(used) - _MOST_BUCKETS // 2) :])


class WrongTokens:
    """Limits how many wrong tokens an address may send; after that they are refused without a look-up.

    A credential that was valid here before is always looked up: another client behind the same address
    cannot shut it out.
    """

    def __init__(self, rate: float) -> None:
        self._rates = Rates(rate, what="wrong tokens")
        self._valid: dict[bytes, None] = {}

    def check(self, address: str, credential: str) -> None:
        """Raise RateLimited when the address has sent too many wrong tokens, and this may be one more."""
        if _digest(credential) not in self._valid:
            self._rates.check(address)

    def accept(self, credential: str) -> None:
        """Note that the credential was valid; of too many, the one that was noted first is dropped."""
        digest = _digest(credential)
        if digest not in self._valid and len(self._valid) >= _MOST_VALID:
            del self._valid[next(iter(self._valid))]
        self._valid[digest] = None

    def reject(self, address: str, credential: str) -> None:
        """Count a wrong token; raises RateLimited when it is one too many."""
        self._valid.pop(_digest(credential), None)
        self._rates.take(address)


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode(errors="replace")).digest()
