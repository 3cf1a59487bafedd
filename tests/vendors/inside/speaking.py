"""A service that speaks OpenAI's wire on the loopback: a language model with a script, and an embedder."""

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Request = Mapping[str, Any]
Script = Callable[[Request], object]
"""What the model answers a request with, as JSON."""

DIMENSION = 384


@contextmanager
def a_service(script: Script = lambda request: {}) -> Iterator[str]:
    """The address of the service, up to and including `/v1`."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            embeds = self.path.endswith("/embeddings")
            body = json.dumps(_embedded(request) if embeds else _said(script(request))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def schema_of(request: Request) -> str:
    """The name of the schema that the answer must have; empty when it is only asked for in words."""
    form = request.get("response_format", {})
    return str(form.get("json_schema", {}).get("name", ""))


def _said(answer: object) -> dict[str, Any]:
    message = {"role": "assistant", "content": json.dumps(answer)}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }


def _embedded(request: Request) -> dict[str, Any]:
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    encoded = request.get("encoding_format") == "base64"
    vectors = [_vector(str(text)) for text in texts]
    found = [
        {"object": "embedding", "index": index, "embedding": _bytes(vector) if encoded else vector}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "model": "scripted", "data": found, "usage": usage}


def _bytes(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{DIMENSION}f", *vector)).decode()


def _vector(text: str) -> list[float]:
    """Every word has a direction, a text the sum of its words'."""
    axes = [0.0] * DIMENSION
    for word in text.lower().split() or [""]:
        spun = hashlib.shake_256(word.strip(".,?!").encode()).digest(DIMENSION)
        axes = [axis + byte - 127.5 for axis, byte in zip(axes, spun, strict=True)]
    return axes
