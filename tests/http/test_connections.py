"""Strangers cannot exhaust the server: limits on connections, heads, bodies, tokens, streams and work."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from memorywire.model.errors import InvalidRequest, Overloaded, RateLimited
from memorywire_server.http.connections import network_of
from memorywire_server.http.endpoint import Limits
from memorywire_server.http.quotas import Party, Quotas, WrongTokens
from memorywire_server.http.serve import Address
from memorywire_server.mcp.mount import mcp_mount
from tests.http.server import Client, Server, serving

RECALL = b"POST /v0/recall HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
CAPABILITIES = b"GET /v0/capabilities HTTP/1.1\r\nHost: localhost\r\n"
FAST = 1e6


@contextmanager
def connected(client: Client, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    parts = urlsplit(client.url)
    with socket.create_connection(
        (parts.hostname, parts.port), timeout=30, source_address=(source, 0)
    ) as one:
        yield one


def rest(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection; a test in which it stays open fails here."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def dribble(connection: socket.socket, text: bytes = b"x") -> None:
    """Send a byte now and then until the server has closed the connection."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            connection.sendall(text)
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError("the connection is still open")


def test_a_head_that_comes_too_slowly_is_given_up():
    with serving(limits=Limits(header_seconds=0.2, rate=FAST)) as server:
        with connected(server.client) as slow:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
            dribble(slow)
        with connected(server.client) as stopped:
            stopped.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
            answer = rest(stopped)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"code": "too_slow"' in answer


def test_a_connection_without_a_request_is_closed():
    with (
        serving(limits=Limits(header_seconds=0.2, rate=FAST)) as server,
        connected(server.client) as silent,
    ):
        assert rest(silent) == b""


def test_a_second_request_has_the_same_time_as_the_first():
    with (
        serving(limits=Limits(header_seconds=0.2, rate=FAST)) as server,
        connected(server.client) as connection,
    ):
        connection.sendall(HEALTH + b"\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET")
        assert b" 408 " in rest(connection)


def test_a_body_that_nobody_reads_has_a_time_limit_too():
    with (
        serving(limits=Limits(body_seconds=0.2, rate=FAST)) as server,
        connected(server.client) as connection,
    ):
        connection.sendall(HEALTH + b"Content-Length: 100000\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        dribble(connection)


def test_a_client_that_does_not_read_its_answer_is_disconnected():
    with serving(limits=Limits(write_seconds=0.2, rate=FAST)) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        parts = urlsplit(server.client.url)
        deaf.connect((parts.hostname, parts.port))
        deaf.settimeout(30)
        for _ in range(40):
            deaf.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_for(lambda: b"memorywire_connections 1.0" in server.client.get("/metrics").body)
        answers = rest(deaf)
    assert answers.count(b"HTTP/1.1 200") < 40


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_lengths_close_the_connection(client: Client, order: tuple[int, int]):
    lengths = (b"Content-Length: 2\r\n", b"Transfer-Encoding: chunked\r\n")
    head = RECALL + b"".join(lengths[one] for one in order) + b"\r\n"
    with connected(client) as connection:
        connection.sendall(head + b"2\r\n{}\r\n0\r\n\r\n" + HEALTH + b"\r\n")
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"validation_error" in answer
    assert answer.count(b"HTTP/1.1") == 1  # what follows could be the body or a request: it is neither


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /healthz?" + b"x" * 15_000 + b" HTTP/1.1\r\nHost: localhost\r\n", b"200"),
        (b"GET /healthz?" + b"x" * 16_400 + b" HTTP/1.1\r\nHost: localhost\r\n", b"414"),
        (HEALTH + b"X-Long: " + b"x" * 15_000 + b"\r\n", b"200"),
        (HEALTH + b"X-Long: " + b"x" * 16_400 + b"\r\n", b"431"),
        (HEALTH + b"X-Long: " + b"x" * 60_000 + b"\r\n", b"431"),
        (HEALTH + b"".join(b"X-%d: 1\r\n" % number for number in range(101)), b"431"),
        (b"not http at all\r\n", b"400"),
    ],
)
def test_the_size_of_a_head_is_what_the_manual_says(client: Client, head: bytes, status: bytes):
    with connected(client) as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        answer = rest(connection)
    assert answer[9:12] == status
    assert b"\r\nx-frame-options: deny\r\n" in answer.lower()
    assert status == b"200" or b"application/problem+json" in answer


