"""A service on the loopback that answers as its documentation says, to exactly the requests it shows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from memorywire_testing.scenario import mismatch, substitute

RECORDED = Path(__file__).parents[1] / "recorded"


@contextmanager
def replayed(name: str, header: str) -> Iterator[str]:
    """The host and port of the service; at the end, every exchange must have taken place, in order.

    `header` is the one that carries the key. A response may name what an earlier request said.
    """
    exchanges = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    told: list[str] = []
    saved: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            asked = {"method": self.command, "path": self.path, "key": self.headers[header], "body": body}
            if not exchanges:
                told.append(f"nothing more was expected, but {self.command} {self.path} came")
                self.send_error(500)
                return
            exchange = exchanges.pop(0)
            difference = mismatch(exchange["request"], asked, "request")
            told.extend([difference] if difference else [])
            saved.update({name: _read(body, path) for name, path in exchange.get("save", {}).items()})
            self._send(exchange["response"])

        def _send(self, response: dict[str, Any]) -> None:
            said = response["body"]
            body = b"" if said is None else json.dumps(substitute(said, saved)).encode()
            self.send_response(response["status"])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def do_DELETE(self) -> None:
            self._answer()

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
    assert told == []
    assert exchanges == []


def _read(value: Any, path: str) -> Any:
    return reduce(
        lambda at, step: at[int(step)] if isinstance(at, list) else at[step], path.split("."), value
    )
