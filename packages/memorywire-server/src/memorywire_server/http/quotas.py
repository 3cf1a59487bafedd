"""Quotas: what one credential, one tenant and all callers together may occupy at the same time."""

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
    """Who a request is counted for. Callers without a credential are counted by their address."""

    credential: str
    tenant: str


class Quota:
    """Counts how much of one resource is in use.

    One credential gets at most half of it and one tenant at most three quarters, so that neither can leave
    the others without any.
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
        """Raise Overloaded, with the wait, when the party or all parties together use too much."""
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
    """Count one less, and drop what is not counted any more: addresses without number use no memory."""
    if counts[name] == 1:
        del counts[name]
    else:
        counts[name] -= 1


class Quotas:
    """The quotas of a server: requests that are being answered, and open streams."""

    def __init__(self, *, requests: int, streams: int) -> None:
        self.requests = Quota(requests, "the server is at its limit of concurrent requests", retry_after=1)
        self.streams = Quota(streams, "too many streams are open", retry_after=5)

    def begin(self, party: Party) -> "Lease":
        """Count a request; raises Overloaded when there is no room for it."""
        self.requests.require_room(party)
        return Lease(self, party)


class Lease:
    """What one request occupies until it is released: a place among requests or among streams."""

    def __init__(self, quotas: Quotas, party: Party) -> None:
        self._quotas = quotas
        self._party = party
        self._held: Quota | None = quotas.requests
        quotas.requests.add(party)

    def require_stream(self) -> None:
        """Count the request as a stream from now on; raises Overloaded when there is no room for one."""
        self._quotas.streams.require_room(self._party)
        self._move(self._quotas.streams)

    def become_stream(self) -> None:
        """As `require_stream`; without room for a stream it stays counted as a request."""
        if self._held is self._quotas.requests and self._quotas.streams.has_room(self._party):
            self._move(self._quotas.streams)

    def hold_until(self, work: "asyncio.Future[Any]") -> None:
        """Count work that goes on after its request was answered, until it is done."""
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
"""The lease of the request that is being answered."""


_MOST_BUCKETS = 10_000
_MOST_VALID = 4_096


class _Bucket(Struct):
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
            self._drop_full(now)
        bucket = self._buckets.setdefault(caller, _Bucket(most, now))
        bucket.left = min(most, bucket.left + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.left < 1:
            wait = max(1, ceil((1 - bucket.left) / self._rate))
            raise RateLimited(f"more than {self._rate:g} {self._what} a second", retry_after=wait)
        return bucket

    def _drop_full(self, now: float) -> None:
        """Drop full buckets, which are like untouched ones: there may be any number of callers.

        If few are full, the oldest go too, so that a flood of addresses costs neither memory nor time.
        """
        active = [
            (caller, bucket)
            for caller, bucket in self._buckets.items()
            if bucket.left + (now - bucket.at) * self._rate < self._most
        ]
        self._buckets = dict(active[max(0, len(active) - _MOST_BUCKETS // 2) :])


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
