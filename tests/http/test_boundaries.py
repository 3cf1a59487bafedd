"""Bodies at the edge of what can be sent: each is answered, none is a fault of the server."""

import json

import pytest

from tests.http.server import Client

DEEP = 40
GOOD = {"agent_id": "a", "type": "semantic", "content": "x"}


def with_(**fields: object) -> bytes:
    return json.dumps({**GOOD, **fields}).encode()


def raw(fields: str) -> bytes:
    return b'{"agent_id": "a", "type": "semantic", "content": "x", ' + fields.encode() + b"}"


REFUSED = {
    "nothing": b"",
    "a space": b" ",
    "half an object": b'{"agent_id": "a"',
    "a comma too many": b'{"agent_id": "a",}',
    "a comment": b'{"agent_id": "a" /* me */}',
    "single quotes": b"{'agent_id': 'a'}",
    "null": b"null",
    "true": b"true",
    "a number": b"17",
    "a text": b'"text"',
    "a list": b"[]",
    "two documents": b"{}{}",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"agent_id": "a"}'.encode("utf-16"),
    "not UTF-8": b'{"agent_id": "\xff"}',
    "half a character": b'{"agent_id": "\xc3"}',
    "NaN": raw('"confidence": NaN'),
    "Infinity": raw('"confidence": Infinity'),
    "minus Infinity": raw('"confidence": -Infinity'),
    "a float too large": raw('"confidence": 1e999'),
    "an integer too large": raw('"expires_at": 99999999999999999999999'),
    "an integer of many digits": raw(f'"expires_at": {"9" * 5000}'),
    "beyond 64 bits": raw('"occurred_at": 9223372036854775808'),
    "after the year 9999": raw('"expires_at": 253402300800000'),
    "before time": raw('"occurred_at": -1'),
    "false as a number": raw('"expires_at": false'),
    "a number as text": raw('"confidence": "1"'),
    "null for nothing": raw('"source": null'),
    "a key twice": raw('"source": "a", "source": "b"'),
    "a key twice inside": raw('"metadata": {"k": 1, "k": 2}'),
    "NUL in text": raw('"source": "a\\u0000b"'),
    "NUL in a key": raw('"metadata": {"a\\u0000": 1}'),
    "a lone surrogate": raw('"source": "\\ud800"'),
    "a lone surrogate in a key": raw('"metadata": {"\\udfff": 1}'),
    "a field nobody knows": with_(aproval_required=True),
    "a tenant": with_(tenant="other"),
    "prototype": with_(__proto__={"admin": True}),
    "too deep": b'{"metadata":' * DEEP + b"{}" + b"}" * DEEP,
    "far too deep": b"[" * 100_000,
    "an open end": b'{"a":' * 50_000,
    "blank content": with_(content=" \n\t"),
    "content too long": with_(content="x" * 65_537),
    "an agent too long": with_(agent_id="a" * 257),
    "no agent": with_(agent_id=""),
    "too many tags": with_(tags=[str(n) for n in range(65)]),
    "a tag twice": with_(tags=["a", "a"]),
    "much metadata": with_(metadata={str(n): "x" * 300 for n in range(250)}),
    "many metadata": with_(metadata={str(n): n for n in range(257)}),
    "an unknown type": with_(type="magical"),
    "content as a list": with_(content=["x"]),
    "an id with a line break": with_(id="a\nb"),
    "zero as a version": with_(id="a", if_version=0),
}

TAKEN = {
    "spaces around": b" \r\n" + json.dumps(GOOD).encode() + b"\t",
    "escapes": b'{"agent_id": "\\u0061", "type": "semantic", "content": "\\ud83d\\ude00"}',
    "every script": with_(content="日本語 العربية עברית हिन्दी \U0001f9d1\u200d\U0001f680"),
    "control characters": with_(content="a\x01\x1b[31m\x7fb"),
    "right to left": with_(content="abc\u202edef\u2066"),
    "an integer as 2.0": raw('"occurred_at": 2.0'),
    "SQL": with_(content="'; DROP TABLE memory; --", tags=["%", "_", "'"]),
    "a small float": raw('"confidence": 5e-324'),
    "64 KiB of content": with_(content="y" * 65_536),
    "markup": with_(content="<script>alert(1)</script>", source="</pre>"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_refused_with_a_problem(client: Client, name: str):
    reply = client.post("/v0/remember", REFUSED[name])
    assert reply.status in (400, 413, 422), reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    assert set(reply.json) <= {"code", "detail", "field", "fix"}


@pytest.mark.parametrize(
    "path", ["/v0/recall", "/v0/forget", "/v0/batch", "/v0/undo/x", "/v0/procedures/x/trigger", "/v0/decide"]
)
def test_no_body_is_a_fault_of_the_server_on_any_route(client: Client, path: str):
    for name, body in {**REFUSED, **TAKEN}.items():
        reply = client.post(path, body)
        assert 400 <= reply.status < 500, (name, reply.body)


@pytest.mark.parametrize("path", ["/v0/recall", "/v0/kv-search/agent/a"])
def test_a_query_that_asks_nothing_is_refused(client: Client, path: str):
    who = {"agent_id": "a"} if path == "/v0/recall" else {}
    for blank in ("", "  ", "\u200b\n"):
        reply = client.post(path, json.dumps({**who, "query": blank}).encode())
        assert (reply.status, reply.json["code"], reply.json["field"]) == (422, "validation_error", "query")
    assert client.post(path, json.dumps({**who, "query": "tea"}).encode()).status == 200


@pytest.mark.parametrize("name", TAKEN)
def test_what_only_looks_odd_is_kept_as_it_is(client: Client, name: str):
    """The positive control: the server refuses what is wrong, not what is strange."""
    reply = client.post("/v0/remember", TAKEN[name])
    assert reply.status == 200, reply.body
    kept = client.get(f"/v0/memories/{reply.json['id']}", agent_id="a").json
    assert kept["content"] == json.loads(TAKEN[name])["content"]


QUERIES = (
    "agent_id=%ff",
    "agent_id=%00",
    "agent_id=",
    "agent_id=a&agent_id=b",
    "agent_id=a&limit=1e4",
    "agent_id=a&limit=0",
    "agent_id=a&limit=ten",
    "agent_id=a&limit=99999999999999999999999",
    "agent_id=a&filter=x",
    "agent_id=a&filter={}",
    "agent_id=a&filter=[]",
    "agent_id=a&types=magical",
    "agent_id=a&unknown=1",
    "agent_id=a&limit=true",
    "agent_id=a&" + "&".join(f"x{n}=1" for n in range(300)),
    "&&&=",
    "agent_id=a&after=%0a",
    "%",
)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_that_says_nothing_is_refused(client: Client, query: str):
    reply = client.send("GET", f"/v0/memories?{query}")
    assert reply.status == 422, reply.body


@pytest.mark.parametrize(
    "path",
    [
        "/v0/memories/%ff",
        "/v0/memories/%00",
        "/v0/memories/%",
        "/v0/memories/" + "x" * 300,
        "/v0/%2e%2e",
        "/v0//memories",
        "//evil/v0",
        "/v0/memories/a%2fb/history",
    ],
)
def test_an_odd_path_is_not_found_or_not_valid(client: Client, path: str):
    reply = client.send("GET", f"{path}?agent_id=a")
    assert reply.status in (404, 422), reply.body


def test_there_are_enough_of_them():
    assert len(REFUSED) + len(TAKEN) >= 60
