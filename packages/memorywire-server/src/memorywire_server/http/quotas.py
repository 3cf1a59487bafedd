"""Quotas: how much one credential, one tenant and all callers together may use at a time."""

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextvars import ContextVar
from math import ceil
from typing import Any, NamedTuple

from msgspec import Struct

from memorywire.model.errors import Overloaded, RateLimited


class Party(NamedTuple):
    """The credential and tenant that a request counts for. Without a credential the address is used."""

    credential: str
    tenant: str


class Quota:
    """Counts how much of one resource is in use.

    One credential gets at most half of the resource and one tenant at most three quarters, so neither can
    exhaust it for the others.
    """

    def __init__(self, total: int, detail: str, *, retry_after: int) -> None:
        self._total = total
        self._per_credential = max(1, total // 2)
        self._per_tenant = max(1, total * 3 // 4)
        self._detail = detail
        self._retry_after = retry_after
        self._used = 0
        self._by_credential: dict[str, int] = {}
        self._by_tenant: dict[str, int] = {}

    def has_room(self, party: Party) -> bool:
        return (
            self._used < self._total
            and self._by_credential.get(party.credential, 0) < self._per_credential
            and self._by_tenant.get(party.tenant, 0) < self._per_tenant
        )

    def require_room(self, party: Party) -> None:
        """Raise Overloaded, with a retry time, if the party or all parties together have reached a limit."""
        if not self.has_room(party):
            raise Overloaded(self._detail, retry_after=self._retry_after)

    def add(self, party: Party) -> None:
        self._used += 1
        self._by_credential[party.credential] = self._by_credential.get(party.credential, 0) + 1
        self._by_tenant[party.tenant] = self._by_tenant.get(party.tenant, 0) + 1

    def remove(self, party: Party) -> None:
        self._used -= 1
        _subtract(self._by_credential, party.credential)
        _subtract(self._by_tenant, party.tenant)


def _subtract(counts: dict[str, int], name: str) -> None:
    """Subtract one and remove zeros, so that any number of addresses uses no memory."""
    if counts[name] == 1:
        del counts[name]
    else:
        counts[name] -= 1


class Quotas:
    """The quotas of a server: concurrent requests, and open streams."""

    def __init__(self, *, requests: int, streams: int) -> None:
        self.requests = Quota(requests, "the server is at its limit of concurrent requests", retry_after=1)
        self.streams = Quota(streams, "too many streams are open", retry_after=5)

    def begin(self, party: Party) -> "Lease":
        """Count a request; raises Overloaded if a limit is reached."""
        self.requests.require_room(party)
        return Lease(self, party)


class Lease:
    """A request's share of a quota until it is released: one request or one stream."""

    def __init__(self, quotas: Quotas, party: Party) -> None:
        self._quotas = quotas
        self._party = party
        self._held: Quota | None = quotas.requests
        quotas.requests.add(party)

    def require_stream(self) -> None:
        """Count the request as a stream from now on; raises Overloaded if a limit is reached."""
        self._quotas.streams.require_room(self._party)
        self._move(self._quotas.streams)

    def become_stream(self) -> None:
        """Do the same as `require_stream`, but at a limit it continues to count as a request."""
        if self._held is self._quotas.requests and self._quotas.streams.has_room(self._party):
            self._move(self._quotas.streams)

    def hold_until(self, work: "asyncio.Future[Any]") -> None:
        """Count work that continues after its response as a request until it is done."""
        self._quotas.requests.add(self._party)
        work.add_done_callback(lambda _: self._quotas.requests.remove(self._party))

    def release(self) -> None:
        if self._held is not None:
            self._held.remove(self._party)
            self._held = None

    def _move(self, quota: Quota) -> None:
        self.release()
        quota.add(self._party)
        self._held = quota


current_lease: ContextVar[Lease | None] = ContextVar("current_lease", default=None)
"""The lease of the current request."""


_MOST_BUCKETS = 10_000
_MOST_VALID = 4_096


class _Bucket(Struct):
    left: float
    at: float


class Rates:
    """A token bucket per caller: refilled at `rate` per second, with a capacity of twice that."""

    def __init__(
        self, rate: float, now: Callable[[], float] = time.monotonic, *, what: str = "requests"
    ) -> None:
        self._rate = rate
        self._most = max(1.0, rate * 2)  # a capacity below one would never allow a request
        self._what = what
        self._now = now
        self._buckets: dict[str, _Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, caller: str) -> None:
        """Take a token; raises RateLimited, with a retry time, if the bucket is empty."""
        self._filled(caller).left -= 1

    def check(self, caller: str) -> None:
        """Do the same as `take` without taking a token."""
        if caller in self._buckets:
            self._filled(caller)

    def _filled(self, caller: str) -> _Bucket:
        """Refill the bucket of a caller and return it; raises RateLimited if it is empty."""
        now, most = self._now(), self._most
        if caller not in self._buckets and len(self._buckets) >= _MOST_BUCKETS:
            self._drop_full(now)
        bucket = self._buckets.setdefault(caller, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, ceil((1 - bucket.left) / self._rate))
            raise RateLimited(f"more than {self._rate:g} {self._what} a second", retry_after=wait)
        return bucket

    def _drop_full(self, now: float) -> None:
        """Drop full buckets, which are equivalent to new ones, to limit their number.

        If few are full, the oldest are dropped too, so that a flood of addresses costs little.
        """
        active = [
            (caller, bucket)
            for caller, bucket in self._buckets.items()
            if bucket.left + (now - bucket.at) * self._rate < self._most
        ]
        self._buckets = dict(active[max(0, len(active) - _MOST_BUCKETS // 2) :])


class WrongTokens:
    """Limits the wrong tokens of an address; beyond the limit they are refused without a lookup.

    A credential that was valid before is always looked up, so that another client behind the same address
    cannot block it.
    """

    def __init__(self, rate: float) -> None:
        self._rates = Rates(rate, what="wrong tokens")
        self._valid: dict[bytes, None] = {}

    def check(self, address: str, credential: str) -> None:
        """Raise RateLimited if the address has sent too many wrong tokens, unless the credential is known."""
        if _digest(credential) not in self._valid:
            self._rates.check(address)

    def accept(self, credential: str) -> None:
        """Remember a valid credential; at the capacity the oldest is dropped."""
        digest = _digest(credential)
        if digest not in self._valid and len(self._valid) >= _MOST_VALID:
            del self._valid[next(iter(self._valid))]
        self._valid[digest] = None

    def reject(self, address: str, credential: str) -> None:
        """Count a wrong token; raises RateLimited if the limit is exceeded."""
        self._valid.pop(_digest(credential), None)
        self._rates.take(address)


def _digest(credential: str) -> bytes:
    return hashlib.sha256(credential.encode(errors="replace")).digest()
