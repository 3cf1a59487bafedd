"""Whoever reads what was recalled and answers: a model behind an endpoint, or any command."""

import asyncio
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Protocol
from urllib.parse import SplitResult, parse_qs, urlsplit

from memorywire.evals.metrics import tokens
from memorywire.model.errors import InvalidRequest
from memorywire.model.record import Json

COMMAND = "cmd:"
FIX = 'use "openai+https://HOST/v1?model=NAME", "anthropic+https://HOST/v1?model=NAME" or "cmd:COMMAND"'
MOST_TOKENS = 400
PATIENCE = 300.0


class ReaderFailed(Exception):
    """The model or the command did not answer; what was answered before is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What was said, and what it cost in tokens, estimated where the reader does not say."""

    text: str
    tokens: int


class Reader(Protocol):
    """Answers a prompt."""

    @property
    def name(self) -> str:
        """The model's id, or the command: what results record."""
        ...

    async def ask(self, prompt: str) -> Reply: ...


def open_reader(spec: str, *, key: str | None) -> Reader:
    """The reader a URL or a command names; nothing is asked yet."""
    if spec.startswith(COMMAND):
        return Command(shlex.split(spec.removeprefix(COMMAND)))
    parts = urlsplit(spec)
    dialect, _, scheme = parts.scheme.partition("+")
    models = parse_qs(parts.query).get("model", [])
    if dialect not in ("openai", "anthropic") or scheme not in ("http", "https") or len(models) != 1:
        raise InvalidRequest(f"no reader is called {spec.partition('?')[0]!r}", field="reader", fix=FIX)
    return Endpoint(parts._replace(scheme=scheme), dialect, models[0], key)


class Command:
    """A program that reads the prompt on standard input and prints its answer."""

    def __init__(self, words: list[str]) -> None:
        if not words:
            raise InvalidRequest("the command is empty", field="reader", fix=FIX)
        self._words = words
        self.name = words[0]

    async def ask(self, prompt: str) -> Reply:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*self._words, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise ReaderFailed(f"{self.name} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(PATIENCE):
                said, complaint = await process.communicate(prompt.encode())
        except TimeoutError as error:
            process.kill()
            raise ReaderFailed(f"{self.name} gave no answer in {PATIENCE:g} s") from error
        if process.returncode:
            raise ReaderFailed(f"{self.name} ended with {process.returncode}: {complaint.decode()[:200]}")
        text = said.decode(errors="replace").strip()
        return Reply(text=text, tokens=tokens(prompt) + tokens(text))


class Endpoint:
    """A model behind OpenAI's `/chat/completions` or Anthropic's `/messages`, or what speaks like them."""

    def __init__(self, url: SplitResult, dialect: str, model: str, key: str | None) -> None:
        self.name = model
        self._url = url
        self._dialect = dialect
        self._headers = _headers(dialect, key)

    async def ask(self, prompt: str) -> Reply:
        body = {
            "model": self.name,
            "max_tokens": MOST_TOKENS,
            "temperature": 0,
            "messages": [{"role": "user", "content": prompt}],
        }
        answer = await asyncio.to_thread(self._post, json.dumps(body).encode())
        try:
            return _read(self._dialect, answer)
        except (KeyError, IndexError, TypeError) as error:
            raise ReaderFailed(f"{self._url.hostname} gave an answer of another shape: {error!r}") from error

    def _post(self, body: bytes) -> Json:
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        connection = kind(self._url.hostname or "", self._url.port, timeout=PATIENCE)
        path = "/chat/completions" if self._dialect == "openai" else "/messages"
        try:
            connection.request("POST", self._url.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            said = response.read()
            if response.status != 200:
                raise ReaderFailed(f"{self._url.hostname} answered {response.status}: {said[:200]!r}")
            return json.loads(said)
        except (OSError, HTTPException, ValueError) as error:
            raise ReaderFailed(f"{self._url.hostname} did not answer: {error}") from error
        finally:
            connection.close()


def key_from(env: Mapping[str, str] | None = None) -> str | None:
    """The key of the endpoints, from the environment only."""
    return (os.environ if env is None else env).get("MEMORYWIRE_READER_KEY")


def _headers(dialect: str, key: str | None) -> dict[str, str]:
    headers = {"Content-Type": "application/json"}
    if dialect == "anthropic":
        return headers | {"anthropic-version": "2023-06-01"} | ({"x-api-key": key} if key else {})
    return headers | ({"Authorization": f"Bearer {key}"} if key else {})


def _read(dialect: str, answer: Json) -> Reply:
    if dialect == "anthropic":
        text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
        spent = answer["usage"]["input_tokens"] + answer["usage"]["output_tokens"]
    else:
        text = answer["choices"][0]["message"]["content"]
        spent = answer["usage"]["total_tokens"]
    return Reply(text=text.strip(), tokens=spent)
