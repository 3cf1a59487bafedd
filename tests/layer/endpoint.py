"""A model behind an address, for tests: a real HTTP server that answers as it is told and remembers."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.http.elsewhere import Exchange, answering


@dataclass
class Model:
    """Answers with `facts`, or with what `says` makes of the question, or with `status` while it is not 200.

    It says that a question took `tokens`.
    """

    facts: list[str] = field(default_factory=list)
    says: Callable[[str], Any] | None = None
    tokens: int | None = None
    status: int = 200
    raw: bytes | None = None
    location: str | None = None
    asked: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    port: int = 0

    def body(self, path: str) -> bytes:
        said = {"facts": self.facts} if self.says is None else self.says(json.dumps(self.asked[-1][2]))
        words = f"Here you are:\n```json\n{json.dumps(said)}\n```"
        if self.raw is not None:
            return self.raw
        spent = self.tokens is not None
        if path.endswith("/messages"):
            usage = {"usage": {"input_tokens": self.tokens, "output_tokens": 0}} if spent else {}
            return json.dumps({"content": [{"type": "text", "text": words}], **usage}).encode()
        usage = {"usage": {"total_tokens": self.tokens}} if spent else {}
        return json.dumps({"choices": [{"message": {"content": words}}], **usage}).encode()


@contextmanager
def serving(model: Model) -> Iterator[Model]:
    def answer(asked: Exchange, said: bytes) -> None:
        headers = {name.lower(): value for name, value in asked.headers.items()}
        model.asked.append((asked.path, headers, json.loads(said)))
        onward = {} if model.location is None else {"Location": model.location}
        asked.reply(model.status, model.body(asked.path), onward)

    with answering(answer) as place:
        model.port = int(place.rpartition(":")[2])
        yield model
