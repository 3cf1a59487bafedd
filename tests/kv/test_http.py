"""Keys and values over real HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.quick import Quick
from tests.http.described import fits
from tests.http.server import Server, at, serving
from tests.kv.test_limits import Blind, Wrong

_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(embedder=Quick()) as running:
        yield running


def test_a_value_goes_in_and_comes_out_unchanged(server: Server) -> None:
    place = at("kv", "agent", "round", "a/b ü?")
    value = {"n": [1, None, 2.5], "text": "grün", "deep": {"": False}}
    kept = server.client.put(place, {"value": value})
    assert (kept.status, kept.json["status"], kept.headers["etag"]) == (200, "committed", '"1"')
    assert fits("kv_set.response", kept.json)
    found = server.client.get(place)
    assert (found.status, found.json["key"], found.json["value"]) == (200, "a/b ü?", value)
    assert fits("kv_get.response", found.json)
    assert server.client.send("DELETE", place).json["existed"] is True
    assert server.client.get(place).status == 404
    assert server.client.send("DELETE", place).json == {"key": "a/b ü?", "existed": False}


def test_a_value_is_set_where_the_version_is_the_one_that_was_seen(server: Server) -> None:
    place = at("kv", "agent", "seen", "k")
    tag = server.client.put(place, {"value": 1}).headers["etag"]

    def put(value: int, tag: str) -> int:
        said = {"Content-Type": "application/json", "If-Match": tag}
        return server.client.send("PUT", place, b'{"value": %d}' % value, said).status

    assert (put(2, tag), put(3, tag), put(4, "2")) == (200, 412, 422)
    assert server.client.put(place, {"value": 5, "if_version": 1}).status == 409
    assert server.client.get(place).json["value"] == 2


def test_null_is_a_value(server: Server) -> None:
    place = at("kv", "agent", "null", "k")
    assert server.client.put(place, {"value": None}).status == 200
    assert server.client.get(place).json["value"] is None


def test_keys_are_listed_and_counted_and_found(server: Server) -> None:
    agent_index = at("kv", "user", "ana")
    entries = [{"key": f"n{n}", "value": f"note {n}", "embed": True} for n in range(3)]
    done = server.client.post(agent_index, {"entries": [*entries, {"key": "bad", "value": _TOKEN}]})
    assert [item["status"] for item in done.json["items"]] == [200, 200, 200, 422]
    assert fits("kv_set_many.response", done.json)
    page = server.client.get(agent_index, prefix="n", limit=2)
    assert ([entry["key"] for entry in page.json["entries"]], page.json["next"]) == (["n0", "n1"], "n1")
    assert fits("kv_list.response", page.json)
    counted = server.client.post(f"{agent_index}/count", {"by": 2})
    assert counted.json["value"] == 2
    found = server.client.post(
        at("kv-search", "user", "ana"), {"query": "note 1", "dedup": {"mode": "merge"}}
    )
    assert (found.status, fits("kv_search.response", found.json)) == (200, True)
    stats = server.client.get(at("kv-stats", "user", "ana"))
    assert (stats.json["entries"], stats.json["models"][0]["entries"]) == (4, 3)
    assert fits("kv_stats.response", stats.json)
    again = server.client.post(at("kv-reembed", "user", "ana"), {})
    assert again.json == {"entries": 1, "failed": {}}


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"value": _TOKEN}, 422, "secret_leakage"),
        ({"value": "x" * 65_536}, 413, "value_too_large"),
        ({"value": 1, "if_version": 7}, 409, "conflict"),
        ({"value": 1, "embeded": True}, 422, "validation_error"),
        ({}, 422, "validation_error"),
    ],
    ids=["secret", "large", "version", "misspelt", "empty"],
)
def test_what_is_refused_has_its_code(server: Server, body: Any, status: int, code: str) -> None:
    refused = server.client.put(at("kv", "agent", "refused", "k"), body)
    assert (refused.status, refused.json["code"]) == (status, code)
    assert fits("problem", refused.json)


@pytest.mark.parametrize(
    ("store", "embedder", "code"),
    [
        (Blind(Quick.space), Quick(), "vector_unsupported"),
        ("memory://", "none", "embedder_not_configured"),
        ("memory://", Wrong(), "dimension_mismatch"),
    ],
    ids=["no vectors", "no embedder", "dimension"],
)
def test_what_can_never_work_here_is_refused_before_anything_is_kept(
    store: Any, embedder: Any, code: str
) -> None:
    with serving(store, embedder=embedder) as running:
        place = at("kv", "agent", "a", "k")
        refused = running.client.put(place, {"value": 1, "embed": True})
        assert (refused.status, refused.json["code"]) == (422, code)
        assert fits("problem", refused.json)
        assert running.client.get(place).status == 404
        assert running.client.put(place, {"value": 1}).status == 200
        assert running.client.get(place).json["value"] == 1


@pytest.mark.parametrize(
    ("store", "embedder", "code"),
    [
        (Blind(Quick.space), Quick(), "vector_unsupported"),
        ("memory://", "none", "embedder_not_configured"),
    ],
    ids=["no vectors", "no embedder"],
)
def test_what_the_probe_says_is_not_there_is_refused(store: Any, embedder: Any, code: str) -> None:
    with serving(store, embedder=embedder) as running:
        told = running.client.get("/v0/capabilities").json["contracts"]
        assert (told["kv"], told["vector_search"], told["stats"]) == (True, False, False)
        for refused in (
            running.client.post(at("kv-search", "agent", "a"), {"query": "tea"}),
            running.client.get(at("kv-stats", "agent", "a")),
        ):
            assert (refused.status, refused.json["code"]) == (422, code)


def test_a_memory_that_names_the_record_of_a_key_does_not_rewrite_it(server: Server) -> None:
    place = at("kv", "agent", "rewriting", "k")
    kept = server.client.put(place, {"value": {"a": 1}}).json
    body = {"agent_id": "rewriting", "type": "semantic", "content": "x", "id": kept["id"], "if_version": 1}
    refused = server.client.post("/v0/remember", body)
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    assert server.client.get(place).json["value"] == {"a": 1}


def test_only_numbers_count(server: Server) -> None:
    place = at("kv", "agent", "counting", "k")
    server.client.put(place, {"value": "text"})
    refused = server.client.post(place, {})
    assert (refused.status, refused.json["code"]) == (422, "wrong_type")


def test_a_full_shelf_says_so(server: Server) -> None:
    for n in range(16):
        assert server.client.put(at("kv", "agent", "full", f"k{n}"), {"value": "x" * 65_000}).status == 200
    refused = server.client.put(at("kv", "agent", "full", "k16"), {"value": "x" * 65_000})
    assert (refused.status, refused.json["code"]) == (409, "quota_exceeded")


@pytest.mark.parametrize(
    "path",
    ["/v0/kv/nobody/a/k", "/v0/kv/agent/a/k?x=1", "/v0/kv/agent/a?limit=0"],
    ids=["scope", "query", "limit"],
)
def test_an_address_that_makes_no_sense_is_refused(server: Server, path: str) -> None:
    assert server.client.get(path).status == 422


def test_a_token_reaches_its_own_tenant_and_agents_only() -> None:
    with serving(embedder=Quick()) as running:
        ours = running.operator("ours", tenants=["t1"])
        theirs = running.operator("theirs", tenants=["t2"])
        narrow = running.operator("narrow", tenants=["t1"], agents=["bot"])
        reader = running.operator("reader", role="reader", tenants=["t1"])
        assert ours.put(at("kv", "agent", "a", "k"), {"value": 1}).status == 200
        assert ours.put(at("kv", "tenant", "t1", "k"), {"value": 1}).status == 200
        assert theirs.get(at("kv", "agent", "a", "k")).status == 404
        assert theirs.get(at("kv", "tenant", "t1", "k")).status == 403
        assert narrow.get(at("kv", "agent", "a", "k")).status == 403
        assert narrow.get(at("kv", "user", "ana", "k")).status == 403
        assert narrow.put(at("kv", "agent", "bot", "k"), {"value": 1}).status == 200
        assert reader.get(at("kv", "agent", "a", "k")).status == 200
        assert reader.put(at("kv", "agent", "a", "k"), {"value": 2}).status == 403


def test_of_many_values_only_what_is_no_entry_is_refused(server: Server) -> None:
    agent_index = at("kv", "agent", "many")
    wrong: list[dict[str, Any]] = [
        *({"key": "no value"}, {"key": "", "value": 1}, {"key": "k" * 257, "value": 1}, {"value": 1}),
        *({"key": "k", "value": 1, "more": 1}, {"key": "k", "value": 1, "ttl": "soon"}),
    ]
    sent = [{"key": "first", "value": 1}, *wrong, {"key": "last", "value": 2}]
    done = server.client.post(agent_index, {"entries": sent})
    assert [item["status"] for item in done.json["items"]] == [200, *[422] * len(wrong), 200]
    assert fits("kv_set_many.response", done.json)
    fields = [item["problem"]["field"] for item in done.json["items"][1:-1]]
    assert fields == ["value", "key", "key", "key", "more", "ttl"]
    assert [entry["key"] for entry in server.client.get(agent_index).json["entries"]] == ["first", "last"]
    none = server.client.post(agent_index, {"entries": wrong})
    assert {item["status"] for item in none.json["items"]} == {422}
    assert server.client.post(agent_index, {"entries": ["no object"]}).status == 422


def test_what_is_wired_is_told(server: Server) -> None:
    told = server.client.get("/v0/capabilities").json["contracts"]
    assert told == {"kv": True, "vector_search": True, "stats": True, "memory_layer": True}
