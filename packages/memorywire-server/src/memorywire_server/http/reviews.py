"""Reviews by webhook: sends held requests to reviewers and applies their decisions.

A decision is in the response to the message, or comes later in a callback. The webhook authenticates both:
the response comes from its URL, and the callback is signed with its secret.
"""

import hmac
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from memorywire.client.events import Event
from memorywire.journal.webhooks import Webhook, Webhooks
from memorywire.model.codec import load
from memorywire.model.errors import Conflict, InvalidRequest, MemorywireError, NotFound, Unauthenticated
from memorywire.model.governance import ReviewResponse
from memorywire.model.proposal import VOUCHING, Decided, Proposal, Reach, State
from memorywire.model.record import Json
from memorywire.pipeline.reviewers import apply_review, build_message
from memorywire.policy.patterns import names
from memorywire.wire import strict
from memorywire.wire.codec import encode
from memorywire_server.background import MOST_BYTES, sign_body
from memorywire_server.http.answers import as_json
from memorywire_server.http.endpoint import Service, get_parameters, problem_with
from memorywire_server.http.middleware import SIGNED
from memorywire_server.http.requests import read_bytes

_TOLERANCE_MS = 300_000


class Reviews:
    """Sends held requests to reviewers, and applies their decisions."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def compose(self, webhook: Webhook, event: Event) -> dict[str, Json] | None:
        """Build the message about the proposal of an event; None if it is no longer pending."""
        id = event.subject
        proposal = None if id is None else await self._service.journal.find_proposal(webhook.tenant, id)
        if proposal is None or proposal.state is not State.PENDING:
            return None
        context = await self._service.container.context.serving(proposal.scope)
        message: dict[str, Json] = encode(await build_message(proposal, context))
        return {**message, "callback": f"{SIGNED}{webhook.id}"}

    async def take(self, webhook: Webhook, message: Mapping[str, Json], answer: bytes) -> str | None:
        """Apply the decision in the response to a message; returns the error, if any."""
        try:
            document = strict.parse(answer)
            if isinstance(document, dict):
                document = {"proposal_id": message["proposal_id"], "seen": message["seen"], **document}
            await self.settle(webhook, document)
        except (Conflict, NotFound):
            return None  # decided by another reviewer, or memory has changed: then a new message follows
        except MemorywireError as problem:
            return f"the response decides nothing: {problem}"
        return None

    async def settle(self, webhook: Webhook, document: Json) -> Decided:
        """Apply a decision; raises InvalidRequest if the document is not one."""
        if not isinstance(document, dict):
            raise InvalidRequest("the response is not an object", field="approved")
        problem = problem_with(document, "review.request")
        if problem is not None:
            raise problem
        fields = dict(document)
        id, seen = fields.pop("proposal_id"), fields.pop("seen")
        answer: ReviewResponse = load(ReviewResponse, fields)
        proposal = await self._find(webhook, id)
        context = await self._service.container.context.serving(proposal.scope)
        reach = Reach(tenant=webhook.tenant, agent=proposal.scope.agent)
        via = f"{VOUCHING}webhook:{webhook.id}"
        return await self._service.finish(apply_review(answer, id, seen, reach, via, context))

    async def _find(self, webhook: Webhook, id: str) -> Proposal:
        proposal = await self._service.journal.find_proposal(webhook.tenant, id)
        if proposal is None or not names(webhook.agents, proposal.scope.agent):
            raise NotFound("there is no such proposal", field="proposal_id")
        return proposal


async def post_review(request: Request, service: Service) -> Response:
    """Handle a callback: the signature with the webhook's secret replaces a token."""
    limits, id = service.limits, get_parameters(request)["webhook_id"]
    mark, tokens = request.headers.get("webhook-signature", ""), request.state.tokens
    tokens.check(request.state.address, mark)
    body = await read_bytes(request, limit=min(limits.body, MOST_BYTES), seconds=limits.body_seconds)
    webhook = next((one for one in await Webhooks(service.journal).list_all() if one.id == id), None)
    if webhook is None or not webhook.review or not _is_signed(webhook, request, body, service):
        tokens.reject(request.state.address, mark)
        raise Unauthenticated(
            "the signature of this callback is invalid or expired",
            field="webhook-signature",
            fix="sign webhook-id, webhook-timestamp and the body with the secret of the webhook",
        )
    decided = await Reviews(service).settle(webhook, strict.parse(body))
    return as_json(encode(decided))


def _is_signed(webhook: Webhook, request: Request, body: bytes, service: Service) -> bool:
    moment, now = request.headers.get("webhook-timestamp", ""), service.container.context.clock()
    if not moment.isascii() or not moment.isdigit() or len(moment) > 12:
        return False
    if abs(now - int(moment) * 1000) > _TOLERANCE_MS:
        return False
    expected = sign_body(webhook.secret, request.headers.get("webhook-id", ""), moment, body)
    marks = request.headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected.encode(), mark.encode()) for mark in marks)
