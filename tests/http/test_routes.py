"""Every route answers what its schema says, through the same dispatch as every other door."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest

from memorywire_server.http.openapi import openapi
from memorywire_server.http.routes import wire_routes
from tests.http.server import Client, Server, at, serving, written_line

TEA = {"name": "tea", "initial": "cold", "states": ["cold", "hot"], "transitions": [["boil", "cold", "hot"]]}


def faults(name: str, document: Any) -> list[str]:
    """What a schema of the door's own description says about an answer."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi()["components"]}
    return [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(document)]


def test_remember_and_recall(client: Client):
    receipt = client.remember("Ana prefers green tea to coffee")
    assert faults("remember.response", receipt) == []
    found = client.post("/v0/recall", {"agent_id": "a", "query": "what does Ana like to drink?"}).json
    assert [hit["id"] for hit in found["results"]] == [receipt["id"]]
    assert faults("recall.response", found) == []


def test_a_memory_has_an_address_and_its_version_is_its_etag(client: Client):
    receipt = client.remember("The office closes at six")
    reply = client.get(at("memories", receipt["id"]), agent_id="a")
    assert (reply.status, reply.headers["etag"]) == (200, '"1"')
    assert reply.json["content"] == "The office closes at six"
    history = client.get(at("memories", receipt["id"], "history"), agent_id="a").json
    assert [version["number"] for version in history["versions"]] == [1]


def test_an_id_with_a_slash_and_every_other_letter_is_found_by_its_address(client: Client):
    for id in ("a/b", "ä ö?&#%2F", "..", "100%"):
        client.remember(f"this one is called {id}", id=id)
        assert client.get(at("memories", id), agent_id="a").json["id"] == id


def test_memories_are_listed_page_by_page_with_filters_in_the_query(client: Client):
    for number in range(3):
        client.remember(f"page {number}", agent="pages", metadata={"number": number}, tags=["page"])
    first = client.get("/v0/memories", agent_id="pages", limit=2, types=["semantic", "episodic"]).json
    assert (first["total"], len(first["items"])) == (3, 2)
    rest = client.get("/v0/memories", agent_id="pages", after=first["next"]).json
    assert len(rest["items"]) == 1
    chosen = client.get("/v0/memories", agent_id="pages", filter=json.dumps({"metadata.number": 1})).json
    assert [item["content"] for item in chosen["items"]] == ["page 1"]


def test_a_change_is_undone_by_its_address(client: Client):
    receipt = client.remember("to be taken back")
    undone = client.post(at("undo", receipt["change_id"]), {"agent_id": "a"})
    assert undone.json["undone"] == receipt["change_id"]
    assert client.get(at("memories", receipt["id"]), agent_id="a").status == 404


def test_an_idempotency_key_in_the_header_gives_the_first_receipt_again(client: Client):
    payload = {"agent_id": "a", "type": "semantic", "content": "said once"}
    first = client.post("/v0/remember", payload, Idempotency_Key="k-1").json
    again = client.post("/v0/remember", payload, Idempotency_Key="k-1").json
    assert (again["id"], again["change_id"]) == (first["id"], first["change_id"])
    other = client.post("/v0/remember", {**payload, "content": "said twice"}, Idempotency_Key="k-1")
    assert (other.status, other.json["code"]) == (409, "idempotency_conflict")
    both = client.post("/v0/remember", {**payload, "idempotency_key": "k-2"}, Idempotency_Key="k-1")
    assert (both.status, both.json["field"]) == (422, "idempotency_key")


def test_if_match_guards_a_version(client: Client):
    receipt = client.remember("version one")
    new = {"agent_id": "a", "type": "semantic", "content": "version two", "id": receipt["id"]}
    assert client.post("/v0/remember", new, If_Match='"1"').json["version"] == 2
    late = client.post("/v0/remember", {**new, "content": "version three"}, If_Match='"1"')
    assert (late.status, late.json["code"]) == (412, "conflict")
    assert client.post("/v0/remember", new, If_Match="one").status == 422


