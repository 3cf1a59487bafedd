"""Erase and export of a person over HTTP: for operators with the right to manage."""

import pytest

from tests.http.server import serving


def remember(client, agent: str, content: str) -> None:
    payload = {"agent_id": agent, "user_id": "ana", "type": "semantic", "content": content}
    assert client.post("/v0/remember", payload).status == 200


def test_an_admin_erases_and_exports_a_person_and_others_do_not():
    with serving() as server:
        admin = server.operator("boss", role="admin")
        remember(admin, "shop", "likes green tea")
        remember(admin, "desk", "lives in Graz")
        for role in ("reader", "writer", "reviewer", "agent"):
            other = server.operator(role, role=role)
            assert other.post("/v0/erase", {"user_id": "ana"}).status == 403
            assert other.get("/v0/export", user_id="ana").status == 403
        limited = server.operator("limited", role="admin", agents=("shop",))
        refusal = limited.post("/v0/erase", {"user_id": "ana"})
        assert (refusal.status, refusal.json["field"]) == (403, "agent_id")
        assert limited.get("/v0/export", user_id="ana").status == 403
        lines = limited.get("/v0/export", user_id="ana", agent_id="shop").json["lines"]
        assert ("tea" in "".join(lines), "Graz" in "".join(lines)) == (True, False)
        assert admin.get("/v0/export", user_id="ana").json["counts"]["put"] == 2
        receipt = admin.post("/v0/erase", {"user_id": "ana", "reason": "a request"}).json
        assert (receipt["erased"], receipt["id_removed"]) == (2, True)
        assert admin.get("/v0/export", user_id="ana").json["counts"].get("put", 0) == 0


@pytest.mark.parametrize(("body", "field"), [({}, "user_id"), ({"user_id": "ana", "x": 1}, "x")])
def test_a_wrong_erase_names_its_field(body: dict[str, object], field: str):
    with serving() as server:
        refusal = server.client.post("/v0/erase", body)
        assert (refusal.status, refusal.json["field"]) == (422, field)
