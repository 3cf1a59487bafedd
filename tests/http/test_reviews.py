"""Reviewers behind webhooks: told of held requests, signed; their decisions are carried out, once."""

import hashlib
import hmac
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from memorywire.journal.webhooks import Webhook, Webhooks, build_row
from memorywire_server.background import new_secret
from memorywire_server.http.endpoint import Limits
from tests.http.elsewhere import Exchange, answering
from tests.http.server import Server, serving
from tests.spec.schemas import faults

IMPATIENT = Limits(rate=1e6, wrong_tokens=1e6, webhook_pause_ms=0)
SECRET = new_secret(lambda count: b"k" * count)
TEA = "Ana likes tea"


class Desk:
    """An address that answers each message with the next of its decisions."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[dict[str, str], bytes]] = []
        self.url = ""

    def answer(self, asked: Exchange, body: bytes) -> None:
        self.asked.append(({name.lower(): value for name, value in asked.headers.items()}, body))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, int) or answer is None:
            asked.reply(answer or 202)
        else:
            asked.reply(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.asked]


@contextmanager
def reviewing(*answers: Any, store: str = "sqlite://", **more: Any) -> Iterator[tuple[Desk, Server]]:
    desk = Desk(*answers)
    with answering(desk.answer) as place, serving(store, policy="open", limits=IMPATIENT) as server:
        desk.url = f"http://{place}/review"
        fields = {
            "id": "w",
            "url": desk.url,
            "secret": SECRET,
            "tenant": "default",
            "made_at": 0,
            "position": 0,
        }
        row = build_row(Webhook(**{**fields, "position": 0, "review": True, **more}))
        server.run(server.container.journal.backend.write(lambda db: db.execute("add_webhook", row)))
        yield desk, server


def says(approved: bool = True, **more: Any) -> dict[str, Any]:
    return {"approved": approved, "reviewer": "ana", "reviewed_at": 1_760_000_000_000, **more}


def hold(server: Server, content: str = TEA, agent: str = "a") -> str:
    receipt = server.client.remember(content, agent, approval_required=True, reasoning="she said so")
    return str(receipt["proposal_id"])


def proposal(server: Server, id: str) -> dict[str, Any]:
    found: dict[str, Any] = server.client.post("/v0/proposal", {"proposal_id": id}).json["proposal"]
    return found


def contents(server: Server) -> list[str]:
    items = server.client.post("/v0/list", {"agent_id": "a"}).json["items"]
    return [item["content"] for item in items]


def wait(until: Any) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


def sign(body: bytes, secret: str = SECRET, at: float | None = None) -> dict[str, str]:
    moment = str(int(time.time() if at is None else at))
    key = b64decode(secret.removeprefix("whsec_"))
    mark = b64encode(hmac.new(key, f"m.{moment}.".encode() + body, hashlib.sha256).digest()).decode()
    return {"webhook-id": "m", "webhook-timestamp": moment, "webhook-signature": f"v1,{mark}"}


def call_back(server: Server, document: Any, webhook: str = "w", **signing: Any) -> Any:
    body = json.dumps(document).encode()
    headers = {"Content-Type": "application/json", **sign(body, **signing)}
    return server.client.send("POST", f"/v0/reviews/{webhook}", body, headers)


def test_a_held_request_is_told_with_what_it_says_and_signed():
    with reviewing(202) as (desk, server):
        server.client.remember("not held")
        id = hold(server)
        wait(lambda: desk.asked)
        ((headers, body),) = desk.asked
        moment, key = headers["webhook-timestamp"], b64decode(SECRET.removeprefix("whsec_"))
        said = f"{headers['webhook-id']}.{moment}.".encode() + body
        mark = b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{mark}"
        message = json.loads(body)
        assert faults("governance_request", message) == []
        assert (message["operation"], message["agent_id"], message["reasoning"]) == (
            "remember",
            "a",
            "she said so",
        )
        assert message["request"]["content"] == message["diff"]["added"][0]["fields"]["content"] == TEA
        assert (message["proposal_id"], message["callback"]) == (id, "/v0/reviews/w")
        assert proposal(server, id)["state"] == "pending"


@pytest.mark.parametrize("approved", [True, False])
def test_the_answer_to_the_message_decides(approved: bool):
    with reviewing(says(approved, reason="I know her")) as (_, server):
        id = hold(server)
        wait(lambda: proposal(server, id)["state"] != "pending")
        decision = proposal(server, id)["decision"]
        assert (decision["by"], decision["via"], decision["reason"]) == (
            "ana",
            "reviewer:webhook:w",
            "I know her",
        )
        assert decision["reviewed_at"] == 1_760_000_000_000
        assert contents(server) == ([TEA] if approved else [])


@pytest.mark.parametrize("approved", [True, False])
def test_a_callback_decides_later(approved: bool):
    with reviewing(202) as (desk, server):
        id = hold(server)
        wait(lambda: desk.asked)
        answer = {"proposal_id": id, "seen": desk.messages()[0]["seen"], **says(approved)}
        reply = call_back(server, answer)
        assert (reply.status, reply.json["state"]) == (200, "approved" if approved else "rejected")
        assert faults("decide.response", reply.json) == []
        assert contents(server) == ([TEA] if approved else [])
        assert call_back(server, answer).status == 409  # the same words again


def test_a_callback_that_is_not_signed_by_the_webhook_decides_nothing():
    with reviewing(202) as (desk, server):
        id = hold(server)
        wait(lambda: desk.asked)
        answer = {"proposal_id": id, "seen": desk.messages()[0]["seen"], **says()}
        other = new_secret(lambda count: b"x" * count)
        refused = [
            call_back(server, answer, secret=other),
            call_back(server, answer, at=time.time() - 301),
            call_back(server, answer, at=time.time() + 400),
            call_back(server, answer, webhook="another"),
            server.client.post("/v0/reviews/w", answer),
        ]
        assert [(reply.status, reply.json["code"]) for reply in refused] == [(401, "unauthenticated")] * 5
        assert proposal(server, id)["state"] == "pending"
        assert call_back(server, answer).status == 200  # control: it was the signature


def test_a_webhook_of_events_decides_nothing():
    with reviewing(review=False) as (_, server):
        id = hold(server)
        answer = {"proposal_id": id, "seen": "s", **says()}
        assert call_back(server, answer).status == 401
        assert proposal(server, id)["state"] == "pending"


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"approved": "yes"}, 422, "approved"),
        ({"reviewer": ""}, 422, "reviewer"),
        ({"reviewer": "agent:helper"}, 403, None),
        ({"seen": "something else"}, 409, "seen"),
        ({"proposal_id": "unknown"}, 404, "proposal_id"),
        ({"verdict": "allow"}, 422, "verdict"),
    ],
)
def test_a_wrong_callback_names_the_field_and_decides_nothing(change, status, field):
    with reviewing(202) as (desk, server):
        id = hold(server)
        wait(lambda: desk.asked)
        answer = {"proposal_id": id, "seen": desk.messages()[0]["seen"], **says(), **change}
        reply = call_back(server, answer)
        assert (reply.status, reply.json.get("field")) == (status, field)
        assert proposal(server, id)["state"] == "pending"


@pytest.mark.parametrize("missing", ["proposal_id", "seen", "approved", "reviewer", "reviewed_at"])
def test_a_callback_says_all_it_has_to(missing: str):
    with reviewing(202) as (_, server):
        answer = {"proposal_id": hold(server), "seen": "s", **says()}
        del answer[missing]
        reply = call_back(server, answer)
        assert (reply.status, reply.json["field"]) == (422, missing)


def test_a_reviewer_of_some_agents_hears_and_decides_of_no_others():
    with reviewing(202, agents=("mine",)) as (desk, server):
        other, mine = hold(server, agent="other"), hold(server, agent="mine")
        wait(lambda: desk.asked)
        assert [message["proposal_id"] for message in desk.messages()] == [mine]
        seen = server.client.post("/v0/proposal", {"proposal_id": other}).json["seen"]
        reply = call_back(server, {"proposal_id": other, "seen": seen, **says()})
        assert (reply.status, reply.json["code"]) == (404, "not_found")


def test_an_answer_that_decides_nothing_is_asked_for_again():
    with reviewing({"approved": "perhaps"}, "yes", 500, says()) as (desk, server):
        id = hold(server)
        wait(lambda: proposal(server, id)["state"] == "approved")
        assert len(desk.asked) == 4
        (webhook,) = server.run(Webhooks(server.container.journal).list_all())
        wait(lambda: server.run(Webhooks(server.container.journal).list_all())[0].error is None)
        assert webhook.review


def test_two_people_behind_one_webhook_make_a_quorum():
    rule = {"name": "two", "verdict": "hold", "reviewers": 2, "content_contains": ["tea"]}
    with reviewing(says()) as (desk, server):
        assert server.client.post("/v0/set_rules", {"rules": [rule]}).status == 200
        id = str(server.client.remember(TEA, "a")["proposal_id"])
        wait(lambda: proposal(server, id)["approvals"])
        assert contents(server) == []
        answer = {"proposal_id": id, "seen": desk.messages()[0]["seen"]}
        again = call_back(server, {**answer, **says()})
        assert (again.status, again.json["field"]) == (409, "proposal_ids")
        assert call_back(server, {**answer, **says(reviewer="ben")}).json["state"] == "approved"
        assert contents(server) == [TEA]