def test_a_batch_gives_each_item_its_own_receipt(client: Client):
    items = [
        {
            "operation": "remember",
            "payload": {"agent_id": "b", "type": "semantic", "content": "first of many"},
        },
        {"operation": "remember", "payload": {"agent_id": "b", "type": "semantic"}},
        {
            "operation": "remember",
            "payload": {"agent_id": "b", "type": "semantic", "content": "third of many"},
        },
        {"operation": "recall", "payload": {"agent_id": "b", "query": "first of many"}},
        {"operation": "sing", "payload": {}},
    ]
    reply = client.post("/v0/batch", {"items": items})
    assert faults("batch.response", reply.json) == []
    assert [item["status"] for item in reply.json["items"]] == [200, 422, 200, 200, 404]
    assert reply.json["items"][1]["problem"]["field"] == "content"
    assert client.post("/v0/batch", {"items": []}).status == 422
    assert client.post("/v0/batch", {"items": [{"operation": "get"}]}).json["field"] == "items.0.payload"


def test_a_procedure_takes_a_step(client: Client):
    receipt = client.post("/v0/remember", {"agent_id": "a", "type": "procedural", "content": TEA}).json
    step = client.post(at("procedures", receipt["id"], "trigger"), {"agent_id": "a", "trigger": "boil"})
    assert faults("trigger.response", step.json) == []
    assert (step.json["state"], step.json["receipt"]["version"]) == ("hot", 2)
    again = client.post(at("procedures", receipt["id"], "trigger"), {"agent_id": "a", "trigger": "boil"})
    assert again.status == 409
    assert client.post(at("procedures", receipt["id"], "trigger"), {"agent_id": "a"}).status == 422


def test_the_ledger_is_shown_proven_and_signed(client: Client):
    for content in ("written down before", "written down"):
        client.remember(content)
    page = client.get("/v0/audit", limit=1, agent_id="a", operation="remember").json
    assert faults("audit.response", page) == []
    assert (len(page["entries"]), page["next"]) == (1, page["entries"][0]["seq"])
    older = client.get("/v0/audit", limit=1, before=page["next"]).json["entries"][0]
    assert older["seq"] < page["next"]
    signed = client.get("/v0/audit/checkpoint").json
    assert faults("audit_checkpoint.response", signed) == []
    verdict = client.get("/v0/audit/verify").json
    assert faults("audit_verify.response", verdict) == []
    compared = client.get("/v0/audit/verify?state=true").json
    assert faults("audit_verify.response", compared) == []
    assert (compared["ok"], compared["state"]["differences"]) == (True, [])
    assert (verdict["ok"], verdict["exposed"]) == (True, 0)


def test_debts_are_listed(client: Client):
    assert client.get("/v0/debts").json == {"debts": []}


def test_health_says_one_word(client: Client):
    assert client.get("/healthz").json == {"status": "ok"}
    assert client.get("/readyz").json == {"status": "ok"}


def test_figures_count_requests_and_name_nobody(client: Client):
    client.post("/v0/recall", {"agent_id": "a-secret-agent", "query": "anything at all"})
    text = client.get("/metrics").body.decode()
    assert 'memorywire_requests_total{operation="recall",status="200"}' in text
    assert "memorywire_ledger_entries" in text
    assert "memorywire_recall_verdicts_total" in text
    assert "a-secret-agent" not in text


def test_logs_have_a_line_for_each_request_without_content(server: Server):
    receipt = server.client.remember("what nobody should read in a log", agent="a-logged-agent")
    line = written_line(server, receipt["change_id"])
    assert (line["operation"], line["status"], line["caller"]) == ("remember", 200, "local")
    assert not [said for said in server.lines if "nobody should read" in said or "a-logged-agent" in said]


def test_the_documents_are_served_from_here(client: Client):
    described = client.get("/openapi.json").json
    assert described["openapi"].startswith("3.1")
    page = client.get("/docs").body.decode()
    assert "/v0/remember" in page
    assert "http://" not in page
    assert "https://" not in page
    assert client.get("/docs.css").headers["content-type"].startswith("text/css")


def test_the_page_shows_code_as_code_and_not_between_backticks(client: Client):
    prose = re.sub(r"<pre>.*?</pre>", "", client.get("/docs").body.decode(), flags=re.DOTALL)
    assert "<code>Memorywire-Tenant</code>" in prose
    assert "`" not in prose


