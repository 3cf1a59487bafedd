"""Somebody else's HTTP server, on this machine: it answers as a test says."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOTICED = 0.01
"""The seconds between two looks of a server whether it shall end: half a second would be most of a test."""


class Exchange(BaseHTTPRequestHandler):
    """One request; its server's `answer` is given the body, and replies."""

    answer: Callable[["Exchange", bytes], None]

    def do_GET(self) -> None:
        type(self).answer(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def do_POST(self) -> None:
        self.do_GET()

    def reply(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def answering(answer: Callable[[Exchange, bytes], None]) -> Iterator[str]:
    """The host and port of a server that answers every request so."""
    kind = type("Here", (Exchange,), {"answer": staticmethod(answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, args=[NOTICED])
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
