"""The messages between a memory and a reviewer are what their schemas and prose describe."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import fields

from memorywire import Memory, ReviewRequest, ReviewResponse
from memorywire.wire import spec
from memorywire.wire.codec import decode, encode, encode_request
from tests.engine.quick import Quick

from .schemas import faults
from .test_schemas import OPERATIONS, examples

HELD = (*OPERATIONS, "undo")


@pytest.mark.parametrize(
    ("operation", "example"),
    [case for case in examples("valid") if case.values[0] in HELD],
)
def test_a_request_in_a_message_can_be_sent_again(operation: str, example: dict[str, Any]):
    """Proves GV-9."""
    request = decode(operation, example["request"])
    again = encode_request(request)
    assert faults(f"{operation}.request", again) == []
    assert decode(operation, again) == request


def test_a_message_is_what_its_schema_describes():
    """Proves GV-9."""
    asked: list[ReviewRequest] = []

    class Desk:
        def review(self, request: ReviewRequest) -> None:
            asked.append(request)

    async def run() -> None:
        async with Memory(
            "agent", ["memory://"], policy="open", embedder=Quick(), reviewers=Desk()
        ) as memory:
            first = await memory.remember("Ana likes tea", id="tea", tags=["drink"], user_id="ana")
            held = {"approval_required": True, "reasoning": "to see it"}
            await memory.remember("Ana likes green tea", user_id="ana", **held)
            await memory.forget(filter={"or": [{"tags": "drink"}, {"not": {"source": "x"}}]}, **held)
            await memory.forget("tea", hard_delete=True, **held)
            await memory.expire({"type": "semantic"}, **held)
            await memory.undo(first.change_id, **held)

    asyncio.run(run())
    assert [one.operation for one in asked] == ["remember", "forget", "forget", "expire", "undo"]
    for message in asked:
        document = encode(message)
        assert faults("governance_request", document) == []
        assert document["reasoning"] == "to see it"
    assert encode(asked[2])["erases"] is True


def test_the_values_have_the_fields_of_their_schemas():
    for kind, name, more in (
        (ReviewRequest, "governance_request", {"callback"}),
        (ReviewResponse, "governance_response", {"proposal_id", "seen"}),
    ):
        assert {one.name for one in fields(kind)} | more == set(spec.schema(name)["properties"])


@pytest.mark.parametrize(
    ("change", "is_valid"),
    [
        ({}, True),
        ({"reason": "fine"}, True),
        ({"approved": "yes"}, False),
        ({"reviewer": " "}, False),
        ({"reviewer": ""}, False),
        ({"reviewed_at": "now"}, False),
        ({"verdict": "allow"}, False),
    ],
)
def test_a_response_is_closed_and_names_its_reviewer(change: dict[str, Any], is_valid: bool):
    document = {"approved": True, "reviewer": "ana", "reviewed_at": 1_760_000_000_000, **change}
    assert (faults("governance_response", document) == []) is is_valid
