"""A model behind Anthropic's `/v1/messages` that follows a script: it writes the port that it has read of.

It stands for a model, not for the coding agent that asks it.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

PORT = re.compile(r"port (?:is )?(\d+)")


@contextmanager
def scripted_model() -> Iterator[str]:
    """The URL of the model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def _decide(asked: dict[str, Any]) -> dict[str, Any]:
    ports = PORT.findall(json.dumps(asked["messages"]))
    is_done = "tool_result" in json.dumps(asked["messages"][-1])
    if not ports or is_done or "Bash" not in {tool["name"] for tool in asked.get("tools", ())}:
        return {"type": "text", "text": "I wrote the port." if ports else "I do not know the port."}
    command = {"command": f"printf %s {ports[-1]} > port.txt", "description": "Write the port"}
    return {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": command}


def _events(block: dict[str, Any], model: str) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    is_text = block["type"] == "text"
    empty = {"text": ""} if is_text else {"input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": {**block, **empty}}
    delta = (
        {"type": "text_delta", "text": block["text"]}
        if is_text
        else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    )
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": "end_turn" if is_text else "tool_use", "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.partition("?")[0] != "/v1/messages":
            self._send("application/json", b'{"input_tokens": 1}')
            return
        events = _events(_decide(asked), asked["model"])
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send("text/event-stream", text.encode())

    def do_HEAD(self) -> None:
        self._send("text/plain", b"")

    def do_GET(self) -> None:
        self._send("application/json", b"{}")

    def _send(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""
