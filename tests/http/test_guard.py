"""Before every route: hosts, pages of other sites, sizes, speed, rates, and headers on every answer."""

import socket
import threading
import time
from urllib.parse import urlsplit

import pytest

from memorywire.model.errors import RateLimited
from memorywire_server.http.answers import HEADERS
from memorywire_server.http.endpoint import Limits
from memorywire_server.http.quotas import Rates
from memorywire_server.http.serve import Address
from tests.http.server import Client, serving

PATHS = (
    "/healthz",
    "/docs",
    "/openapi.json",
    "/v0/memories",
    "/v0/nothing",
    "/nothing",
    "/metrics",
    "/v0/events",
)


@pytest.mark.parametrize("path", PATHS[:-1])
def test_every_answer_has_the_security_headers(client: Client, path: str):
    reply = client.get(path)
    assert {name: reply.headers.get(name.lower()) for name in HEADERS} == dict(HEADERS)
    assert "server" not in reply.headers
    assert not [name for name in reply.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.", "[bad"])
@pytest.mark.parametrize("path", PATHS[1:])
def test_another_host_is_misdirected(client: Client, host: str, path: str):
    reply = client.send("GET", path, headers={"Host": host})
    assert (reply.status, reply.json["code"]) == (421, "misdirected")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]:80"])
def test_the_names_of_this_machine_are_taken(client: Client, host: str):
    assert client.send("GET", "/v0/capabilities", headers={"Host": host}).status == 200


def test_a_probe_may_use_any_name(client: Client):
    assert client.send("GET", "/healthz", headers={"Host": "10.0.0.7"}).status == 200


def test_a_further_name_can_be_allowed():
    with serving(hosts=("Memory.Example",)) as server:
        assert server.client.send("GET", "/docs", headers={"Host": "memory.example:8377"}).status == 200
        assert server.client.send("GET", "/docs", headers={"Host": "other.example"}).status == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_site_cannot_ask(client: Client, headers: dict[str, str]):
    reply = client.send("GET", "/v0/capabilities", headers=headers)
    assert (reply.status, reply.json["code"]) == (403, "forbidden")


def test_a_page_of_this_server_can_ask(client: Client):
    for origin in (client.url, client.url.replace("http:", "https:")):  # behind a proxy that speaks TLS
        own = {"Origin": origin, "Sec-Fetch-Site": "same-origin"}
        assert client.send("GET", "/v0/capabilities", headers=own).status == 200


@pytest.mark.parametrize(
    "media", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_a_body_that_a_form_could_send_is_refused(client: Client, media: str):
    reply = client.send("POST", "/v0/recall", b"{}", {"Content-Type": media})
    assert (reply.status, reply.json["code"]) == (415, "unsupported_media_type")


def test_a_compressed_body_is_refused(client: Client):
    reply = client.post("/v0/recall", b"\x1f\x8b", Content_Encoding="gzip")
    assert reply.status == 415


def test_a_body_that_is_too_large_is_refused_by_its_length_and_by_its_bytes():
    with serving(limits=Limits(body=1_000)) as server:
        promised = raw(server.client, b"Content-Length: 1001\r\n\r\n")
        sent = raw(server.client, b"Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"x" * 1001 + b"\r\n")
        assert (promised[:12], sent[:12]) == (b"HTTP/1.1 413", b"HTTP/1.1 413")
        assert server.client.get("/v0/capabilities").json["limits"]["payload_bytes_max"] == 1_000
        assert server.client.post("/v0/recall", b"{}" + b" " * 998).status == 422


def test_a_body_that_never_comes_is_given_up():
    with serving(limits=Limits(body_seconds=0.2)) as server:
        assert raw(server.client, b"Content-Length: 9\r\n\r\n{").startswith(b"HTTP/1.1 408")


def test_two_lengths_are_none(client: Client):
    twice = b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    assert raw(client, twice)[9:10] == b"4"


def test_headers_have_an_end(client: Client):
    assert raw(client, b"X-Long: " + b"x" * 17_000)[9:12] in (b"400", b"431")
    assert raw(client, b"X-Long: " + b"x" * 7_000 + b"\r\nContent-Length: 2\r\n\r\n{}")[9:12] == b"422"


def raw(client: Client, sent: bytes) -> bytes:
    """What comes back when a recall goes on with these bytes."""
    opening = b"POST /v0/recall HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    parts = urlsplit(client.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(opening + sent)
        return connection.recv(65_536)


def test_a_caller_who_asks_too_often_is_told_when_to_come_back():
    with serving(limits=Limits(rate=1)) as server:
        assert server.client.get("/v0/capabilities").status == 200
        late = until(lambda: server.client.get("/v0/capabilities"), lambda reply: reply.status != 200)
        assert (late.status, late.json["code"], late.headers["retry-after"]) == (429, "rate_limited", "1")


def test_a_bucket_fills_with_time_and_is_one_callers_alone():
    now = [0.0]
    rates = Rates(2, lambda: now[0])
    for _ in range(4):
        rates.take("ana")
    with pytest.raises(RateLimited):
        rates.take("ana")
    rates.take("ben")
    now[0] = 0.5
    rates.take("ana")


def test_a_rate_of_less_than_one_a_second_lets_a_request_in_now_and_then():
    now = [0.0]
    rates = Rates(0.25, lambda: now[0])
    rates.take("ana")
    with pytest.raises(RateLimited):
        rates.take("ana")
    now[0] = 4.0
    rates.take("ana")


def test_callers_without_number_do_not_fill_the_memory():
    now = [0.0]
    rates = Rates(1, lambda: now[0])
    for _ in range(2):
        rates.take("hasty")
    for caller in range(9_999):
        rates.take(f"passer-by {caller}")
    now[0] = 1.0  # the others are full again
    rates.take("the next")
    assert len(rates) == 2
    rates.take("hasty")
    with pytest.raises(RateLimited):
        rates.take("hasty")


def test_a_flood_of_callers_who_all_ask_too_often_does_not_fill_the_memory_either():
    rates = Rates(1, lambda: 0.0)
    for caller in range(30_000):
        rates.take(f"address {caller}")
    assert len(rates) <= 10_000


def test_more_than_can_be_answered_at_once_is_turned_away_and_not_queued():
    with serving(limits=Limits(at_once=1, rate=1e6)) as server:
        slow = server.client.connect()
        slow.putrequest("POST", "/v0/recall")
        slow.putheader("Content-Type", "application/json")
        slow.putheader("Content-Length", "10")
        slow.endheaders(b"{")
        replies = until(lambda: server.client.get("/v0/capabilities"), lambda reply: reply.status == 503)
        assert (replies.json["code"], replies.headers["retry-after"]) == ("overloaded", "1")
        slow.close()
        until(lambda: server.client.get("/v0/capabilities"), lambda reply: reply.status == 200)


def until(ask, wanted):
    """The first answer that is wanted; a test that waits in vain is ended by its time limit."""
    while not wanted(answer := ask()):
        time.sleep(0.02)
    return answer


def test_an_answer_that_takes_too_long_is_given_up_and_still_done():
    with serving(limits=Limits(answer_seconds=0.0, rate=1e6)) as server:
        payload = {"agent_id": "a", "type": "semantic", "content": "slow but sure"}
        reply = server.client.post("/v0/remember", payload)
        assert (reply.status, reply.json["code"]) == (503, "overloaded")
        total = until(lambda: server.run(server.container.context.store.count(everything())), bool)
        assert total == 1


def everything():
    from memorywire.model.query import Where
    from memorywire.model.record import Scope

    return Where(scope=Scope(agent="a"), alive_at=0)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("example.org", False),
    ],
)
def test_only_loopback_is_local(host: str, local: bool):
    assert Address(host=host).local is local


def test_what_is_in_flight_when_the_server_ends_is_finished(tmp_path):
    url = f"sqlite://{tmp_path}/memory.db"
    receipts: list[str] = []
    with serving(url) as server:

        def work(number: int) -> None:
            for turn in range(1000):
                try:
                    receipts.append(server.client.remember(f"worker {number} says {turn}")["id"])
                except (OSError, AssertionError):  # turned away, or nobody there any more
                    return

        workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for worker in workers:
            worker.start()
        until(lambda: len(receipts), lambda count: count >= 20)
        server.end()
        for worker in workers:
            worker.join()
    with serving(url) as again:
        known = [id for id in receipts if again.client.get(f"/v0/memories/{id}", agent_id="a").status == 200]
    assert known == receipts


def test_a_mounted_application_is_behind_the_guard_and_knows_its_caller():
    from contextlib import asynccontextmanager

    from starlette.responses import JSONResponse

    from memorywire_server.http.app import MountedApp

    running: list[str] = []

    @asynccontextmanager
    async def life():
        running.append("begun")
        yield
        running.append("ended")

    class Room:
        async def __call__(self, scope, receive, send):
            caller = scope["state"]["caller"]
            await JSONResponse({"caller": caller.name, "tenant": caller.tenant})(scope, receive, send)

    with serving(mounts=lambda _: [MountedApp(path="/room", app=Room(), running=life)]) as server:
        client = server.operator("guest", "reader", tenants=["acme"])
        assert server.client.get("/room").status == 401
        for path in ("/room", "/room/", "/room/inner"):
            assert client.get(path).json == {"caller": "operator:guest", "tenant": "acme"}
        assert client.get("/room").headers["x-frame-options"] == "DENY"
        assert running == ["begun"]
    assert running == ["begun", "ended"]