def test_every_route_is_described_and_every_description_is_a_route(client: Client):
    described = {(method.upper(), path) for path, said in openapi()["paths"].items() for method in said}
    assert {(route.method, route.path) for route in wire_routes()} < described
    for method, path in sorted(described - {("GET", "/v0/events")}):  # which has no end
        reply = client.send(method, path.replace("{", "").replace("}", ""))
        assert reply.status != 405, (method, path)
        assert (
            reply.json.get("detail") != "no such address" if "json" in reply.headers["content-type"] else True
        )


def test_every_example_of_the_description_is_valid_in_it():
    for path, methods in openapi()["paths"].items():
        for method, said in methods.items():
            for content in said.get("requestBody", {}).get("content", {}).values():
                for example in content.get("examples", {}).values():
                    name = content["schema"]["$ref"].rpartition("/")[2]
                    assert faults(name, example["value"]) == [], (method, path)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_a_wrong_method_is_told_the_right_ones(client: Client, method: str):
    reply = client.send(method, "/v0/memories")
    assert (reply.status, reply.json["code"]) == (405, "method_not_allowed")
    assert "GET" in reply.headers["allow"]
    assert reply.json["fix"] == f"send {reply.headers['allow']}"


def test_the_address_itself_leads_to_the_documentation_where_there_is_no_console(client: Client):
    reply = client.get("/")
    assert (reply.status, reply.headers["location"]) == (307, "/docs")


def test_an_unknown_address_is_a_problem(client: Client):
    reply = client.get("/v0/sing")
    assert (reply.status, reply.json["code"]) == (404, "not_found")
    assert reply.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("asked", "fix"),
    [
        ("/v0/recal", "did you mean /v0/recall?"),
        ("/v0/remember/", "did you mean /v0/remember?"),
        ("/v1/recall", "did you mean /v0/recall?"),
        ("/v0/weather", "see /docs"),
        ("/" + "v0/recall" * 1_000, "see /docs"),
    ],
    ids=["misspelt", "slash", "version", "other", "long"],
)
def test_an_address_that_is_nearly_one_is_told_which(client: Client, asked: str, fix: str):
    assert client.post(asked, {}).json["fix"] == fix


def test_what_waits_for_a_person_is_accepted_and_decided_by_its_address():
    with serving(policy="balanced") as server:
        held = server.client.post(
            "/v0/remember",
            {
                "agent_id": "a",
                "type": "semantic",
                "content": "The vault opens at nine",
                "approval_required": True,
            },
        )
        assert (held.status, held.json["status"]) == (202, "staged")
        waiting = server.client.get("/v0/proposals", agent_id="a").json
        assert [item["id"] for item in waiting["items"]] == [held.json["proposal_id"]]
        shown = server.client.get(at("proposals", held.json["proposal_id"])).json
        decision = {"verb": "approve", "seen": shown["seen"]}
        done = server.client.post(at("proposals", held.json["proposal_id"], "decision"), decision)
        assert done.json["state"] == "approved"
        assert server.client.get("/v0/memories", agent_id="a").json["total"] == 1


def test_rules_are_read_and_set_by_their_address():
    with serving(policy="balanced") as server:
        rule = {"name": "no-web", "verdict": "refuse", "source": ["web*"]}
        body = json.dumps({"rules": [rule]}).encode()
        put = server.client.send("PUT", "/v0/rules", body, {"Content-Type": "application/json"})
        assert put.status == 200, put.body
        assert "no-web" in server.client.get("/v0/rules").body.decode()
        refused = server.client.post(
            "/v0/remember", {"agent_id": "a", "type": "semantic", "content": "x y", "source": "web:1"}
        )
        assert (refused.status, refused.json["code"]) == (403, "refused_by_policy")


def test_a_recall_can_be_asked_why(client: Client):
    client.remember("The kettle is blue", agent="why")
    found = client.post("/v0/recall", {"agent_id": "why", "query": "colour of the kettle"}).json
    told = client.get(at("recalls", found["recall_id"]), agent_id="why")
    assert told.status == 200
    assert "kettle" in told.body.decode()
