"""Webhooks: sends events in order, signed, with retries and a limit on them; and checks of the state.

Messages are signed as in the Standard Webhooks specification: HMAC-SHA-256 over id, timestamp and
body, so any library for it can verify them.
"""

import asyncio
import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memorywire.client.events import Event, Feed
from memorywire.journal.journal import Journal
from memorywire.journal.webhooks import Letter, Webhook, Webhooks
from memorywire.model.clock import Clock
from memorywire.model.errors import InvalidRequest, MemorywireError, StoreError
from memorywire.model.ids import Entropy
from memorywire.model.record import Json
from memorywire.runtime import http
from memorywire_server.http.answers import encode_json
from memorywire_server.http.audit import as_document

if TYPE_CHECKING:  # that module imports the signature from here
    from memorywire_server.http.reviews import Reviews

MOST_TRIES = 12
LONGEST_PAUSE_MS = 3_600_000
_LEASE_MS = 60_000
_SECONDS = 10.0
_ANSWERED = 200
MOST_BYTES = 64 * 1024
"""The size limit of a reviewer's decision, in bytes."""

HELD = frozenset({"staged", "rebased", "reopened"})
"""Kinds of ledger entries after which a request is pending, possibly with a new plan."""
_PREFIX = "whsec_"


def new_secret(entropy: Entropy) -> str:
    return f"{_PREFIX}{b64encode(entropy(32)).decode()}"


def check_address(url: str) -> None:
    """Raise InvalidRequest unless the URL can receive events."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or parts.username or parts.fragment or not url.isascii() or not url.isprintable():
        raise InvalidRequest("this is not an http or https URL", field="url", fix="write https://host/path")


def sign_event(webhook: Webhook, event: Event, body: bytes, at_ms: int) -> dict[str, str]:
    """Return the headers of an event, with its signature."""
    id, moment = f"evt_{event.id}", str(at_ms // 1000)
    return {
        "Content-Type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": moment,
        "webhook-signature": sign_body(webhook.secret, id, moment, body),
    }


def sign_body(secret: str, id: str, moment: str, body: bytes) -> str:
    """Sign a message as in the Standard Webhooks specification."""
    key = b64decode(secret.removeprefix(_PREFIX))
    mark = hmac.new(key, f"{id}.{moment}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{b64encode(mark).decode()}"


class WebhookSender:
    """Sends every webhook of the journal the events that it has not received, as long as it runs.

    After a crash an event may be sent twice, but none is skipped. An unreachable URL does not delay others.
    """

    def __init__(
        self,
        journal: Journal,
        feed: Feed,
        clock: Clock,
        *,
        first_pause_ms: int,
        reviews: "Reviews | None" = None,
    ) -> None:
        self._webhooks = Webhooks(journal)
        self._reviews = reviews
        self._feed = feed
        self._clock = clock
        self._first_pause_ms = first_pause_ms

    async def run(self) -> None:
        """Send events until cancelled; retries when the journal does not answer."""
        while True:
            position = self._feed.heard
            with suppress(StoreError):
                receivers = await self._webhooks.list_all()
                if any(await asyncio.gather(*(self._tell(webhook) for webhook in receivers))):
                    continue
            await self._feed.pause(position)

    async def _tell(self, webhook: Webhook) -> bool:
        """Send a webhook its next event; returns False if nothing is due."""
        now, id = self._clock(), webhook.id
        if webhook.due_at > now:
            return False
        events, further = await self._feed.after(
            webhook.position, tenant=webhook.tenant, agents=webhook.agents
        )
        if further == webhook.position or not await self._webhooks.lease(webhook, now + _LEASE_MS):
            return False
        if webhook.review:
            events = [event for event in events if event.kind in HELD]
        if not events:
            await self._webhooks.advance(id, further)
            return True
        event, tries = events[0], webhook.tries + 1
        error = await self._send(webhook, event)
        now = self._clock()
        if error is None:
            await self._webhooks.advance(id, event.id)
        elif tries >= MOST_TRIES:
            await self._webhooks.bury(id, Letter(event=event.id, at=now, error=error))
        else:
            pause = min(self._first_pause_ms * 2 ** (tries - 1), LONGEST_PAUSE_MS)
            await self._webhooks.fail(id, tries=tries, due_at=now + pause, error=error)
        return True

    async def send_again(self, webhook: Webhook, letter: Letter) -> str | None:
        """Send an undelivered event again; returns the error, if any."""
        events, _ = await self._feed.after(letter.event - 1, tenant=webhook.tenant, agents=webhook.agents)
        event = next((one for one in events if one.id == letter.event), None)
        if event is None:
            return "the ledger does not have this event any more"
        error = await self._send(webhook, event)
        if error is None:
            await self._webhooks.discard(webhook.id, letter.event)
        return error

    async def _send(self, webhook: Webhook, event: Event) -> str | None:
        """Send a webhook an event, or its reviewer a held request; returns the error, if any."""
        message: dict[str, Json] | None = as_document(event)
        if webhook.review:
            message = None if self._reviews is None else await self._reviews.compose(webhook, event)
        if message is None:
            return None  # it has been decided meanwhile
        body = encode_json(message)
        headers = sign_event(webhook, event, body, self._clock())
        answer, error = await asyncio.to_thread(_post, webhook.url, body, headers, webhook.review)
        if error is None and answer and self._reviews is not None:
            error = await self._reviews.take(webhook, message, answer)
        return error


def _post(url: str, body: bytes, headers: Mapping[str, str], reads: bool) -> tuple[bytes, str | None]:
    """POST the body; returns the body of a 200 response, if it is read, and the error, if any.

    Redirects are not followed.
    """
    try:
        limit = MOST_BYTES if reads else 0
        response = http.request("POST", url, body, headers, timeout=_SECONDS, max_bytes=limit)
    except http.HttpError as error:
        return b"", error.reason
    answer = response.body if response.status == _ANSWERED else b""
    return answer, None if response.is_ok else f"HTTP {response.status}"


FIRST_AFTER_SECONDS = 300.0
EVERY_SECONDS = 3_600.0
_MOST = 20  # most differences to report


class StateChecks:
    """Compares new state with the ledger hourly, and all state daily; calls `alarm` for each difference."""

    def __init__(self, journal: Journal, alarm: Callable[[str], None]) -> None:
        self._journal = journal
        self._alarm = alarm

    async def run(self, first: float = FIRST_AFTER_SECONDS, every: float = EVERY_SECONDS) -> None:
        """Compare until cancelled; retries when the journal does not answer."""
        await asyncio.sleep(first)
        while True:
            with suppress(MemorywireError):
                await self.check()
            await asyncio.sleep(every)

    async def check(self) -> bool:
        """Compare once; returns whether the state agrees with the ledger."""
        report = await self._journal.verify_state()
        for one in report.differences[:_MOST]:
            self._alarm(f"the state differs from the ledger: {one}")
        return report.ok
