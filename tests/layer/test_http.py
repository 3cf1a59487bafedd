"""Conversations over real HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.described import fits
from tests.http.server import Server, at, serving

_SAID = [{"role": "user", "content": "My name is Ana. I live in Lisbon."}]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def test_messages_go_in_and_facts_come_out(server: Server) -> None:
    added = server.client.post("/v0/layer/add", {"agent_id": "a", "user_id": "ana", "messages": _SAID})
    assert (added.status, added.json["status"], len(added.json["memories"])) == (200, "done", 2)
    assert fits("layer_add.response", added.json)
    polled = server.client.get(at("layer", "events", added.json["event_id"]))
    assert polled.json == added.json
    asked = {"agent_id": "a", "user_id": "ana", "query": "where does the user live?", "top_k": 1}
    found = server.client.post("/v0/layer/recall", asked)
    assert [fact["memory"] for fact in found.json["facts"]] == ["The user lives in Lisbon."]
    assert fits("layer_recall.response", found.json)
    other = server.client.post("/v0/layer/recall", {**asked, "user_id": "ben"})
    assert (other.json["facts"], other.json["verdict"]) == ([], "no_match")


@pytest.mark.parametrize(
    "body",
    [
        {"messages": _SAID},
        {"agent_id": "a", "messages": []},
        {"agent_id": "a", "messages": [{"role": "user"}]},
        {"agent_id": "a", "messages": _SAID, "inferr": False},
        {"agent_id": "a", "messages": [{"role": "user", "content": "x", "at": "noon"}]},
    ],
    ids=["agent", "none", "content", "misspelt", "moment"],
)
def test_messages_that_are_none_are_refused(server: Server, body: Any) -> None:
    refused = server.client.post("/v0/layer/add", body)
    assert (refused.status, refused.json["code"]) == (422, "validation_error")


def test_an_event_of_another_agent_or_tenant_is_not_there() -> None:
    with serving() as running:
        ours = running.operator("ours", tenants=["t1"])
        narrow = running.operator("narrow", tenants=["t1"], agents=["bot"])
        theirs = running.operator("theirs", tenants=["t2"])
        added = ours.post("/v0/layer/add", {"agent_id": "a", "messages": _SAID, "infer": False})
        place = at("layer", "events", added.json["event_id"])
        assert ours.get(place).status == 200
        assert narrow.get(place).status == 404
        assert theirs.get(place).status == 404
        assert narrow.post("/v0/layer/recall", {"agent_id": "a", "query": "x"}).status == 403
