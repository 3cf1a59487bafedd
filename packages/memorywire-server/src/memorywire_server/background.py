"""Telling addresses of events: in order, signed, again and again, and in the end given up.

What is sent is signed as the Standard Webhooks specification says: HMAC-SHA-256 over the id, the moment and
the body, so that any of its libraries can check it.
"""

import asyncio
import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from memorywire.client.events import Event, Feed
from memorywire.journal.journal import Journal
from memorywire.journal.webhooks import Letter, Webhook, Webhooks
from memorywire.model.clock import Clock
from memorywire.model.errors import InvalidRequest, MemorywireError, StoreError
from memorywire.model.ids import Entropy
from memorywire.runtime import http
from memorywire_server.http.answers import encode_json
from memorywire_server.http.audit import as_document

MOST_TRIES = 12
LONGEST_PAUSE_MS = 3_600_000
_LEASE_MS = 60_000
_SECONDS = 10.0
_PREFIX = "whsec_"


def new_secret(entropy: Entropy) -> str:
    return f"{_PREFIX}{b64encode(entropy(32)).decode()}"


def check_address(url: str) -> None:
    """Raise InvalidRequest unless events can be sent to this address."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or parts.username or parts.fragment or not url.isascii() or not url.isprintable():
        raise InvalidRequest("that is no http or https URL", field="url", fix="write https://host/path")


def sign_event(webhook: Webhook, event: Event, at_ms: int) -> tuple[bytes, dict[str, str]]:
    """The body for an address, and the headers that prove who sent it."""
    body = encode_json(as_document(event))
    id, moment = f"evt_{event.id}", str(at_ms // 1000)
    key = b64decode(webhook.secret.removeprefix(_PREFIX))
    mark = hmac.new(key, f"{id}.{moment}.".encode() + body, hashlib.sha256).digest()
    return body, {
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": moment,
        "webhook-signature": f"v1,{b64encode(mark).decode()}",
    }


class WebhookSender:
    """Tells every webhook of the journal what it has not heard yet, for as long as it runs.

    After a crash an event may be told twice, but none is left out. One address that is away delays no other.
    """

    def __init__(self, journal: Journal, feed: Feed, clock: Clock, *, first_pause_ms: int) -> None:
        self._webhooks = Webhooks(journal)
        self._feed = feed
        self._clock = clock
        self._first_pause_ms = first_pause_ms

    async def run(self) -> None:
        """Tell webhooks until cancelled; a journal that does not answer is asked again."""
        while True:
            position = self._feed.heard
            with suppress(StoreError):
                receivers = await self._webhooks.list_all()
                if any(await asyncio.gather(*(self._tell(webhook) for webhook in receivers))):
                    continue
            await self._feed.pause(position)

    async def _tell(self, webhook: Webhook) -> bool:
        """Tell one webhook its next event; False when there is none."""
        now, id = self._clock(), webhook.id
        if webhook.due_at > now:
            return False
        events, further = await self._feed.after(
            webhook.position, tenant=webhook.tenant, agents=webhook.agents
        )
        if further == webhook.position or not await self._webhooks.lease(webhook, now + _LEASE_MS):
            return False
        if not events:
            await self._webhooks.advance(id, further)
            return True
        event, tries = events[0], webhook.tries + 1
        body, headers = sign_event(webhook, event, self._clock())
        error = await asyncio.to_thread(_post, webhook.url, body, headers)
        now = self._clock()
        if error is None:
            await self._webhooks.advance(id, event.id)
        elif tries >= MOST_TRIES:
            await self._webhooks.bury(id, Letter(event=event.id, at=now, error=error))
        else:
            pause = min(self._first_pause_ms * 2 ** (tries - 1), LONGEST_PAUSE_MS)
            await self._webhooks.fail(id, tries=tries, due_at=now + pause, error=error)
        return True


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> str | None:
    """Post the body; None when it was accepted, else why not. Redirects are not followed."""
    try:
        response = http.request("POST", url, body, headers, timeout=_SECONDS, max_bytes=0)
    except http.HttpError as error:
        return error.reason
    return None if response.is_ok else f"HTTP {response.status}"


FIRST_AFTER_SECONDS = 300.0
EVERY_SECONDS = 3_600.0
_MOST = 20  # differences that are named


class StateChecks:
    """Compares what is new every hour, and everything once a day; `alarm` is told of each difference."""

    def __init__(self, journal: Journal, alarm: Callable[[str], None]) -> None:
        self._journal = journal
        self._alarm = alarm

    async def run(self, first: float = FIRST_AFTER_SECONDS, every: float = EVERY_SECONDS) -> None:
        """Compare until cancelled; a journal that does not answer is asked again."""
        await asyncio.sleep(first)
        while True:
            with suppress(MemorywireError):
                await self.check()
            await asyncio.sleep(every)

    async def check(self) -> bool:
        """Compare once; whether the state is what the ledger says."""
        report = await self._journal.verify_state()
        for one in report.differences[:_MOST]:
            self._alarm(f"the state differs from the ledger: {one}")
        return report.ok
