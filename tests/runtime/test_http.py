"""The HTTP client: limits, no redirects, pinned addresses, proxies, and errors without secrets."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memorywire.model.errors import Forbidden
from memorywire.runtime import http
from memorywire.runtime.http import HttpClient, HttpError, PlainHttp, ResponseTooLarge

SECRET = "sk-do-not-repeat"


class Site:
    """A server that records the request lines and headers it gets."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.connections = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def do_GET(self) -> None:
                outer.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                body = b"x" * 100
                self.send_response(302 if self.path.startswith("/moved") else 200)
                self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site() -> Iterator[Site]:
    running = Site()
    thread = threading.Thread(target=running.server.serve_forever, args=[0.01])
    thread.start()
    yield running
    running.server.shutdown()
    thread.join()
    running.server.server_close()


def test_a_redirect_is_returned_and_not_followed(site: Site):
    response = http.request("GET", f"{site.url}/moved?a=1#part", timeout=5, max_bytes=1000)
    assert (response.status, response.headers["location"], response.is_ok) == (302, "/elsewhere", False)
    assert [path for path, _ in site.requests] == ["/moved?a=1"]


def test_a_body_over_the_limit_is_an_error_and_one_at_the_limit_is_not(site: Site):
    client = HttpClient(site.url, timeout=5, max_bytes=100)
    assert len(client.request("GET", "/").body) == 100
    with pytest.raises(ResponseTooLarge) as caught:
        client.request("GET", "/", max_bytes=99)
    assert caught.value.status == 200
    assert client.request("GET", "/", max_bytes=0).body == b""


@pytest.mark.parametrize(("keep_alive", "connections"), [(1, 1), (0, 3)])
def test_connections_are_reused_where_the_caller_asks_for_it(site: Site, keep_alive: int, connections: int):
    client = HttpClient(site.url, timeout=5, max_bytes=1000, keep_alive=keep_alive)
    for _ in range(3):
        client.request("GET", "/")
    client.close()
    assert site.connections == connections


def test_a_server_that_does_not_answer_in_time_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(HttpError, match="timed out"):
            http.request("GET", url, timeout=0.05, max_bytes=10)


def test_an_https_address_of_a_plain_server_is_its_own_error(site: Site):
    with pytest.raises(PlainHttp):
        http.request("GET", site.url.replace("http:", "https:"), timeout=5, max_bytes=10)


@pytest.mark.parametrize(
    "url", ["ftp://host", "http://", "file:///etc/passwd", "http://a:b", "http://" + "a" * 70]
)
def test_no_error_repeats_a_key(url: str):
    with pytest.raises(HttpError) as caught:
        http.request(
            "GET", f"{url}/?key={SECRET}", None, {"Authorization": f"{SECRET}\n"}, timeout=5, max_bytes=10
        )
    assert SECRET not in caught.value.reason


def test_a_header_that_cannot_be_sent_is_not_repeated(site: Site):
    with pytest.raises(HttpError) as caught:
        http.request("GET", site.url, None, {"Authorization": f"{SECRET}\n"}, timeout=5, max_bytes=10)
    assert SECRET not in caught.value.reason


def test_a_connection_goes_to_the_address_that_was_checked(site: Site):
    url = site.url.replace("127.0.0.1", "memories.example")
    client = HttpClient(url, timeout=5, max_bytes=1000, resolve=lambda host, port: "127.0.0.1")
    assert client.request("GET", "/").status == 200
    assert site.requests[0][1]["host"] == url.removeprefix("http://")


def test_an_address_that_is_not_allowed_gets_no_request(site: Site):
    def refuse(host: str, port: int) -> str:
        raise Forbidden(f"{host} is private")

    with pytest.raises(Forbidden):
        HttpClient(site.url, timeout=5, max_bytes=1000, resolve=refuse).request("GET", "/")
    assert site.requests == []


def test_a_proxy_gets_the_request_with_its_own_login(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", site.url.replace("//", "//me:p%40ss@"))
    monkeypatch.delenv("no_proxy", raising=False)
    client = HttpClient("http://models.example", timeout=5, max_bytes=1000, use_proxy=True)
    assert client.request("GET", "/v1").status == 200
    path, headers = site.requests[0]
    assert (path, headers["host"]) == ("http://models.example/v1", "models.example")
    assert headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert (
        HttpClient(site.url, timeout=5, max_bytes=1000, use_proxy=True).request("GET", "/near").status == 200
    )
    assert site.requests[1][0] == "/near"
