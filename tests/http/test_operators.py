"""Operators: what each role may do, how tokens begin and end, and that nobody can read them anywhere."""

import json
from pathlib import Path

import pytest

from memorywire.journal.operators import NEVER, RIGHTS, Right, Role
from memorywire.model.errors import InvalidRequest
from memorywire_server.http.routes import ALL, EVERYWHERE, NEEDS, agent_is_optional, names_agent
from tests.engine.stage import HandClock
from tests.http.server import Client, Server, serving

WRITES: dict[str, dict[str, object]] = {
    "/v0/procedures/x/trigger": {"trigger": "boil"},
    "/v0/layer/add": {"messages": [{"role": "user", "content": "Hello"}], "infer": False},
}
"""What writes and is no operation of the wire."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory):
    with serving(f"sqlite://{tmp_path_factory.mktemp('guarded')}/memory.db") as server:
        server.operator("root", tenants=["*"])
        yield server


def test_every_operation_has_a_right_or_needs_the_highest():
    assert set(NEEDS) <= set(ALL)
    assert {NEEDS.get(operation, Right.MANAGE) for operation in ALL} == set(Right)


@pytest.mark.parametrize("role", Role)
def test_a_role_may_do_what_its_rights_say(guarded: Server, role: Role):
    client = guarded.operator(f"one-{role}", role, tenants=["*"])
    for operation in ALL:
        allowed = NEEDS.get(operation, Right.MANAGE) in RIGHTS[role]
        reply = client.post(f"/v0/{operation}", {})
        assert (reply.status != 403) is allowed, (operation, reply.body)
        item = client.post("/v0/batch", {"items": [{"operation": operation, "payload": {}}] * 2}).json[
            "items"
        ][0]
        assert (item["status"] != 403) is allowed, operation
    for path, body in WRITES.items():
        assert (client.post(path, {"agent_id": "a", **body}).status != 403) is (Right.WRITE in RIGHTS[role])
    assert (client.get("/v0/audit").status == 200) is (Right.REVIEW in RIGHTS[role])
    assert (client.get("/v0/debts").status == 200) is (Right.REVIEW in RIGHTS[role])
    assert (client.get("/v0/audit/verify").status == 200) is (Right.MANAGE in RIGHTS[role])
    assert client.get("/metrics").status == 200


def test_what_concerns_every_tenant_needs_an_operator_of_every_tenant(guarded: Server):
    client = guarded.operator("of-the-first-tenant", "admin")
    other = guarded.operator("of-another-tenant", "admin", tenants=["other"])
    for operation in EVERYWHERE:
        assert client.post(f"/v0/{operation}", {}).status == 403
        assert other.post(f"/v0/{operation}", {}).status != 403
    for path in ("/v0/audit/verify", "/v0/audit/checkpoint", "/metrics"):
        assert client.get(path).status == 403


def test_a_limited_operator_names_an_agent_that_is_theirs(guarded: Server):
    client = guarded.operator("support-only", "admin", agents=["support-*"])
    client.remember("mine", agent="support-1")
    other = client.post("/v0/recall", {"agent_id": "sales", "query": "anything"})
    assert (other.status, other.json["field"]) == (403, "agent_id")
    assert client.get("/v0/audit").status == 403
    assert client.post("/v0/proposals", {}).status == 403
    assert client.get("/v0/audit", agent_id="support-1").status == 200
    assert client.get("/v0/capabilities").status == 200


def test_a_team_is_open_to_tokens_for_its_agent_alone(guarded: Server) -> None:
    fact = {"agent_id": "support-1", "team": "sales", "type": "semantic", "content": "Acme renews in May"}
    question = {"agent_id": "support-1", "scope": "team", "team": "sales", "query": "when does Acme renew?"}
    member = guarded.operator("team-member", "admin", agents=["support-*", "team:sales"])
    assert member.post("/v0/remember", fact).status in (200, 201)
    assert len(member.post("/v0/recall", question).json["results"]) == 1
    stranger = guarded.operator("no-member", "admin", agents=["support-*"])
    for path, body in (("/v0/remember", fact), ("/v0/recall", question)):
        refusal = stranger.post(path, body)
        assert (refusal.status, refusal.json["field"]) == (403, "team")


@pytest.mark.parametrize("operation", sorted({*ALL} - {"capabilities", "agents"}))
def test_nothing_that_concerns_other_agents_is_for_a_limited_operator(guarded: Server, operation: str):
    limited = guarded.operator(f"some-{operation}", "admin", tenants=["other"], agents=["support-*"])
    whole = guarded.operator(f"all-{operation}", "admin", tenants=["other"])
    foreign = {"agent_id": "sales"} if names_agent(operation) else {}
    assert limited.post(f"/v0/{operation}", foreign).status == 403
    assert whole.post(f"/v0/{operation}", foreign).status != 403
    if agent_is_optional(operation):  # who names nobody asks about everybody
        assert limited.post(f"/v0/{operation}", {}).status == 403


def test_an_id_tells_a_limited_caller_nothing_of_other_agents(guarded: Server):
    whole = guarded.operator("chooses-ids", "admin", tenants=["ids"])
    limited = guarded.operator("gets-ids", "admin", tenants=["ids"], agents=["support-*"])
    words = {"agent_id": "sales", "type": "semantic", "content": "the price is 7"}
    assert whole.post("/v0/remember", {**words, "id": "taken"}).status == 200
    mine = {**words, "agent_id": "support-1"}
    assert whole.post("/v0/remember", {**mine, "id": "taken"}).status == 409
    answers = [limited.post("/v0/remember", {**mine, "id": id}) for id in ("taken", "free")]
    assert [(answer.status, answer.json["field"]) for answer in answers] == [(403, "id")] * 2
    assert answers[0].json["detail"] == answers[1].json["detail"]
    changed = [limited.post("/v0/remember", {**mine, "id": id, "if_version": 1}) for id in ("taken", "free")]
    assert [answer.status for answer in changed] == [409, 409]
    assert changed[0].json["detail"].replace("taken", "free") == changed[1].json["detail"]
    items = [{"operation": "remember", "payload": {**mine, "id": id}} for id in ("taken", "free")]
    batch = limited.post("/v0/batch", {"items": items})
    assert [one["status"] for one in batch.json["items"]] == [403, 403]


def test_a_limited_operator_sees_only_agents_that_are_theirs(guarded: Server):
    whole = guarded.operator("sees-all", "admin", tenants=["seen"])
    limited = guarded.operator("sees-some", "admin", tenants=["seen"], agents=["support-*"])
    for agent in ("support-1", "sales"):
        whole.remember(f"what {agent} knows", agent)

    def seen(client: Client) -> list[str]:
        return [one["agent_id"] for one in client.post("/v0/agents", {}).json["items"]]

    assert (seen(whole), seen(limited)) == (["sales", "support-1"], ["support-1"])


def test_the_tenant_comes_from_the_token(guarded: Server):
    one = guarded.operator("of-umbrella", "writer", tenants=["umbrella"])
    receipt = one.remember("the umbrella is red", agent="shared")
    other = guarded.operator("of-acme", "writer", tenants=["acme"])
    assert other.get(f"/v0/memories/{receipt['id']}", agent_id="shared").status == 404
    foreign = Client(other.url, other.token, {"Memorywire-Tenant": "umbrella"})
    assert foreign.get(f"/v0/memories/{receipt['id']}", agent_id="shared").status == 403
    both = guarded.operator("of-both", "reader", tenants=["acme", "umb*"])
    unsaid = both.get("/v0/memories", agent_id="shared")
    assert (unsaid.status, "several tenants (acme, umb*)" in unsaid.json["detail"]) == (403, True)
    chosen = Client(both.url, both.token, {"Memorywire-Tenant": "umbrella"})
    assert chosen.get(f"/v0/memories/{receipt['id']}", agent_id="shared").status == 200
    assert one.post("/v0/recall", {"agent_id": "shared", "query": "x", "tenant": "acme"}).status == 422


def test_the_ledger_names_the_operator(guarded: Server):
    client = guarded.operator("scribe", "admin", tenants=["scribes"])
    client.remember("by the scribe")
    entry = client.get("/v0/audit", operation="remember").json["entries"][0]
    assert entry["actor"] == "operator:scribe"


@pytest.mark.parametrize(
    "authorization",
    [
        "Bearer",
        "Bearer ",
        "Bearer mw_",
        "Basic cm9vdDpyb290",
        "Bearer mw_" + "A" * 56,
        "Bearer \xe4",
        "mw_x",
        "Bearer " + "x" * 9000,
    ],
)
def test_what_is_no_token_gives_one_and_the_same_answer(guarded: Server, authorization: str):
    nobody = guarded.client.get("/v0/capabilities")
    reply = guarded.client.send("GET", "/v0/capabilities", headers={"Authorization": authorization})
    assert (reply.status, reply.body) == (401, nobody.body)
    assert reply.headers["www-authenticate"] == "Bearer"


def test_a_token_with_another_secret_is_not_taken(guarded: Server):
    client = guarded.operator("careful", "reader")
    assert client.get("/v0/capabilities").status == 200
    token = client.token or ""
    for changed in (token[:-1] + ("A" if token[-1] != "A" else "B"), token[:-1], token + "A"):
        assert Client(client.url, changed).get("/v0/capabilities").status == 401


def test_the_first_operator_ends_the_open_house():
    clock = HandClock()
    with serving(clock=clock) as server:
        assert server.client.get("/v0/capabilities").status == 200
        client = server.operator("first")
        clock.now += 1_000
        assert server.client.get("/v0/capabilities").status == 401
        assert client.get("/v0/capabilities").status == 200
        server.run(server.registry.revoke("first"))
        clock.now += 1_000
        assert client.get("/v0/capabilities").status == 401
        assert server.client.get("/v0/capabilities").status == 401


def test_tokens_end_by_time_by_rotation_and_by_revocation():
    clock = HandClock()
    with serving(clock=clock) as server:
        client = server.operator("short", expires_at=clock.now + 5_000)
        assert client.get("/v0/capabilities").status == 200
        clock.now += 5_000
        assert client.get("/v0/capabilities").status == 401
        old = server.operator("turning")
        new = Client(old.url, server.run(server.registry.rotate("turning", overlap_ms=60_000)).secret)
        clock.now += 59_000
        assert (old.get("/v0/capabilities").status, new.get("/v0/capabilities").status) == (200, 200)
        clock.now += 2_000
        assert (old.get("/v0/capabilities").status, new.get("/v0/capabilities").status) == (401, 200)
        server.run(server.registry.revoke("turning"))
        clock.now += 1_000
        assert new.get("/v0/capabilities").status == 401


def test_a_rotated_token_keeps_the_limits_of_the_one_it_replaces():
    clock = HandClock()
    end = clock.now + 60_000
    with serving(clock=clock) as server:
        old = server.operator("short", role="reader", agents=["support-*"], expires_at=end)
        for _ in range(2):
            issued = server.run(server.registry.rotate("short", overlap_ms=5_000))
            assert issued.token.expires_at == end
        new = Client(old.url, issued.secret)
        assert new.post("/v0/recall", {"agent_id": "sales", "query": "tea"}).status == 403
        assert new.post("/v0/forget", {"agent_id": "support-1", "ids": ["x"]}).status == 403
        clock.now = end
        assert new.get("/v0/capabilities").status == 401
        with pytest.raises(InvalidRequest, match="has expired") as caught:
            server.run(server.registry.rotate("short"))
        assert caught.value.field == "expires_at"
        assert server.run(server.registry.rotate("short", expires_at=end + 1)).token.expires_at == end + 1
        assert server.run(server.registry.rotate("short", expires_at=NEVER)).token.expires_at is None
        assert server.run(server.registry.rotate("short")).token.expires_at is None


def test_a_token_of_an_agent_acts_as_an_agent_and_never_decides():
    with serving(policy="balanced") as server:
        agent, admin = server.operator("bot", role="agent"), server.operator("ana")
        kept = agent.remember("Ana pays by invoice")
        erasing = agent.post("/v0/forget", {"agent_id": "a", "ids": [kept["id"]], "hard_delete": True}).json
        assert (erasing["status"], erasing["rule"]) == ("staged", "erasure")
        decision = {"proposal_ids": [erasing["proposal_id"]], "verb": "approve", "confirm": "erase"}
        assert agent.post("/v0/decide", decision).status == 403
        gone = admin.post("/v0/forget", {"agent_id": "a", "ids": [kept["id"]]}).json
        undone = agent.post("/v0/undo", {"agent_id": "a", "change_id": gone["change_id"]}).json
        assert (undone["status"], undone["rule"]) == ("staged", "undoes-a-person")
        entries = admin.get("/v0/audit").json["entries"]
        assert {entry["actor"] for entry in entries} == {"agent:bot", "operator:ana"}


def test_a_token_of_one_agent_lends_and_revokes_only_what_is_of_this_agent():
    with serving(policy="open") as server:
        one, other = (server.operator(name, role="agent", agents=[name]) for name in ("ops", "support"))
        for client, agent in ((one, "ops"), (other, "support")):
            client.remember(f"{agent} writes runbooks", agent, tags=["x"])
        grant = {"agent_id": "ops", "borrower": "support", "tags": ["x"]}
        assert other.post("/v0/share", grant).status == 403
        given = one.post("/v0/share", grant).json
        query = {"agent_id": "support", "query": "who in ops writes runbooks?", "min_relevance": "off"}
        lenders = [hit.get("lender") for hit in other.post("/v0/recall", query).json["results"]]
        assert sorted(map(str, lenders)) == ["None", "ops"]
        assert other.get("/v0/shares", agent_id="support").json["items"][0]["share_id"] == given["share_id"]
        assert other.get("/v0/shares", agent_id="ops").status == 403
        for agent, status in (("ops", 403), ("support", 404)):
            revocation = {"agent_id": agent, "share_id": given["share_id"]}
            assert other.post("/v0/unshare", revocation).status == status
        revoked = one.post("/v0/unshare", {"agent_id": "ops", "share_id": given["share_id"]}).json
        assert revoked["status"] == "committed"


def test_the_last_use_is_kept_and_no_token_is_anywhere(tmp_path: Path):
    with serving(f"sqlite://{tmp_path}/memory.db") as server:
        client = server.operator("hidden", tenants=["*"])
        client.remember("something")
        client.post("/v0/recall", b"not json")
        lines = "\n".join(server.lines)
    secret = (client.token or "")[-40:]
    assert secret not in lines
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret.encode() in path.read_bytes()]
    with serving(f"sqlite://{tmp_path}/memory.db") as server:
        ((_, (token,)),) = server.run(server.registry.known())
        assert token.used_at is not None
        again = Client(server.client.url, client.token)
        assert again.get("/v0/audit", operation="operator").json["entries"][0]["subject"] == "hidden"


@pytest.mark.parametrize("name", ["", "a b", "a:b", "*", "x" * 65, "tab\t"])
def test_a_name_that_could_be_mistaken_is_refused(guarded: Server, name: str):
    from memorywire.model.errors import InvalidRequest

    with pytest.raises(InvalidRequest):
        guarded.operator(name)


def test_a_name_is_given_once(guarded: Server):
    from memorywire.model.errors import Conflict

    guarded.operator("unique")
    with pytest.raises(Conflict):
        guarded.operator("unique")


def test_logs_are_one_line_of_json_whatever_is_sent(guarded: Server):
    guarded.client.send("GET", "/v0/%0a%22injected%22", headers={"Authorization": "Bearer x\ty"})
    assert [json.loads(line) for line in guarded.lines]
    assert not [line for line in guarded.lines if "injected" in line or "\n" in line]


def test_names_in_one_word_with_a_comma_are_no_list(guarded: Server):
    for field, patterns in (("tenants", ["acme,beta"]), ("agents", ["sales", "support, hr"])):
        with pytest.raises(InvalidRequest) as caught:
            guarded.operator(f"of-some-{field}", "writer", **{field: patterns})
        assert (caught.value.field, "separately" in str(caught.value.fix)) == (field, True)
        each = [name.strip() for pattern in patterns for name in pattern.split(",")]
        assert guarded.operator(f"of-all-{field}", "writer", **{field: each})


def test_who_is_not_let_in_learns_where_a_token_goes_and_what_may_be_wrong_with_it(guarded: Server):
    problem = guarded.client.get("/v0/capabilities").json
    assert "expired or revoked" in problem["detail"]
    assert "Authorization: Bearer" in problem["fix"]
    assert "MEMORYWIRE_TOKEN" in problem["fix"]


def test_a_tenant_header_without_a_name_is_not_the_default_tenant(guarded: Server):
    root = guarded.operator("everywhere", tenants=["*"])
    for client in (root, guarded.client):
        refused = client.post("/v0/list", {"agent_id": "a"}, Memorywire_Tenant="")
        assert (refused.status, refused.json["field"]) == (422, "Memorywire-Tenant")
