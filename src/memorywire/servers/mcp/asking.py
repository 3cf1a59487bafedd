"""Asking the person in front of the client about a change that is held, where the client can ask."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from memorywire.model.errors import Refused
from memorywire.model.record import Json
from memorywire.servers.mcp.clerk import Clerk
from memorywire.servers.mcp.tools import as_receipt
from memorywire.servers.mcp.visits import Visit

if TYPE_CHECKING:  # what stands behind the door is loaded by the first request
    from memorywire.model.review import Decided, Reviewed

KEY = "approval"
LONGEST = 4_000
"""Characters of a question. A person approves only what was shown whole; longer changes wait for a review."""

_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "approve: memory changes as shown; reject: nothing changes.",
            "enum": ["approve", "reject"],
        }
    },
    "required": ["decision"],
}

Context = ServerRequestContext[Any, Any]


async def settle(
    receipt: dict[str, Json], operation: str, visit: Visit, context: Context, clerk: Clerk
) -> CallToolResult | InputRequiredResult:
    """The receipt of a held change, after the person was asked, if the client can ask.

    Since protocol 2026-07-28 the question is the result, and the client calls again with the answer.
    """
    if visit.reviewer is None or not _can_ask(context):
        return as_receipt(receipt, visit.decided_with)
    reviewed = await clerk.review("proposal", {"proposal_id": receipt["proposal_id"]}, visit)
    message, seen = question(cast("Reviewed", reviewed)), cast("Reviewed", reviewed).seen
    if len(message) > LONGEST:
        return as_receipt(receipt, visit.decided_with)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        form = ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=_FORM))
        state = json.dumps({"operation": operation, "receipt": receipt, "seen": seen})
        return InputRequiredResult(input_requests={KEY: form}, request_state=state)
    told = await context.session.elicit_form(message, _FORM, related_request_id=context.request_id)
    return as_receipt(await _decided(told, receipt, operation, seen, visit, clerk), visit.decided_with)


async def resume(state: str, responses: InputResponses | None, visit: Visit, clerk: Clerk) -> CallToolResult:
    """The receipt after the client called again; the state is sealed by us and bound to this visit."""
    held = json.loads(state)
    told = (responses or {}).get(KEY)
    receipt: dict[str, Json] = held["receipt"]
    if isinstance(told, ElicitResult):
        receipt = await _decided(told, receipt, held["operation"], held["seen"], visit, clerk)
    return as_receipt(receipt, visit.decided_with)


def question(reviewed: "Reviewed") -> str:
    """What a person is asked: why it is held, and everything it would change."""
    proposal = reviewed.proposal
    lines = [
        f"memorywire holds this {proposal.operation}: {proposal.why} (rule {proposal.rule}). Approve it?"
    ]
    return "\n".join([*lines, *_changes(reviewed.diff)])


def _can_ask(context: Context) -> bool:
    """Whether the client shows forms: it said so, and there is a way to reach it."""
    capabilities = context.session.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    if asking is None or (asking.form is None and asking.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


async def _decided(
    told: ElicitResult, receipt: dict[str, Json], operation: str, seen: str, visit: Visit, clerk: Clerk
) -> dict[str, Json]:
    """The receipt after the form was answered; closing the form decides nothing."""
    decision = (told.content or {}).get("decision") if told.action == "accept" else None
    if decision not in ("approve", "reject"):
        return receipt
    fields = {"proposal_ids": [receipt["proposal_id"]], "verb": decision, "seen": seen}
    done = cast("Decided", await clerk.review("decide", fields, visit))
    if decision == "reject":
        raise Refused("a person rejected this change; nothing was changed")
    return _settled(receipt, operation, done)


def _settled(receipt: dict[str, Json], operation: str, done: "Decided") -> dict[str, Json]:
    from memorywire.wire.codec import encode

    outcomes = encode(done.outcomes)
    names = [outcome.store for outcome in done.outcomes if outcome.error is None]
    told: dict[str, Json] = {
        "status": encode(done.status),
        "change_id": done.change_id,
        "pending_approval": False,
        "approval_url": None,
        **({"stores": outcomes} if operation == "forget" else {"stores": names, "outcomes": outcomes}),
        **({"stored_at": done.at} if operation == "remember" else {}),
    }
    return {
        **receipt,
        **{name: value for name, value in told.items() if name in receipt or value is not None},
    }


def _changes(diff: Mapping[str, Json]) -> Iterator[str]:
    for one in diff["added"]:
        yield f"new memory {one['id']}"
        yield from _fields("+", one["fields"])
    for one in diff["modified"]:
        yield f"memory {one['id']} changes"
        yield from _fields("+", one["added"])
        yield from _fields("-", one["removed"])
        for field in one["modified"]:
            yield f"  {field['field']}: {_shown(field['before'])} becomes {_shown(field['after'])}"
    for one in diff["removed"]:
        yield f"memory {one['id']} goes ({one['reason']})"
        yield from _fields("-", one["fields"])


def _fields(sign: str, fields: Mapping[str, Json]) -> Iterator[str]:
    return (f"  {sign} {name}: {_shown(value)}" for name, value in fields.items())


def _shown(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
