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
from msgspec import Struct

from memorywire.model.errors import Refused
from memorywire.model.record import Json
from memorywire.server.mcp.sessions import AgentSession
from memorywire.server.mcp.tools import Runner, as_receipt, build_refusal

if TYPE_CHECKING:  # loaded by the first request
    from memorywire.model.proposal import Decided, Reviewed

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
_CONFIRM: dict[str, Json] = {
    "type": "string",
    "title": "Type the word erase to approve",
    "description": "What is erased cannot be brought back.",
}

Context = ServerRequestContext[Any, Any]


class Question(Struct, frozen=True):
    """A form about one proposal: `seen` binds the answer to exactly what is shown."""

    message: str
    form: dict[str, Json]
    seen: str


async def settle(
    receipt: dict[str, Json], operation: str, session: AgentSession, context: Context, runner: Runner
) -> CallToolResult | InputRequiredResult:
    """The receipt of a held change, after the person was asked, if the client can ask.

    Since protocol 2026-07-28 the question is the result, and the client calls again with the answer.
    """
    if session.reviewer is None or not _can_ask(context):
        return as_receipt(receipt, session.decided_with)
    question = await _question(receipt["proposal_id"], session, runner)
    if question is None:
        return as_receipt(receipt, session.decided_with)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        form = ElicitRequest(
            params=ElicitRequestFormParams(message=question.message, requested_schema=question.form)
        )
        state = json.dumps({"operation": operation, "receipt": receipt, "seen": question.seen})
        return InputRequiredResult(input_requests={KEY: form}, request_state=state)
    answer = await context.session.elicit_form(
        question.message, question.form, related_request_id=context.request_id
    )
    return as_receipt(
        await _decide(answer, receipt, operation, question.seen, session, runner), session.decided_with
    )


async def resume(
    state: str, responses: InputResponses | None, session: AgentSession, runner: Runner
) -> CallToolResult:
    """The receipt after the client called again; the state is sealed by us and bound to this session."""
    request = json.loads(state)
    response = (responses or {}).get(KEY)
    receipt: dict[str, Json] = request["receipt"]
    if isinstance(response, ElicitResult):
        receipt = await _decide(response, receipt, request["operation"], request["seen"], session, runner)
    return as_receipt(receipt, session.decided_with)


async def decide(
    fields: Mapping[str, Json], session: AgentSession, context: Context, runner: Runner
) -> object:
    """The receipt of `memory/decide`: at once with an operator's token, else after a person answered a form.

    Only a connection on which the server can ask carries the form, and it is about one proposal.
    """
    if session.verified or session.reviewer is None:
        return await runner.review("decide", fields, session)
    id = _one_proposal(fields)
    direct = context.protocol_version not in MODERN_PROTOCOL_VERSIONS
    question = await _question(id, session, runner) if id and direct and _can_ask(context) else None
    if id is None or question is None:
        raise build_refusal(session, fields)
    answer = await context.session.elicit_form(
        question.message, question.form, related_request_id=context.request_id
    )
    decision = _read_answer(answer, id, question.seen)
    if decision is None:
        raise build_refusal(session, fields)
    return await runner.review("decide", {**fields, **decision}, session, elicited=True)


def _one_proposal(fields: Mapping[str, Json]) -> str | None:
    """The only proposal that is to be approved or rejected; None for a decision that no form covers."""
    ids = fields.get("proposal_ids")
    plain = fields.get("verb") in ("approve", "reject") and isinstance(ids, list) and len(ids) == 1
    return ids[0] if plain and ids and isinstance(ids[0], str) else None


async def _question(proposal_id: Json, session: AgentSession, runner: Runner) -> Question | None:
    """The form about a proposal; None when an answer would not count, or not all of it can be shown."""
    if not await runner.can_answer_own():
        return None
    reviewed = cast("Reviewed", await runner.review("proposal", {"proposal_id": proposal_id}, session))
    message = question(reviewed)
    if len(message) > LONGEST:
        return None
    if not reviewed.proposal.erases:
        return Question(message, _FORM, reviewed.seen)
    return Question(
        message, {**_FORM, "properties": {**_FORM["properties"], "confirm": _CONFIRM}}, reviewed.seen
    )


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


def _read_answer(response: ElicitResult, proposal_id: str, seen: str) -> dict[str, Json] | None:
    """The decision in the answer of a form; None when it was closed, which decides nothing."""
    content = response.content or {} if response.action == "accept" else {}
    decision, confirm = content.get("decision"), content.get("confirm")
    if decision not in ("approve", "reject"):
        return None
    fields: dict[str, Json] = {"proposal_ids": [proposal_id], "verb": decision, "seen": seen}
    return fields if not isinstance(confirm, str) or decision == "reject" else {**fields, "confirm": confirm}


async def _decide(
    response: ElicitResult,
    receipt: dict[str, Json],
    operation: str,
    seen: str,
    session: AgentSession,
    runner: Runner,
) -> dict[str, Json]:
    """The receipt after the form was answered; closing the form decides nothing."""
    fields = _read_answer(response, receipt["proposal_id"], seen)
    if fields is None:
        return receipt
    decision = cast("Decided", await runner.review("decide", fields, session, elicited=True))
    if fields["verb"] == "reject":
        raise Refused("a person rejected this change; nothing was changed")
    return _finish(receipt, operation, decision)


_ONCE_DONE = {
    "would_forget_ids": "forgotten_ids",
    "would_merge_ids": "merged_ids",
    "would_restore_ids": "restored_ids",
    "would_end_ids": "ended_ids",
    "action_requested": "action_taken",
}
"""What a receipt calls the effect of a change that waits, and what it calls the same once it is done."""


def _finish(receipt: dict[str, Json], operation: str, decision: "Decided") -> dict[str, Json]:
    from memorywire.wire.codec import encode

    receipt = {_ONCE_DONE.get(name, name): value for name, value in receipt.items()}
    if "merged_ids" in receipt:
        receipt["merged_count"] = len(receipt["merged_ids"])
    outcomes = encode(decision.outcomes)
    names = [outcome.store for outcome in decision.outcomes if outcome.error is None]
    fields: dict[str, Json] = {
        "status": encode(decision.status),
        "change_id": decision.change_id,
        "pending_approval": False,
        "approval_url": None,
        **({"stores": outcomes} if operation == "forget" else {"stores": names, "outcomes": outcomes}),
        **({"stored_at": decision.at} if operation == "remember" else {}),
    }
    return {
        **receipt,
        **{name: value for name, value in fields.items() if name in receipt or value is not None},
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
            yield f"  {field['field']}: {_write_value(field['before'])} -> {_write_value(field['after'])}"
    for one in diff["removed"]:
        yield f"memory {one['id']} goes ({one['reason']})"
        yield from _fields("-", one["fields"])


def _fields(sign: str, fields: Mapping[str, Json]) -> Iterator[str]:
    return (f"  {sign} {name}: {_write_value(value)}" for name, value in fields.items())


def _write_value(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
