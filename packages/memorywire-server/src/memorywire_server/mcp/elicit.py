"""Asks the user of an MCP client to decide about a held change, if the client supports elicitation."""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from memorywire.model.errors import Refused
from memorywire.model.record import Json
from memorywire_server.mcp.sessions import AgentSession
from memorywire_server.mcp.tools import Runner, as_receipt, build_refusal

if TYPE_CHECKING:  # loaded by the first request
    from memorywire.model.proposal import Decided, Reviewed

KEY = "approval"
LONGEST = 4_000
"""The most characters of a question. Only what is shown in full can be approved; longer changes stay held."""

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
    """A form about one proposal; `seen` binds the answer to exactly what is shown."""

    message: str
    form: dict[str, Json]
    seen: str


async def settle(
    receipt: dict[str, Json], operation: str, session: AgentSession, context: Context, runner: Runner
) -> types.CallToolResult | types.InputRequiredResult:
    """Ask the user about a held change, if the client can ask, and return the final receipt.

    From protocol 2026-07-28 on, the question is the result, and the client repeats the call with the answer.
    """
    question = None
    if session.reviewer is not None and _can_ask(context):
        question = await _build_question(receipt["proposal_id"], session, runner)
    if question is None:
        return as_receipt(receipt, session.decided_with)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        params = types.ElicitRequestFormParams(message=question.message, requested_schema=question.form)
        state = json.dumps({"operation": operation, "receipt": receipt, "seen": question.seen})
        return types.InputRequiredResult(
            input_requests={KEY: types.ElicitRequest(params=params)}, request_state=state
        )
    answer = await _send_form(question, context)
    receipt = await _decide(answer, receipt, operation, question.seen, session, runner)
    return as_receipt(receipt, session.decided_with)


async def _send_form(question: Question, context: Context) -> types.ElicitResult:
    return await context.session.elicit_form(
        question.message, question.form, related_request_id=context.request_id
    )


async def resume(
    state: str, responses: types.InputResponses | None, session: AgentSession, runner: Runner
) -> types.CallToolResult:
    """Return the receipt of a repeated call with an answer; `state` is sealed and bound to this session."""
    request = json.loads(state)
    response = (responses or {}).get(KEY)
    receipt: dict[str, Json] = request["receipt"]
    if isinstance(response, types.ElicitResult):
        receipt = await _decide(response, receipt, request["operation"], request["seen"], session, runner)
    return as_receipt(receipt, session.decided_with)


async def decide(
    fields: Mapping[str, Json], session: AgentSession, context: Context, runner: Runner
) -> object:
    """Handle `memory/decide`: at once with an operator's token, else after a person has answered a form.

    A form needs a connection on which the server can send requests, and covers one proposal, to
    approve or to reject.
    """
    if session.verified or session.reviewer is None:
        return await runner.review("decide", fields, session)
    match fields.get("proposal_ids"):
        case [str(id)] if fields.get("verb") in ("approve", "reject"):
            is_direct = context.protocol_version not in MODERN_PROTOCOL_VERSIONS
            question = await _build_question(id, session, runner) if is_direct and _can_ask(context) else None
            if question is not None:
                decision = _read_answer(await _send_form(question, context), id, question.seen)
                if decision is not None:
                    return await runner.review("decide", {**fields, **decision}, session, elicited=True)
    raise build_refusal(session, fields)


async def _build_question(proposal_id: Json, session: AgentSession, runner: Runner) -> Question | None:
    """Build the form that shows why a change is held, and everything that it would change.

    Returns None if the answer would not count, or the text is too long to show in full.
    """
    if not await runner.can_answer_own():
        return None
    reviewed = cast("Reviewed", await runner.review("proposal", {"proposal_id": proposal_id}, session))
    held = reviewed.proposal
    first = f"memorywire holds this {held.operation}: {held.why} (rule {held.rule}). Approve it?"
    message = "\n".join([first, *_changes(reviewed.diff)])
    if len(message) > LONGEST:
        return None
    properties = {**_FORM["properties"], "confirm": _CONFIRM} if held.erases else _FORM["properties"]
    return Question(message, {**_FORM, "properties": properties}, reviewed.seen)


def _can_ask(context: Context) -> bool:
    """Return whether the client supports forms and the server can send it requests."""
    capabilities = context.session.client_capabilities
    asking = None if capabilities is None else capabilities.elicitation
    if asking is None or (asking.form is None and asking.url is not None):
        return False
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS or context.session.can_send_request


def _read_answer(response: types.ElicitResult, proposal_id: str, seen: str) -> dict[str, Json] | None:
    """Return the decision in a form's answer; None if the form was closed, which decides nothing."""
    content = response.content or {} if response.action == "accept" else {}
    decision, confirm = content.get("decision"), content.get("confirm")
    if decision not in ("approve", "reject"):
        return None
    fields: dict[str, Json] = {"proposal_ids": [proposal_id], "verb": decision, "seen": seen}
    return fields if not isinstance(confirm, str) or decision == "reject" else {**fields, "confirm": confirm}


async def _decide(
    response: types.ElicitResult,
    receipt: dict[str, Json],
    operation: str,
    seen: str,
    session: AgentSession,
    runner: Runner,
) -> dict[str, Json]:
    """Apply the answer of a form and return the new receipt; closing the form decides nothing."""
    from memorywire.wire.codec import encode

    answer = _read_answer(response, receipt["proposal_id"], seen)
    if answer is None:
        return receipt
    decision = cast("Decided", await runner.review("decide", answer, session, elicited=True))
    if answer["verb"] == "reject":
        raise Refused("a person rejected this change; nothing was changed")
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
    return receipt | {name: value for name, value in fields.items() if name in receipt or value is not None}


_ONCE_DONE = {
    "would_forget_ids": "forgotten_ids",
    "would_merge_ids": "merged_ids",
    "would_restore_ids": "restored_ids",
    "would_end_ids": "ended_ids",
    "action_requested": "action_taken",
}
"""Fields of a pending receipt that describe its effect, and their names once the change is done."""


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
