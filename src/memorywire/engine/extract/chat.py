"""A model behind an endpoint that speaks OpenAI's chat completions or Anthropic's messages."""

import asyncio
import json
from collections.abc import Callable, Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from memorywire.model.errors import StoreUnavailable
from memorywire.model.record import Json
from memorywire.model.values import dataclass

_MOST_BYTES = 1024 * 1024
_SECONDS = 60.0
_OK = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one kind of endpoint is asked, where its words are, and how many tokens it says it took."""

    path: str
    headers: Callable[[str | None], Mapping[str, str]]
    question: Callable[[str, str], Json]
    words: Callable[[Any], str]
    tokens: Callable[[Any], int]

    def counted(self, answer: Json) -> int | None:
        """The tokens, if the answer says how many: not every endpoint counts."""
        try:
            return max(0, int(self.tokens(answer)))
        except (ValueError, KeyError, TypeError, OverflowError):
            return None


def dialect(name: str) -> Dialect:
    return _DIALECTS[name]


_DIALECTS = {
    "openai": Dialect(
        path="/chat/completions",
        headers=lambda key: {"Authorization": f"Bearer {key}"} if key else {},
        question=lambda task, said: {
            "messages": [{"role": "system", "content": task}, {"role": "user", "content": said}]
        },
        words=lambda answer: answer["choices"][0]["message"]["content"],
        tokens=lambda answer: answer["usage"]["total_tokens"],
    ),
    "anthropic": Dialect(
        path="/messages",
        headers=lambda key: {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {}),
        question=lambda task, said: {"system": task, "messages": [{"role": "user", "content": said}]},
        words=lambda answer: "".join(part["text"] for part in answer["content"] if part["type"] == "text"),
        tokens=lambda answer: answer["usage"]["input_tokens"] + answer["usage"]["output_tokens"],
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The object that a model answered with; `tokens` is what the endpoint says it took, if it says so."""

    object: Mapping[str, Json]
    tokens: int | None = None


class Chat:
    """Asks for JSON. No redirect is followed, answers are bounded, and no problem repeats the key."""

    def __init__(self, speaks: Dialect, *, base: str, model: str, api_key: str | None) -> None:
        self.name = model
        self._dialect = speaks
        self._url = f"{base}{speaks.path}"
        self._headers = {"Content-Type": "application/json", **speaks.headers(api_key)}

    async def ask(self, task: str, said: str, *, most_tokens: int, seconds: float = _SECONDS) -> Said:
        """The object in the answer; raises StoreUnavailable when there is none, for whatever reason."""
        asked = {
            "model": self.name,
            "temperature": 0,
            "max_tokens": most_tokens,
            **self._dialect.question(task, said),
        }
        answer = await asyncio.to_thread(self._sent, json.dumps(asked).encode(), min(seconds, _SECONDS))
        return self._read(answer)

    def failed(self, why: str) -> StoreUnavailable:
        return StoreUnavailable(
            f"the model {self.name} was of no use: {why}", fix="check its address and key"
        )

    def _sent(self, question: bytes, seconds: float) -> bytes:
        parts = urlsplit(self._url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("POST", parts.path, question, self._headers)
            response = connection.getresponse()
            answer = response.read(_MOST_BYTES + 1)
        except (OSError, HTTPException, UnicodeError) as error:  # the last of a name that no host can have
            raise self.failed(type(error).__name__) from error
        finally:
            connection.close()
        if response.status != _OK:  # the body may repeat the key
            raise self.failed(f"HTTP {response.status}")
        if len(answer) > _MOST_BYTES:
            raise self.failed(f"more than {_MOST_BYTES} bytes")
        return answer

    def _read(self, answer: bytes) -> Said:
        """A fence that a model puts around its JSON is no harm."""
        try:
            document = json.loads(answer)
            words = self._dialect.words(document)
            found = json.loads(words[words.index("{") : words.rindex("}") + 1])
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
            raise self.failed("an answer without JSON") from error
        if not isinstance(found, dict):
            raise self.failed("an answer without JSON")
        return Said(object=found, tokens=self._dialect.counted(document))