def test_a_thousand_connections_of_one_address_leave_room_for_probes_and_other_addresses():
    with ExitStack() as stack:
        server = stack.enter_context(serving(limits=Limits(connections=128, rate=FAST)))
        for _ in range(1_000):
            stack.enter_context(connected(server.client))
        with connected(server.client) as probe:
            probe.sendall(HEALTH + b"\r\n")
            assert rest(probe).startswith(b"HTTP/1.1 200")
        with connected(server.client) as asker:
            asker.sendall(CAPABILITIES + b"\r\n")
            assert rest(asker).startswith(b"HTTP/1.1 503")
        with connected(server.client, "127.0.0.2") as neighbour:
            neighbour.sendall(
                b"GET /v0/capabilities HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            )
            assert rest(neighbour).startswith(b"HTTP/1.1 200")


def test_connections_that_end_make_room():
    with serving(limits=Limits(connections=4, rate=FAST)) as server:
        for _ in range(20):
            assert wait_for(lambda: server.client.get("/v0/capabilities").status == 200)


def wait_for(claim) -> bool:
    while not claim():
        time.sleep(0.02)
    return True


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_an_ipv6_network_counts_as_one_address(address: str, counted: str):
    assert network_of(address) == counted


def test_wrong_tokens_are_limited_by_address_and_valid_ones_are_not():
    with serving(limits=Limits(wrong_tokens=1.0, rate=FAST)) as server:
        ana = server.operator("ana", "reader")
        assert ana.get("/v0/capabilities").status == 200
        wrong = Client(server.client.url, "mw_wrong")
        replies = [wrong.get("/v0/capabilities") for _ in range(10)]
        assert {reply.status for reply in replies} == {401, 429}
        refused = next(reply for reply in replies if reply.status == 429)
        assert (refused.json["code"], refused.headers["retry-after"]) == ("rate_limited", "1")
        assert ana.get("/v0/capabilities").status == 200
        assert server.client.get("/healthz").status == 200
        with connected(server.client, "127.0.0.2") as neighbour:
            neighbour.sendall(CAPABILITIES + b"Authorization: Bearer mw_wrong\r\nConnection: close\r\n\r\n")
            assert rest(neighbour).startswith(b"HTTP/1.1 401")


def test_behind_a_proxy_the_address_is_the_one_that_it_names():
    limits = Limits(wrong_tokens=0.1, connections=4, rate=FAST)
    with ExitStack() as stack:
        server = stack.enter_context(serving(limits=limits, proxies=("127.0.0.1",)))
        for _ in range(3):  # more than one address gets
            stack.enter_context(connected(server.client))
        server.operator("ana")
        far, near = (
            Client(server.client.url, "mw_wrong", {"X-Forwarded-For": address})
            for address in ("203.0.113.1", "203.0.113.2")
        )
        assert wait_for(lambda: far.get("/v0/capabilities").status == 429)
        assert near.get("/v0/capabilities").status == 401


def test_without_a_proxy_nobody_chooses_the_address_they_are_counted_for():
    with serving(limits=Limits(wrong_tokens=0.1, rate=FAST)) as server:
        server.operator("ana")
        clients = (
            Client(server.client.url, "mw_wrong", {"X-Forwarded-For": f"203.0.113.{number}"})
            for number in range(5)
        )
        assert [client.get("/v0/capabilities").status for client in clients][-1] == 429


@pytest.mark.parametrize("proxy", ["proxy.example", "10.0.0.0/33", ""])
def test_a_proxy_is_an_address_or_a_network(proxy: str):
    with pytest.raises(InvalidRequest):
        Address(proxies=(proxy,))


def test_a_credential_that_fails_is_not_trusted_any_more():
    tokens = WrongTokens(0.5)
    tokens.accept("revoked")
    tokens.check("here", "revoked")
    tokens.reject("here", "revoked")
    with pytest.raises(RateLimited):
        tokens.reject("here", "revoked")
    with pytest.raises(RateLimited):
        tokens.check("here", "revoked")
    tokens.check("elsewhere", "revoked")


def slow_body(client: Client) -> socket.socket:
    """A request whose body never comes, as this caller."""
    parts = urlsplit(client.url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=30)
    connection.sendall(
        RECALL + f"Authorization: Bearer {client.token}\r\n".encode() + b"Content-Length: 9\r\n\r\n{"
    )
    return connection


def test_slow_bodies_of_one_tenant_leave_room_for_another():
    with ExitStack() as stack:
        server = stack.enter_context(serving(limits=Limits(at_once=8, rate=FAST)))
        hogs = [server.operator(f"hog{number}", tenants=["acme"]) for number in range(2)]
        other = server.operator("other", tenants=["umbrella"])
        other.remember("Ana prefers green tea")
        for hog in hogs:
            for _ in range(4):
                stack.enter_context(slow_body(hog))
            wait_for(lambda hog=hog: hog.get("/v0/capabilities").status == 503)
        answer = other.post("/v0/recall", {"agent_id": "a", "query": "what does Ana like?"})
        assert (answer.status, len(answer.json["results"])) == (200, 1)
        assert server.client.get("/readyz").status == 200


def open_stream(client: Client, path: str = "/v0/events") -> tuple[int, socket.socket]:
    parts = urlsplit(client.url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=30)
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n\r\n"
    connection.sendall(head.encode())
    return int(connection.recv(65_536)[9:12]), connection


def test_streams_of_one_reader_leave_room_for_others():
    with ExitStack() as stack:
        server = stack.enter_context(serving(limits=Limits(streams=8, at_once=8, rate=FAST)))
        reader, other = (server.operator(name, tenants=[name]) for name in ("acme", "umbrella"))
        other.remember("Ana prefers green tea")
        opened = [open_stream(reader) for _ in range(20)]
        for _, connection in opened:
            stack.callback(connection.close)
        assert [status for status, _ in opened] == [200] * 4 + [503] * 16
        status, connection = open_stream(other)
        stack.callback(connection.close)
        assert status == 200
        assert other.post("/v0/recall", {"agent_id": "a", "query": "tea"}).json["results"]
        assert reader.get("/v0/capabilities").status == 200


def test_work_that_outlives_its_request_is_still_counted():
    async def story() -> None:
        quotas, party = Quotas(requests=2, streams=2), Party("ana", "acme")
        work = asyncio.get_running_loop().create_future()
        lease = quotas.begin(party)
        lease.hold_until(work)
        lease.release()
        with pytest.raises(Overloaded):
            quotas.begin(party)
        work.set_result(None)
        await asyncio.sleep(0)
        quotas.begin(party).release()

    asyncio.run(story())


def test_a_stream_without_room_stays_counted_as_a_request():
    quotas, party = Quotas(requests=4, streams=2), Party("ana", "acme")
    leases = [quotas.begin(party) for _ in range(2)]
    for lease in leases:
        lease.become_stream()
    third = quotas.begin(party)
    with pytest.raises(Overloaded):
        third.require_stream()
    with pytest.raises(Overloaded):
        quotas.begin(party)
    for lease in (*leases, third):
        lease.release()
    quotas.begin(party).require_stream()


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def open_session(client: Client) -> tuple[int, str]:
    reply = client.post("/mcp", INITIALIZE, Accept="application/json, text/event-stream")
    return reply.status, reply.headers.get("mcp-session-id", "")


@pytest.fixture
def mcp() -> Iterator[Server]:
    limits = Limits(streams=4, rate=FAST)
    with serving(limits=limits, mounts=lambda container: [mcp_mount(container, limits)]) as server:
        yield server


def test_mcp_sessions_of_one_credential_leave_room_for_others(mcp: Server):
    acme, umbrella = (mcp.operator(name, tenants=[name]) for name in ("acme", "umbrella"))
    assert [open_session(acme)[0] for _ in range(5)] == [200, 200, 503, 503, 503]
    assert open_session(umbrella)[0] == 200


def test_a_revoked_token_ends_its_streams_of_mcp_within_a_second(mcp: Server):
    client = mcp.operator("listener", "reader")
    other = mcp.operator("other", "reader")
    session = open_session(client)[1]
    parts = urlsplit(client.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as stream:
        stream.sendall(
            f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {client.token}\r\n"
            f"Accept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n".encode()
        )
        assert stream.recv(65_536).startswith(b"HTTP/1.1 200")
        mcp.run(mcp.registry.revoke("listener"))
        before = time.monotonic()
        while b"0\r\n\r\n" not in stream.recv(65_536):  # the last chunk
            pass
        assert time.monotonic() - before < 5  # measured: under a second
    assert other.get("/v0/capabilities").status == 200
