"""A model behind an address, for tests: a real HTTP server that answers as it is told and remembers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Model:
    """Answers with `facts`, or with `status` alone while that is not 200."""

    facts: list[str] = field(default_factory=list)
    status: int = 200
    raw: bytes | None = None
    location: str | None = None
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    port: int = 0

    def body(self, path: str) -> bytes:
        words = "Here you are:\n```json\n" + json.dumps({"facts": self.facts}) + "\n```"
        if self.raw is not None:
            return self.raw
        if path.endswith("/messages"):
            return json.dumps({"content": [{"type": "text", "text": words}]}).encode()
        return json.dumps({"choices": [{"message": {"content": words}}]}).encode()


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            model.asked.append((self.path, headers, json.loads(said)))
            self.send_response(model.status)
            if model.location is not None:
                self.send_header("Location", model.location)
            self.end_headers()
            self.wfile.write(model.body(self.path))

        def log_message(self, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
